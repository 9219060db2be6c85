"""GGUF files: the same model as `transformers` builds, and nothing that a file lies about."""

import copy

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf_files import ARCHITECTURES, bytes_tokens, wide_llama, write_gguf
from published_folders import FOLDERS, model_of
from transformers import AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from blocks import ConfigError, record
from blocks.weights import gguf_file, open_published, read_ledger, save_published
from blocks.weights.gguf_config import FACTORS
from blocks.weights.gguf_file import ROUNDED, Blocks

# what the format has no way to say: a head of its own, a layer without experts, no soft-cap, which
# layers turn nothing, another activation, that there is a window
NOT_SAID = ("gemma-odd", "qwen3_moe-odd", "gemma2-odd", "smollm3-odd", "starcoder2-odd")
READ = [
    name
    for name in FOLDERS
    if name.removesuffix("-odd").replace("gemma3", "gemma3_text") in ARCHITECTURES
    and name not in NOT_SAID
]


def _ids(config, n=9):
    random = torch.Generator().manual_seed(1)
    return torch.randint(config.vocab_size, (2, n), generator=random)


@pytest.mark.parametrize("name", READ)
def test_a_file_is_the_model_that_was_converted(name, tmp_path):
    theirs = model_of(name)
    found = open_published(write_gguf(tmp_path / "toy.gguf", theirs))
    ids = _ids(found.config)
    with torch.no_grad():
        expected = theirs(ids, output_attentions=True)
    seen = record(found.build(), ids)
    torch.testing.assert_close(seen.output, expected.logits, rtol=1e-4, atol=1e-4)
    for layer, pattern in enumerate(expected.attentions):
        torch.testing.assert_close(seen.pattern(layer), pattern, rtol=1e-4, atol=1e-5)


def _said(**values):
    return {f"llama.{name.replace('__', '.')}": value for name, value in values.items()}


def _llama(tmp_path, **more):
    return write_gguf(tmp_path / "toy.gguf", model_of("llama"), **more)


@pytest.mark.parametrize("kind", [Kind.F16, Kind.BF16, Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_1])
def test_rounded_weights_are_what_transformers_reads(kind, tmp_path):
    theirs = wide_llama()
    write_gguf(tmp_path / "toy.gguf", theirs, kind=kind, tokens=bytes_tokens())
    whole = AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file="toy.gguf", dtype=torch.float32, attn_implementation="eager"
    ).eval()
    found = open_published(tmp_path / "toy.gguf", dtype=torch.float32)
    ids = _ids(found.config)
    with torch.no_grad():
        expected = whole(ids).logits
        unrounded = theirs(ids).logits
    output = record(found.build(), ids).output
    torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)
    assert not output.allclose(unrounded, rtol=1e-6)
    assert {row.dtype for row in found.ledger.rows} == {"F32", kind.name}


@pytest.mark.parametrize("name", ROUNDED)
def test_blocks_are_unpacked_a_few_rows_at_a_time(name, monkeypatch):
    """Against the whole at once; the scales of random blocks may be anything, NaN too."""
    monkeypatch.setattr(gguf_file, "CHUNK", 100)
    per_block, n_bytes = gguf.GGML_QUANT_SIZES[Kind[name]]
    raw = np.random.default_rng(0).integers(0, 60, (7, 2 * n_bytes), dtype=np.uint8)
    shape = (7, 2 * per_block)
    part = Blocks("w", "f.gguf", name, shape, memoryview(bytearray(raw.tobytes()))).tensor()
    whole = torch.from_numpy(gguf.quants.dequantize(raw, Kind[name]))
    torch.testing.assert_close(part, whole, rtol=0, atol=0, equal_nan=True)
    assert part.shape == shape


def test_a_file_keeps_its_number_format_and_takes_another(tmp_path):
    path = write_gguf(tmp_path / "toy.gguf", wide_llama(), kind=Kind.BF16)
    assert (
        open_published(path, dtype=torch.bfloat16).tensors["embed.weight"].dtype is torch.bfloat16
    )
    with pytest.raises(ConfigError, match="more than"):
        open_published(path, budget=1000)


def test_the_factors_of_llama_3_are_its_rule(tmp_path):
    """llama.cpp keeps one number for each pair, computed here by `transformers`."""
    config = wide_llama().config
    scaled = copy.deepcopy(config)
    scaled.rope_parameters = {
        "rope_type": "llama3",
        "rope_theta": 10_000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    speeds, _scale = ROPE_INIT_FUNCTIONS["llama3"](scaled, "cpu")
    plain = 10_000.0 ** (-torch.arange(0, config.head_dim, 2) / config.head_dim)
    path = write_gguf(tmp_path / "toy.gguf", wide_llama(), more={FACTORS: (plain / speeds).numpy()})
    position = open_published(path).config.position
    assert (position.rope_scaling, position.rope_factor) == ("llama3", 8.0)
    other = write_gguf(tmp_path / "other.gguf", wide_llama(), more={FACTORS: speeds.numpy()})
    with pytest.raises(ConfigError, match=r"rope_freqs\.weight"):
        open_published(other)


def test_factors_for_long_texts_are_read(tmp_path):
    theirs = model_of("phi3-long")
    rope = theirs.config.rope_parameters
    more = {
        f"rope_factors_{each}.weight": np.array(rope[f"{each}_factor"], dtype=np.float32)
        for each in ("short", "long")
    }
    said = {"phi3.rope.scaling.original_context_length": 10}
    found = open_published(write_gguf(tmp_path / "toy.gguf", theirs, said=said, more=more))
    for n in (8, 16):
        ids = _ids(found.config, n)
        with torch.no_grad():
            expected = theirs(ids).logits
        torch.testing.assert_close(
            record(found.build(), ids).output, expected, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (_said(attention__something_new=3), "llama.attention.something_new"),
        (_said(rope__scaling__type="ntk"), "rope"),
        (_said(attention__value_length=5), "values of 5"),
        (_said(attention__head_count=[6, 3]), "num_attention_heads"),
        (_said(block_count=3), "blk.2"),
        (_said(block_count=100_000), "layers"),
        (_said(embedding_length=25), "25"),
        (_said(block_count="two"), "num_hidden_layers"),
        (_said(attention__layer_norm_rms_epsilon=float("nan")), "rms_norm_eps"),
        ({"general.architecture": "mamba"}, "mamba"),
        ({"general.alignment": 0}, "damaged"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(said, names, tmp_path):
    with pytest.raises(ConfigError) as refused:
        open_published(_llama(tmp_path, said=said))
    assert names in str(refused.value)


def test_scores_of_the_largest_gemmas_are_divided_by_their_own_divisor(tmp_path):
    """By the root of d_model / n_heads, which no key of GGUF says: a toy of 46 layers."""
    sizes = {"num_hidden_layers": 46, "layer_types": None, "query_pre_attn_scalar": 24 // 6}
    theirs = model_of("gemma2", **sizes)
    found = open_published(write_gguf(tmp_path / "toy.gguf", theirs))
    assert found.config.scales.attention_multiplier == 0.5
    ids = _ids(found.config)
    with torch.no_grad():
        expected = theirs(ids).logits
    seen = record(found.build(), ids).output  # rounding adds up over so many layers
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-3 * expected.abs().max().item())


def test_a_ledger_names_what_is_missing_and_what_is_left_over(tmp_path):
    found = read_ledger(_llama(tmp_path, more={"blk.0.odd.weight": np.ones(3, np.float32)}))
    states = {row.key: row.state for row in found.rows if not row.state.is_sound}
    assert states == {"blk.0.odd.weight": "left over"}


def test_a_ledger_asks_for_no_tokenizer(tmp_path):
    """Which takes long where it is large, and nothing where the file is refused."""
    path = _llama(tmp_path, tokens={**bytes_tokens(), "tokenizer.ggml.pre": "some-new-rule"})
    assert not read_ledger(path).faults
    with pytest.raises(ConfigError, match="more than"):
        open_published(path, budget=1000)


def test_saved_again_it_has_the_names_of_its_family(tmp_path):
    found = open_published(_llama(tmp_path))
    save_published(tmp_path / "out", found.config, found.build(), came=found.ledger)
    again = open_published(tmp_path / "out")
    assert again.family == "llama"
    assert all(each.equal(found.tensors[name]) for name, each in again.tensors.items())


def _long_list(n):
    """A header of one key whose list says that it has so many strings."""
    key = b"\x01" + bytes(7) + b"k" + (9).to_bytes(4, "little") + (8).to_bytes(4, "little")
    counts = (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    return b"GGUF" + (3).to_bytes(4, "little") + counts + key + n.to_bytes(8, "little")


def _begins(magic=b"GGUF", version=3, order="little", rest=bytes(100)):
    return magic + version.to_bytes(4, order) + rest


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "damaged"),
        (b"GGUF", "damaged"),
        (_begins(magic=b"GGUX"), "is not a GGUF file"),
        (b"some text", "is not a GGUF file"),
        (_begins(version=1), "version 1"),
        (_begins(version=99), "version 99"),
        (_begins(order="big"), "version 50331648"),
        (_begins(rest=b"\xff" * 100), "more than 100000 tensors"),
        (_begins(rest=(10**6).to_bytes(8, "little") + bytes(100)), "more than 100000 tensors"),
        (_long_list(2**60), "damaged"),
        (_long_list(2**24), "damaged"),
    ],
    ids=lambda each: each if isinstance(each, str) else str(len(each)),
)
def test_a_header_that_lies_is_refused_for_what_is_wrong(raw, words, tmp_path):
    path = tmp_path / "toy.gguf"
    path.write_bytes(raw)
    with pytest.raises(ConfigError, match=words):
        open_published(path)


def test_a_format_that_nobody_knows_is_named(tmp_path):
    path = _llama(tmp_path)
    raw, name = path.read_bytes(), b"output_norm.weight"
    at = raw.index(name) + len(name) + 4 + 8  # one axis, its length, then the format
    path.write_bytes(raw[:at] + (77).to_bytes(4, "little") + raw[at + 4 :])
    with pytest.raises(ConfigError, match="format 77"):
        open_published(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("gone.gguf", "gone.gguf does not exist"), ("model.safetensors", "is not a GGUF file")],
)
def test_what_is_no_such_file_is_called_by_its_own_name(name, words, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(100))
    with pytest.raises(ConfigError, match=words) as refused:
        open_published(tmp_path / name)
    assert ".safetensors.gguf" not in str(refused.value)


def test_no_damage_is_more_than_a_sentence(tmp_path):
    """Bytes of the header changed, cut and doubled at random."""
    whole = _llama(tmp_path).read_bytes()
    random, path = np.random.default_rng(0), tmp_path / "odd.gguf"
    n_refused = 0
    for _ in range(300):
        raw = bytearray(whole)
        for at in random.integers(0, 2200, random.integers(1, 4)):
            raw[at] = random.integers(256)
        if random.random() < 0.2:
            del raw[random.integers(len(raw)) :]
        path.write_bytes(raw)
        try:
            open_published(path)
        except ConfigError as refused:
            n_refused += bool(str(refused))
    assert n_refused > 100
