"""A published tokenizer.json does here what it does in its library; nothing is added to it."""

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from published_folders import saved
from tokenizers import decoders, models, pre_tokenizers, processors

from blocks import ConfigError
from blocks.text.published import published_tokenizer
from blocks.text.tokenizers import tokenizer_from_json
from blocks.weights.published import open_published, save_published

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def of_bytes() -> str:
    """As GPT-2: bytes, one merge, and a token that ends a text."""
    vocabulary = {name: i for i, name in enumerate([*BYTES, "Ġa"])}
    made = tokenizers.Tokenizer(models.BPE(vocabulary, [("Ġ", "a")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    made.enable_truncation(3)  # a length that somebody saved with it cuts no text here
    return made.to_str()


def of_words() -> str:
    """As BERT: words, an unknown one, and two tokens around the text."""
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "##b": 4, "▁c": 5}
    made = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.add_special_tokens(["[CLS]", "[SEP]", "[UNK]"])
    around = [("[CLS]", 0), ("[SEP]", 1)]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, around)
    return made.to_str()


TEXTS = ["", "a a\n", "naïve 你好 🙂", "<|end|>", "\ud83d"]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_bytes_are_encoded_placed_and_written_back(text: str):
    ours = published_tokenizer(of_bytes())
    theirs = tokenizers.Tokenizer.from_str(of_bytes())
    theirs.no_truncation()
    readable = text.encode("utf-8", "replace").decode()
    assert ours.encode(text) == theirs.encode(readable).ids
    assert ours.decode(ours.encode(text)) == readable.replace("<|end|>", "")
    pieces = ours.pieces(text)
    assert [piece.token_id for piece in pieces] == ours.encode(text)
    starts = [piece.start for piece in pieces]
    assert starts == sorted(starts) and all(0 <= p.start <= p.end <= len(text) for p in pieces)
    assert ours.left_out(text) == ()


def test_labels_say_the_text_of_a_token():
    ours = published_tokenizer(of_bytes())
    assert [piece.label for piece in ours.pieces("b a")] == ["b", "␣a"]
    assert [piece.label for piece in ours.pieces("é")] == ["C3", "A9"]
    assert (ours.label(ours.special["<|end|>"]), ours.label(10**6)) == ("<|end|>", "#1000000")
    assert published_tokenizer(of_words()).label(5) == "␣c"


def test_what_the_file_puts_around_a_text_takes_no_room_in_it():
    ours = published_tokenizer(of_words())
    assert ours.encode("ab x") == [0, 3, 4, 2, 1]
    places = [(piece.start, piece.end) for piece in ours.pieces("ab x")]
    assert places == [(0, 0), (0, 1), (1, 2), (3, 4), (4, 4)]
    assert ours.left_out("ab x") == ("x",)
    assert ours.special == {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2}
    assert ours.vocab_size == 6


@pytest.mark.parametrize("text", [of_bytes(), of_words()], ids=["bytes", "words"])
def test_it_is_kept_as_text_and_is_the_same(text: str):
    ours = published_tokenizer(text)
    again = tokenizer_from_json(ours.to_json())
    assert again == ours and hash(again) == hash(ours)
    assert again.encode("a b") == ours.encode("a b")


def test_it_comes_with_its_folder_and_goes_with_it(tmp_path: Path):
    folder = saved("bert", tmp_path / "theirs").path
    (folder / "tokenizer.json").write_text(of_words())
    found = open_published(folder)
    assert found.tokenizer.encode("ab") == [0, 3, 4, 1]
    save_published(tmp_path / "ours", found.config, found.build(), tokenizer=found.tokenizer)
    assert open_published(tmp_path / "ours").tokenizer == found.tokenizer
    (folder / "tokenizer.json").write_text(of_bytes())
    with pytest.raises(ConfigError, match=r"has 258 tokens, but the model knows only 37"):
        open_published(folder)


def changed(text: str, name: str, value: object) -> str:
    """The same file with another value in its model."""
    values = json.loads(text)
    values["model"][name] = value
    return json.dumps(values)


WRONG = [
    "",
    "{}",
    "[]",
    "null",
    "[" * 100_000,
    changed(of_bytes(), "vocab", {}),
    changed(of_words(), "vocab", {"a": 4 * 10**9}),
    changed(of_words(), "vocab", {"a": -1}),
    changed(of_bytes(), "merges", [["Ġ", "nowhere"]]),
]


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_any_other_file_is_refused(text: str):
    with pytest.raises(ConfigError, match="damaged"):
        published_tokenizer(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from([2**64]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([of_bytes(), of_words()]), st.data())
def test_any_value_in_it_is_read_or_refused(text: str, data: st.DataObject):
    values = json.loads(text)
    inner = values["model"] if data.draw(st.booleans()) else values
    inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(JSON)
    try:
        published_tokenizer(json.dumps(values)).encode("ab")
    except ConfigError as error:
        assert str(error)
