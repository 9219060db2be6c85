"""A trained model in a file: what goes in comes out, and nothing else does."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from toy import assert_near, toy

from blocks import ConfigError, ModelConfig, build
from blocks.text.characters import CharacterTokenizer
from blocks.text.numbers import NumberTokenizer
from blocks.weights import model_file
from blocks.weights.model_file import Card, ModelFile, read_model_file, trained

CONFIG = toy(architecture="gpt", n_layers=2, vocab_size=3, norm_kind="batchnorm")
TOKENIZER = CharacterTokenizer.of("abc")
CARD = Card(
    task="sort",
    recipe={"n_steps": 5},
    seed=1,
    n_steps=5,
    seconds=0.5,
    held_out_loss=1.25,
    score=0.5,
    score_name="exact answers",
    samples={"en": "cab"},
)
MODEL = build(CONFIG, seed=3)
FILE = ModelFile(CONFIG, TOKENIZER, CARD, MODEL.state_dict())
few = settings(max_examples=100)
IDS = torch.tensor([[0, 2, 1]])


def test_what_was_saved_is_read():
    found = read_model_file(FILE.to_bytes(torch.float32))
    assert (found.config, found.card) == (CONFIG, CARD)
    assert found.tokenizer.encode("cab") == TOKENIZER.encode("cab")
    assert torch.equal(trained(found.config, found.tensors)(IDS), MODEL(IDS))


def test_half_precision_is_half_the_bytes_and_nearly_the_same():
    small = FILE.to_bytes()
    assert len(small) < 0.8 * len(FILE.to_bytes(torch.float32))
    found = read_model_file(small)
    assert_near(trained(found.config, found.tensors)(IDS), MODEL(IDS), tolerance=1e-2)


@few
@given(st.binary(max_size=200), st.integers(0, 5000))
def test_any_other_file_is_refused_with_a_sentence(garbage: bytes, cut: int):
    whole = FILE.to_bytes()
    for raw in (garbage, whole[:cut], whole[: len(whole) - 1 - cut]):
        with pytest.raises(ConfigError, match="choose"):
            read_model_file(raw)


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"config": "[]", "tokenizer": "{}", "card": "{}"},
        {"config": json.dumps(CONFIG.flat()), "tokenizer": TOKENIZER.to_json(), "card": "{}"},
    ],
)
def test_a_header_that_says_nothing_is_refused(header: dict[str, str]):
    with pytest.raises(ConfigError):
        read_model_file(save({"x": torch.zeros(1)}, metadata=header))


def with_header(**changes: object) -> bytes:
    """Our file with something else in its header."""
    raw = FILE.to_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    header["__metadata__"] |= {name: json.dumps(found) for name, found in changes.items()}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + raw[8 + length :]


@pytest.mark.parametrize(
    "config",
    [
        CONFIG.replace(n_layers=10**6),
        CONFIG.replace(vocab_size=10**6),
        CONFIG.replace(n_experts=64, d_ff=1),
    ],
)
def test_a_file_too_small_for_its_model_is_refused_before_one_is_built(config: ModelConfig):
    with pytest.raises(ConfigError, match="choose"):
        read_model_file(with_header(config=config.flat()))


WORDS, OBJECTS = {"task", "score_name"}, {"recipe", "samples", "group_scores"}
WRONG = ({}, {"x": []}, [1], True, float("nan"), float("inf"), 10**400, "one")


@pytest.mark.parametrize("name", sorted(asdict(CARD)))
def test_a_card_of_other_types_is_refused_by_name(name: str):
    for wrong in WRONG[name in OBJECTS : len(WRONG) - (name in WORDS)]:
        if (name, wrong) != ("recipe", {"x": []}):
            with pytest.raises(ConfigError, match=f"damaged at {name}"):
                read_model_file(with_card(name, wrong))


@pytest.mark.parametrize("name", ["seconds", "held_out_loss", "score"])
def test_a_card_of_impossible_measurements_is_refused_by_name(name: str):
    assert read_model_file(with_card(name, 0.0))
    with pytest.raises(ConfigError, match=f"damaged at {name}"):
        read_model_file(with_card(name, -1.0))
    with pytest.raises(ConfigError, match="damaged at group_scores"):
        read_model_file(with_card("group_scores", {"a": -0.1}))


@pytest.mark.parametrize("entry", ["task", "score_name", "samples", "recipe"])
def test_half_a_surrogate_pair_in_a_card_is_refused(entry: str):
    half = {"a": "\ud800"} if entry in OBJECTS else "\ud800"
    with pytest.raises(ConfigError, match="choose"):
        read_model_file(with_card(entry, half))


OTHER_NUMBERS = (
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float64, torch.complex64),
    *(torch.int8, torch.int64, torch.uint8, torch.bool),
)


@pytest.mark.parametrize("dtype", OTHER_NUMBERS, ids=str)
def test_weights_in_a_format_that_is_not_saved_here_are_refused_by_name(dtype: torch.dtype):
    raw = FILE.to_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])["__metadata__"]
    tensors = {name: tensor.to(dtype) for name, tensor in load(raw).items()}
    with pytest.raises(ConfigError, match=r"is stored as .*: save it again"):
        read_model_file(save(tensors, metadata=header))


def test_a_format_that_cannot_be_written_is_told_in_other_signs():
    raw = FILE.to_bytes()
    changed = raw.replace(b'"dtype":"F16"', b'"dtype":"\\ud800"', 1)
    length = int.from_bytes(raw[:8], "little") + len(changed) - len(raw)
    with pytest.raises(ConfigError) as error:
        read_model_file(length.to_bytes(8, "little") + changed[8:])
    assert str(error.value).encode()


def test_a_tensor_that_stands_twice_is_refused_by_name():
    raw = FILE.to_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = raw[8 : 8 + length].decode()
    entry = json.dumps(json.loads(header)["embed.weight"])
    twice = f'{header.rstrip()[:-1]},"embed.weight":{entry}}}'.encode()
    again = len(twice).to_bytes(8, "little") + twice + raw[8 + length :]
    with pytest.raises(ConfigError, match=r"embed\.weight appears twice"):
        read_model_file(again)


def test_a_header_of_very_many_tensors_is_refused_unread(monkeypatch: pytest.MonkeyPatch):
    row = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    text = json.dumps({f"t{i}": row for i in range(100_000)}).encode()
    monkeypatch.setattr(json, "loads", None)
    monkeypatch.setattr(model_file, "load", None)
    with pytest.raises(ConfigError, match="more than 20,000 tensors"):
        read_model_file(len(text).to_bytes(8, "little") + text)


def with_card(name: str, entry: object) -> bytes:
    return with_header(card={**asdict(CARD), name: entry})


def test_a_tokenizer_may_have_fewer_tokens_than_the_model_but_not_more():
    fewer = replace(FILE, tokenizer=CharacterTokenizer("ab")).to_bytes()
    assert read_model_file(fewer).tokenizer.vocab_size == 2
    for more in (CharacterTokenizer("abcd"), NumberTokenizer(100_000)):
        with pytest.raises(ConfigError, match="tokens, but the model knows only 3"):
            read_model_file(replace(FILE, tokenizer=more).to_bytes())


def test_a_task_longer_than_any_is_refused():
    with pytest.raises(ConfigError, match="damaged at task"):
        read_model_file(with_card("task", "x" * 50_000))


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 10_000])
@pytest.mark.parametrize("entry", ["config", "tokenizer", "card"])
def test_what_is_nested_too_deeply_is_refused(entry: str, deep: str):
    whole = {"config": json.dumps(CONFIG.flat()), "tokenizer": TOKENIZER.to_json(), "card": "{}"}
    with pytest.raises(ConfigError, match="save"):
        read_model_file(save(dict(FILE.tensors), metadata=whole | {entry: deep}))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_refused_by_name(number: float):
    name = "layers.1.attention.q_proj.weight"
    tensors = {path: tensor.clone() for path, tensor in FILE.tensors.items()}
    tensors[name][0, 0] = number
    with pytest.raises(ConfigError, match=f"{name} contains"):
        read_model_file(replace(FILE, tensors=tensors).to_bytes())


def test_weights_too_large_for_half_precision_come_back():
    tensors = {name: 1e6 * value for name, value in FILE.tensors.items()}
    found = read_model_file(replace(FILE, tensors=tensors).to_bytes()).tensors
    assert torch.equal(found["embed.weight"], tensors["embed.weight"])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, -(10**400), "gpt", "words", "copy"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
HEADER = {
    "config": CONFIG.flat(),
    "tokenizer": json.loads(TOKENIZER.to_json()),
    "card": asdict(CARD),
}


@few
@given(st.sampled_from(sorted(HEADER)), st.data())
def test_anything_in_a_header_is_read_or_refused(entry: str, data: st.DataObject):
    name, found = data.draw(st.sampled_from(sorted(HEADER[entry]))), data.draw(JSON)
    changed = data.draw(st.sampled_from([found, {**HEADER[entry], name: found}]))
    try:
        read_model_file(with_header(**{entry: changed}))
    except ConfigError as error:
        assert str(error)


@few
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_other_bytes_are_read_or_refused(changes: list[tuple[int, int]]):
    raw = bytearray(FILE.to_bytes())
    for place, byte in changes:
        raw[place % len(raw)] = byte
    try:
        read_model_file(bytes(raw))
    except ConfigError as error:
        assert str(error)


def test_weights_of_another_configuration_are_refused():
    with pytest.raises(ConfigError, match=r"layers\.1"):
        trained(CONFIG.replace(n_layers=1), MODEL.state_dict())
    with pytest.raises(ConfigError, match=r"embed\.weight"):
        trained(CONFIG.replace(vocab_size=4), MODEL.state_dict())


def test_training_on_does_not_reach_into_what_was_read():
    tensors = {name: value.clone() for name, value in MODEL.state_dict().items()}
    model = trained(CONFIG, tensors)
    with torch.no_grad():
        model.embed.weight.zero_()
    assert tensors["embed.weight"].any()
