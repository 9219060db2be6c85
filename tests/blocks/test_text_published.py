"""A published tokenizer.json does here what it does in its library; nothing is added to it."""

import base64
import json
import threading
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
    assert [piece.label for piece in ours.pieces("aé")] == ["a", "é 1/2", "é 2/2"]
    assert [ours.label(token) for token in ours.encode("é")] == ["0xC3", "0xA9"]
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


def with_parts(text: str = "", **parts: object) -> str:
    """The same file with other steps."""
    return json.dumps({**json.loads(text or of_bytes()), **parts})


def replacing(*pairs: tuple[str, str], kind: str = "String") -> dict[str, object]:
    steps = [{"type": "Replace", "pattern": {kind: old}, "content": new} for old, new in pairs]
    return {"type": "Sequence", "normalizers": steps, "decoders": steps}


def splitting(*patterns: str) -> dict[str, object]:
    how = {"type": "Split", "behavior": "Isolated", "invert": False}
    steps = [{**how, "pattern": {"Regex": pattern}} for pattern in patterns]
    return {"type": "Sequence", "pretokenizers": steps}


def around(parts: list[object], **ids: list[int]) -> dict[str, object]:
    known = {k: {"id": k, "ids": v, "tokens": ["x"] * len(v)} for k, v in ids.items()}
    return {"type": "TemplateProcessing", "single": parts, "pair": parts, "special_tokens": known}


def added(content: str) -> dict[str, object]:
    ways = ("single_word", "lstrip", "rstrip", "special")
    return {"id": 0, "content": content, "normalized": True, **dict.fromkeys(ways, False)}


TEXT, CLS = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "c", "type_id": 0}}
ONE_BYTE, PREPEND = {"type": "ByteLevel"}, {"type": "Prepend", "prepend": "ab"}
TABLE = base64.b64encode((1024).to_bytes(4, "little") + bytes(1024) + b"x" * 100 + b"\0").decode()
LONG_WORDS = changed(of_words(), "max_input_chars_per_word", 10**9)
RUNAWAY = {
    "letters that double": with_parts(normalizer=replacing(*[("b", "bb")] * 26)),
    "letters that become words": with_parts(normalizer=replacing(("b", "b" * 1000))),
    "nothing that becomes letters": with_parts(normalizer=replacing(*[("", "bb")] * 9)),
    "places that become letters": with_parts(normalizer=replacing(*[("^", "b")] * 9, kind="Regex")),
    "one sign that is a sentence": with_parts(normalizer=replacing(("b", "\ufdfa"))),
    "letters before letters": with_parts(
        normalizer={"type": "Sequence", "normalizers": [PREPEND] * 9}
    ),
    "bytes of bytes": with_parts(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [{**ONE_BYTE, "add_prefix_space": True, "trim_offsets": True}] * 30,
        }
    ),
    "spaces before each letter": with_parts(
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [
                {"type": "FixedLength", "length": 1},
                {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
            ]
            * 8,
        }
    ),
    "a table of long texts": with_parts(
        normalizer={"type": "Precompiled", "precompiled_charsmap": TABLE}
    ),
    "a search without end": with_parts(pre_tokenizer=splitting("(x+x+)+y")),
    "a long search": with_parts(pre_tokenizer=splitting("x*x*y")),
    "many searches": with_parts(pre_tokenizer=splitting(*["x*y"] * 100)),
    "a search of a step": with_parts(normalizer=replacing(("(x+x+)+y", ""), kind="Regex")),
    "a text again": with_parts(post_processor=around([TEXT] * 20)),
    "many tokens around": with_parts(post_processor=around([*[CLS] * 9, TEXT], c=[0] * 9)),
    "what is read grows": with_parts(decoder=replacing(*[("b", "bb")] * 26)),
    "what is read is searched": with_parts(decoder=replacing(("(x+x+)+y", ""), kind="Regex")),
    "tokens that become nothing": with_parts(
        of_words(),
        normalizer={
            "type": "Sequence",
            "normalizers": [{"type": "Strip", "strip_left": True, "strip_right": True}, PREPEND],
        },
        added_tokens=[*json.loads(of_words())["added_tokens"], *map(added, (" ", "<x>"))],
    ),
    "a long token": changed(of_words(), "vocab", {"a": 0, "b" * 5000: 1}),
    "long words": LONG_WORDS,
}


@pytest.mark.parametrize("text", RUNAWAY.values(), ids=RUNAWAY)
def test_what_could_run_away_is_refused_before_it_runs(text: str):
    tokenizers.Tokenizer.from_str(text)  # the library itself would take it
    with pytest.raises(ConfigError, match="could take a very long time"):
        published_tokenizer(text)


CONTRACTED, MARKED = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?"
LARGE, SMALL = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
SIGNS = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"
PATTERNS = {
    "GPT-2": [r"'s|'t|'re| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
    "GPT-4": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "Llama 3": [
        rf"{CONTRACTED}|{MARKED}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"
    ],
    "Qwen": [rf"{CONTRACTED}|{MARKED}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"],
    "gpt-oss": [
        rf"{MARKED}{LARGE}*{SMALL}+{CONTRACTED}?|{MARKED}{LARGE}+{SMALL}*{CONTRACTED}?"
        rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"
    ],
    "DeepSeek-V3": [
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        rf"{SIGNS}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
        rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{SPACES}",
    ],
    "Command A": [r"\d{1,3}(?=(?:\d{3})*\b)", rf"{MARKED}{LARGE}*{SMALL}+{CONTRACTED}?|{SPACES}"],
    "BLOOM": [r" ?[^(\s|[.,!?…。，、।۔،])]+"],
    "Falcon": [r"[\p{P}\$\+<=>\^~\|`]+", "[0-9][0-9][0-9]"],
    "Chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"],
}


@pytest.mark.parametrize("patterns", PATTERNS.values(), ids=PATTERNS)
def test_the_patterns_of_published_tokenizers_are_opened(patterns: list[str]):
    text = with_parts(pre_tokenizer=splitting(*patterns), decoder=None)
    assert published_tokenizer(text).encode("aa") == [BYTES.index("a")] * 2


def of_pieces(*normalizers: dict[str, object], prepend: str = "always") -> str:
    """As Llama 2, Gemma, T5, XLNet: pieces with a sign for a space."""
    made = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -1.0)], 0))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend)
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return with_parts(
        made.to_str(), normalizer={"type": "Sequence", "normalizers": list(normalizers)}
    )


def test_the_steps_of_published_tokenizers_are_opened():
    kinds = [{"type": kind} for kind in ("NFKD", "StripAccents", "Lowercase")]
    quotes = replacing(("``", '"'), ("''", '"'))
    spaces = replacing((" {2,}", "▁"), (r"^▁+$", ""), (r"\A +| +\z", " "), kind="Regex")
    prepend = {"type": "Prepend", "prepend": "▁"}
    for text in (
        of_pieces(quotes, *kinds, spaces),
        of_pieces(prepend, replacing((" ", "▁")), prepend="never"),
        of_words(),
        with_parts(normalizer={"type": "NFC"}),
    ):
        assert published_tokenizer(text).encode("a")


def test_a_text_that_cannot_be_read_is_left_out():
    no_unknown = changed(of_words(), "unk_token", "nowhere")
    ours = published_tokenizer(no_unknown)
    assert (ours.encode("x"), ours.pieces("x"), ours.left_out("x")) == ([], (), ("x",))
    apart = published_tokenizer(with_parts(normalizer={"type": "NFKD"}))
    long = "\ufdfa" * 200
    assert apart.encode("\ufdfa") and apart.left_out(long) == (long,)


def test_a_text_is_cut_the_same_each_time():
    text = changed(of_bytes(), "dropout", 0.5)
    assert {tuple(published_tokenizer(text).encode(" a" * 20)) for _ in range(5)} == {(256,) * 20}


def test_others_run_while_a_text_is_cut():
    """While one thread is inside the library, another counts on."""
    ours = published_tokenizer(with_parts(pre_tokenizer=splitting("x+[yz]")))
    counted, is_done = 0, threading.Event()

    def cut():
        ours.encode("x" * 20_000)
        is_done.set()

    thread = threading.Thread(target=cut)
    thread.start()
    while not is_done.wait(0.001):
        counted += 1
    thread.join()
    assert counted > 10


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
