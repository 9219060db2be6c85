"""Models that run in int8 against integer arithmetic of torch's own and against the simulation."""

import pytest
import torch
from efficiency_toy import config_of, sorter, weights_of, with_task
from toy import assert_near, draw

from blocks import ConfigError
from blocks.cost.timing import Times
from blocks.efficiency import int8_passes, packed
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.frontier import INT8, make
from blocks.efficiency.int8_passes import Int8Passes, int8_without
from blocks.efficiency.int8_times import ProductTimes, Shape, matrix_shapes
from blocks.efficiency.names import compression_of
from blocks.efficiency.packed import PackedProduct, packed_fault, packed_names, packed_product
from blocks.efficiency.quantization import Quantization, quantize
from blocks.model.faults import Fault
from blocks.model.kv_cache import KVCache
from blocks.model.source_target import SourceTarget
from blocks.training.teaching import Teacher
from blocks.weights.pocket import pocket
from blocks.weights.rounded_inputs import (
    EMBEDDING,
    ActivationGrid,
    RoundedInput,
    RoundedLinear,
    multiplied_weights,
)
from blocks.work.plain import from_line, to_line

needs_kernel = pytest.mark.skipif(packed_fault() is not None, reason="torch without the kernel")
IDS = torch.tensor([[1, 5, 3, 8, 2, 10], [4, 4, 9, 0, 7, 6]])
REACH = 127.5 / 64
"""So that the points of a grid are 1/64 apart, and nobody's arithmetic rounds on the way to one."""


def integer_product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Both as whole numbers, multiplied in 64 bits: (n, in) and (out, in) to (n, out)."""
    codes = torch.fake_quantize_per_tensor_affine(x, 1 / 64, 128, 0, 255) * 64
    matrix = quantize(weight, Quantization())
    rows = matrix.codes.reshape(weight.shape).long() - 128
    return (codes.long() @ rows.T).double() / 64 * matrix.grid.scale.flatten().double()


@needs_kernel
@pytest.mark.parametrize("grid", [*ActivationGrid][1:])
def test_a_product_is_that_of_the_whole_numbers(grid: ActivationGrid):
    weight, x = draw(24, 32, seed=1) ** 3, draw(7, 32, seed=2).clamp(-REACH, REACH)
    x[:, 3], x[::2, 5] = REACH, -REACH
    product = PackedProduct(quantize(weight, Quantization()), RoundedInput(8, grid, REACH))
    assert_near(product(x).double(), integer_product(x, weight), tolerance=1e-6)
    bias = draw(24, seed=3)
    assert_near(product(x, weight, bias), product(x) + bias)


@needs_kernel
def test_a_token_is_rounded_by_itself_and_nothing_stays_nothing():
    product, x = packed_product(draw(24, 32, seed=1)), draw(3, 5, 32, seed=2)
    x[1, 2] *= 100
    assert product(x)[0, :1].equal(product(x[:1, :1])[0])
    assert product(torch.zeros(2, 32)).equal(torch.zeros(2, 24))


WHOLE = {
    "gpt": {"architecture": "gpt", "tie_embeddings": True},
    "gated": {"architecture": "gpt", "activation": "swiglu", "tie_embeddings": False},
    "experts": {"architecture": "gpt", "n_experts": 3, "n_active_experts": 1},
    "latent": {"architecture": "gpt", "d_kv_latent": 8, "d_rotary": 4, "position_kind": "rope"},
    "encoder": {"architecture": "encoder", "tie_embeddings": True, "unembed_bias": True},
    "encoder-decoder": {"architecture": "encoder-decoder", "tie_embeddings": True},
}


@needs_kernel
@pytest.mark.parametrize("changes", WHOLE.values(), ids=WHOLE)
def test_a_whole_model_runs_in_int8_and_computes_what_is_simulated(changes: dict):
    config = config_of(**changes)
    model = with_task(config, weights_of(config))
    ids = SourceTarget(IDS, IDS.flip(1)) if "decoder" in config.architecture else IDS
    made = make(model, compression_of(INT8))
    names = {name for name in multiplied_weights(model.model) if name in model.file.tensors}
    assert {*packed_names(made.file)} == names and made.n_packed == len(names)
    simulated, compared = dict(made.file.build().named_modules()), set[str]()

    def compare(path: str, x: torch.Tensor, product: torch.Tensor) -> None:
        # Each with the same input: of two whole models, what lies between two codes tips over.
        assert_near(product, simulated[path](x))
        compared.add(path)

    for path, layer in made.built.named_modules():
        if isinstance(layer, RoundedLinear):
            layer.register_forward_hook(lambda _, x, y, path=path: compare(path, *x, y))
    with torch.no_grad():
        exact, ran = (m(ids) for m in (model.model, made.built))
    assert len(compared) >= len(names) - 1  # the unembedding asks for its product itself
    assert 0 < (ran - exact).norm() < 0.05 * exact.norm()
    products = [m.product for m in made.built.modules() if isinstance(m, RoundedLinear)]
    products += [made.built.linear] if EMBEDDING in names else []
    assert len(products) == len(names) and all(isinstance(p, PackedProduct) for p in products)


@needs_kernel
def test_each_matrix_computes_what_is_simulated():
    made = make(sorter(), compression_of(INT8))
    simulated = dict(made.file.build().named_modules())
    layers = {p: m for p, m in made.built.named_modules() if isinstance(m, RoundedLinear)}
    assert len(layers) > 10 and any(layer.bias is not None for layer in layers.values())
    for i, (path, layer) in enumerate(layers.items()):
        x = draw(2, 3, layer.in_features, seed=i)
        with torch.no_grad():
            assert_near(layer(x), simulated[path](x))


@needs_kernel
def test_a_token_that_is_read_behind_a_cache_is_what_it_is_in_the_whole_row():
    config = config_of(architecture="gpt", tie_embeddings=True)
    built = make(with_task(config, weights_of(config)), compression_of(INT8)).built
    cache = KVCache(config)
    with torch.no_grad():
        first, last = (built(ids, cache=cache) for ids in (IDS[:, :5], IDS[:, 5:]))
        assert_near(torch.cat([first, last], dim=1), built(IDS), tolerance=0.02)


@needs_kernel
def test_the_original_of_a_file_that_was_rounded_runs_as_before():
    rounded = Calibrated(make(sorter(), compression_of(INT8)).file)
    assert rounded.file.inputs and make(rounded, compression_of("")).n_packed == 0


@pytest.mark.parametrize("name", ["int8", "int4.act8", "int8-group8.act8", "int8-asymmetric.act8"])
def test_what_is_no_int8_of_both_stays_in_float32(name: str):
    assert make(sorter(), compression_of(name)).n_packed == 0


@needs_kernel
def test_what_stays_at_full_precision_is_not_packed():
    model = sorter()
    slow = matrix_shapes(model)["layers.0.feed_forward.up_proj.weight"]
    name = int8_without(model, frozenset([slow]))
    made = make(model, compression_of(name))
    stay = {each for each, shape in matrix_shapes(model).items() if shape == slow}
    assert {*matrix_shapes(model)} - {*packed_names(made.file)} == stay != set()
    assert int8_without(model, frozenset()) == INT8
    assert int8_without(model, frozenset(matrix_shapes(model).values())) == ""


def test_without_the_kernel_it_is_simulated(monkeypatch):
    monkeypatch.setattr(packed, "packed_fault", lambda: Fault("none"))
    made = make(sorter(), compression_of(INT8))
    assert made.n_packed == 0
    with torch.no_grad():
        assert made.built(IDS).shape == (2, 6, made.file.config.vocab_size)
    with pytest.raises(ConfigError):
        packed_product(draw(4, 4))


@needs_kernel
def test_a_row_and_a_batch_are_timed_in_turn_and_what_int8_slows_stays(monkeypatch):
    monkeypatch.setattr(int8_passes, "measure_in_rounds", one_sample_each)
    monkeypatch.setattr(int8_passes, "measure_product", slower_for_a_batch)
    series = Int8Passes(origin=Teacher(name="sort", config=pocket("sort").config))
    one, batch = found = [*series.results(())]
    assert (one.n_tokens, one.n_int8, one.n_mixed, one.recipe) == (12, 13, 13, INT8)
    assert (batch.n_tokens, batch.n_mixed, batch.mixed) == (768, 3, 2.0)
    assert one.mixed == one.int8 == 1.0
    assert compression_of(batch.recipe).exempt > {"layers.0.feed_forward.down_proj"}
    assert [*series.results(found)] == [] and len(found) == series.n_steps
    assert from_line(to_line(series)) == series and from_line(to_line(batch)) == batch


def slower_for_a_batch(shape: Shape, n_tokens: int, _seed: int) -> ProductTimes:
    """Narrow matrices are, in int8."""
    int8 = 2.0 if n_tokens > 100 and shape[0] == 64 else 0.5
    return ProductTimes(*shape, n_tokens, float32=1.0, int8=int8, rounding=0.1, load=0.0)


def one_sample_each(works: list, _device: str, *, rounds: int) -> list[Times]:
    """Each of them runs once; its place is its time."""
    return [Times((float(i + 0 * work().numel()),) * rounds) for i, work in enumerate(works)]
