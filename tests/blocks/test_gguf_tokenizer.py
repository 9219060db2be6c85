"""The tokenizer of a GGUF file splits a text as the tokenizer that was converted."""

import json

import pytest
import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from blocks import ConfigError
from blocks.text.gguf_tokenizer import KEY, LLAMA3, QWEN, tokenizer_json
from blocks.text.published import published_tokenizer

CORPUS = [
    "The owl told the small robot a story about 1234 rivers, and the robot didn't sleep.",
    "def add(a, b):\n    return a + b  # 3.14\n\n",
    "今天下午老师在教室里讲注意力机制，学生们听得很认真。 12345",
    "naïve café “quotes” 🙂  two   spaces\t\ttabs",
] * 3
TEXTS = [*CORPUS[:4], "", " ", "robots' 2024-11-26!!", "<s>user</s> told", "未知の文字 ж", "It'S"]


def _split(pattern):
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), of_bytes])


DIGITS = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
)
RULES = {
    "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "smollm": DIGITS,
    "qwen2": _split(PRETOKENIZE_REGEX),
    "llama-bpe": _split(
        PRETOKENIZE_REGEX.replace(r"\p{N}", r"\p{N}{1,3}", 2).replace(
            r"[^\r\n\p{L}\p{N}{1,3}]", r"[^\r\n\p{L}\p{N}]"
        )
    ),
}


def _trained(rule):
    whole = tokenizers.Tokenizer(models.BPE())
    whole.pre_tokenizer = RULES[rule]
    whole.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    whole.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    return whole


def _told(whole, model, **more):
    """What a converter writes of it: tokens by id, their kinds, and merges."""
    tokens = [token for token, _n in sorted(whole.get_vocab().items(), key=lambda item: item[1])]
    merges = json.loads(whole.to_str())["model"]["merges"]
    kinds = [3 if token in ("<s>", "</s>") else 1 for token in tokens]
    said = {"model": model, "tokens": tokens, "token_type": kinds, "bos_token_id": 0, **more}
    if model == "gpt2":
        said["merges"] = [" ".join(pair) for pair in merges]
    return {KEY + name: value for name, value in said.items()}


@pytest.mark.parametrize("rule", RULES)
def test_bytes_are_joined_as_they_were(rule):
    whole = _trained(rule)
    found = published_tokenizer(tokenizer_json(_told(whole, "gpt2", pre=rule, add_bos_token=False)))
    for text in TEXTS:
        assert found.encode(text) == whole.encode(text).ids
        assert found.decode(found.encode(text)) == whole.decode(whole.encode(text).ids)


def test_the_rules_are_those_that_were_published():
    assert QWEN == PRETOKENIZE_REGEX
    assert LLAMA3.count(r"\p{N}{1,3}") == 1


def _sentencepiece():
    """Trained as SentencePiece does, with bytes for what it never met."""
    whole = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    whole.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    whole.train_from_iterator(
        [text.split(",")[0] for text in CORPUS[:2]],
        trainers.BpeTrainer(vocab_size=340, special_tokens=special, show_progress=False),
    )
    read = json.loads(whole.to_str())
    read["added_tokens"] = [each for each in read["added_tokens"] if each["id"] < 3]
    return tokenizers.Tokenizer.from_str(json.dumps(read))


def _scored(whole, **more):
    read = json.loads(whole.to_str())["model"]
    told = _told(whole, "llama", **{"bos_token_id": 1, **more})
    tokens = told[KEY + "tokens"]
    ranks = {left + right: n for n, (left, right) in enumerate(read["merges"])}
    told[KEY + "scores"] = [float(-ranks.get(token, 0)) for token in tokens]
    told[KEY + "token_type"] = [
        2 if n == 0 else 3 if n < 3 else 6 if n < 259 else 1 for n in range(len(tokens))
    ]
    return told


def test_scores_say_what_is_joined_first():
    whole = _sentencepiece()
    found = published_tokenizer(tokenizer_json(_scored(whole, add_bos_token=False)))
    for text in TEXTS:
        assert found.encode(text) == whole.encode(text).ids
    assert found.decode(found.encode("the small 猫")) == "the small 猫"


def test_a_text_begins_with_its_token_unless_the_file_says_otherwise():
    begins = published_tokenizer(tokenizer_json(_scored(_sentencepiece())))
    assert begins.encode("robot")[0] == 1
    bytes_only = published_tokenizer(tokenizer_json(_told(_trained("gpt-2"), "gpt2", pre="gpt-2")))
    assert bytes_only.encode("robot")[0] != 0
    assert begins.special == {"<unk>": 0, "<s>": 1, "</s>": 2}


def test_no_tokens_are_no_tokenizer():
    assert tokenizer_json({"general.architecture": "llama"}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pre", "some-new-rule"),
        ("model", "rwkv"),
        ("tokens", ["a", "a"]),
        ("tokens", "abc"),
        ("tokens", []),
        ("token_type", [1, 2]),
        ("merges", ["no pair here"]),
        ("merges", ["zz qq"]),
        ("merges", [3]),
    ],
)
def test_what_is_not_understood_is_refused_by_name(name, value):
    told = {**_told(_trained("gpt-2"), "gpt2", pre="gpt-2"), KEY + name: value}
    with pytest.raises(ConfigError) as refused:
        tokenizer_json(told)
    assert KEY + name in str(refused.value)


def test_scores_that_are_missing_are_refused():
    told = _scored(_sentencepiece())
    del told[KEY + "scores"]
    with pytest.raises(ConfigError, match="scores"):
        tokenizer_json(told)


def test_a_first_token_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="bos_token_id"):
        tokenizer_json({**_scored(_sentencepiece()), KEY + "bos_token_id": 10**6})


def test_tokens_that_can_be_joined_in_very_many_ways_are_refused(monkeypatch):
    def told(tokens):
        said = {"model": "llama", "tokens": tokens, "scores": [0.0] * len(tokens)}
        return {KEY + name: value for name, value in said.items()}

    runs = ["a" * n for n in range(1, 30)]  # of n letters: joined in n - 1 ways
    assert tokenizer_json(told(runs))
    monkeypatch.setattr("blocks.text.gguf_tokenizer.MOST_MERGES", 300)
    for tokens in (runs, ["a", "b" * 1_001]):
        with pytest.raises(ConfigError, match=r"damaged at tokenizer\.ggml\.tokens"):
            tokenizer_json(told(tokens))
