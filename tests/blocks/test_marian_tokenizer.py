"""The tokenizer of opus-mt cuts and joins as `transformers`' own, of a pair trained here."""

import io
import json
import warnings

import pytest
import sentencepiece
from brought_folders import CONFIGS
from transformers import MarianTokenizer

from blocks import ConfigError, build
from blocks.text.marian_tokenizer import tokenizer_json
from blocks.text.published import published_tokenizer
from blocks.weights import open_published, read_config_json, save_published

ENGLISH = [
    "The owl told the small robot a story about two rivers.",
    "The small robot saw the red ball, and the robots smiled.",
    "What is the capital of France? It's Paris, isn't it?",
    "Old stories told by owls: 12 rivers, 34 balls.",
] * 4
CHINESE = ["猫头鹰给小机器人讲了一个关于两条河的故事。", "小机器人看见红色的球，笑了。"] * 6
TEXTS = [
    *ENGLISH[:4],
    ">>cmn_Hans<< The small robot smiled.",
    "  two  spaces\tand a  tab ",
    "ﬁne Ｆｕｌｌ width",
    "Zürich, quickly!",
    "жук",
    "",
]


def trained(rows, n_pieces):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(rows),
        model_writer=model,
        vocab_size=n_pieces,
        model_type="unigram",
        minloglevel=2,
        hard_vocab_limit=False,
    )
    return model.getvalue()


@pytest.fixture(scope="module")
def files():
    """Source and target, and the ids of the pieces of both."""
    source, target = trained(ENGLISH, 90), trained(CHINESE, 60)
    pieces = dict.fromkeys(["</s>", "<unk>", ">>cmn_Hans<<"])
    for raw in (source, target):
        model = sentencepiece.SentencePieceProcessor(model_proto=raw)
        pieces |= dict.fromkeys(model.id_to_piece([*range(3, model.get_piece_size())]))
    vocabulary = {piece: number for number, piece in enumerate([*pieces, "<pad>"])}
    return {"source.spm": source, "target.spm": target, "vocab.json": vocabulary}


@pytest.fixture(scope="module")
def both(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("opus-mt")
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(files[name])
    (folder / "vocab.json").write_text(json.dumps(files["vocab.json"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sacremoses is recommended, and not used to cut a text
        theirs = MarianTokenizer.from_pretrained(folder)
    ours = tokenizer_json(files["source.spm"], json.dumps(files["vocab.json"]))
    return published_tokenizer(ours), theirs


@pytest.mark.parametrize("text", TEXTS)
def test_a_source_is_cut_as_by_transformers(text, both):
    ours, theirs = both
    assert ours.encode(text) == theirs(text).input_ids


def test_a_target_is_joined_as_by_transformers(files, both):
    ours, theirs = both
    targets = [theirs(text_target=text).input_ids for text in CHINESE[:2]]
    for ids in (*targets, *(theirs(text).input_ids for text in ENGLISH[:4])):
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    assert [ours.label(each) for each in theirs(text_target="小机器人").input_ids][-1] == "</s>"
    assert ours.label(files["vocab.json"]["。"]) == "。"


def test_what_is_damaged_is_said(files):
    vocabulary = json.dumps(files["vocab.json"])
    for raw in (b"", b"\x0a\xff\xff\xff", files["source.spm"][:-7], b"\xff" * 40):
        with pytest.raises(ConfigError, match=r"source\.spm is damaged"):
            tokenizer_json(raw, vocabulary)
    for text in ("[]", '{"</s>": 0, "<unk>": 2}', '{"a": 0}', "{", '{"</s>": "0"}'):
        with pytest.raises(ConfigError, match=r"vocab\.json is damaged"):
            tokenizer_json(files["source.spm"], text)


def test_a_folder_of_opus_mt_opens_with_it(files, both, tmp_path):
    config = read_config_json(
        json.dumps({"model_type": "marian", **CONFIGS["bart"], "vocab_size": 88})
    )
    folder = tmp_path / "opus-mt"
    save_published(folder, config, build(config), family="marian")
    (folder / "vocab.json").write_text(json.dumps(files["vocab.json"]))
    (folder / "source.spm").write_bytes(files["source.spm"])
    assert open_published(folder).tokenizer == both[0]
    (folder / "target_vocab.json").write_text("{}")
    assert open_published(folder).tokenizer is None  # source and target have each their own ids
