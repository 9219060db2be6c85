"""Text written by packed copies of bfloat16 weights: the same text, where it pays and fits."""

import pytest
import torch
from kernels import Kernels
from toy import assert_near, scramble, toy

from blocks import build
from blocks.cost import packed_rows as race
from blocks.cost.memory import run_memory
from blocks.model.masks import MaskConfig
from blocks.model.packed_rows import PackedProduct, packed_bytes, with_packed_rows
from blocks.observe.run import Input, Run
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig

GREEDY = SamplingConfig(temperature=0)
PROMPT = [1, 5, 0]
BFLOAT16_ROUNDING = 2**-8


def has_kernel() -> bool:
    try:
        PackedProduct(torch.ones(8, 8, dtype=torch.bfloat16))
    except (AttributeError, RuntimeError):
        return False
    return True


needs_kernel = pytest.mark.skipif(not has_kernel(), reason="oneDNN packs no bfloat16 here")


def gpt(dtype: torch.dtype = torch.bfloat16, **changes):
    sizes = {"n_layers": 2, "vocab_size": 64, "d_model": 64, "max_seq_len": 32, "dropout": 0.0}
    config = toy(architecture="gpt", **sizes | changes)
    return config, scramble(build(config, dtype=dtype))


@needs_kernel
@pytest.mark.parametrize("is_observed", [True, False])
@pytest.mark.parametrize(
    "changes",
    [
        {"attention_bias": True},
        {"tie_embeddings": False, "activation": "swiglu"},
        {"n_experts": 4, "n_active_experts": 2},
    ],
)
def test_the_same_text_is_written_from_packed_rows(changes: dict, is_observed: bool):
    config, model = gpt(**changes)
    plain, packed = (
        Generation(each, config, PROMPT, GREEDY, is_observed=is_observed)
        for each in (model, with_packed_rows(model))
    )
    plain.advance(20)
    packed.advance(20)
    assert packed.token_ids == plain.token_ids
    for ours, theirs in zip(packed.new_tokens, plain.new_tokens, strict=True):
        assert_near(ours.logits, theirs.logits, tolerance=BFLOAT16_ROUNDING)


@needs_kernel
def test_one_row_alone_is_read_from_the_copy():
    config, model = gpt(tie_embeddings=False)
    packed, n_matrices = with_packed_rows(model), 6 * config.n_layers + 1
    for ids, grad, expected in (([1], False, n_matrices), ([1, 2], False, 0), ([1], True, 0)):
        with Kernels() as kernels, torch.set_grad_enabled(grad):
            packed(torch.tensor([ids]))
        assert kernels.counts["_linear_pointwise"] == expected


@needs_kernel
def test_another_weight_in_its_place_is_read_itself():
    _config, model = gpt()
    packed = with_packed_rows(model)
    layer = packed.layers[0].feed_forward.up_proj
    x = torch.ones(1, 1, 64, dtype=torch.bfloat16)
    layer.weight = torch.nn.Parameter(torch.zeros_like(layer.weight))
    layer.bias = None
    with torch.inference_mode():
        assert not layer(x).any()


@needs_kernel
@pytest.mark.parametrize("tied", [True, False])
def test_the_weights_are_shared_and_the_copies_counted(tied: bool):
    _config, model = gpt(tie_embeddings=tied, vocab_size=100)
    kinds = [type(module) for module in model.modules()]
    packed = with_packed_rows(model)
    assert [type(module) for module in model.modules()] == kinds
    theirs = dict(model.named_parameters())
    for name, ours in packed.named_parameters():
        assert ours is theirs[name]
    products = [each.product for each in packed.modules() if hasattr(each, "product")]
    copies = [each.packed for each in (*products, packed.linear)]
    taken = sum(torch.ops.mkldnn._nbytes(copy) for copy in copies)
    plain = sum(each.weight.nbytes for each in (*products, packed.linear))
    assert packed_bytes(model) == packed_bytes(packed)
    assert plain <= taken <= packed_bytes(packed)


def test_models_in_float32_have_no_copies():
    assert packed_bytes(gpt(torch.float32)[1]) == 0


def test_copies_have_to_fit_beside_the_run_and_to_pay(monkeypatch):
    config, model = gpt()
    text = Input(tokens=("a", "b", "c"), token_ids=tuple(PROMPT))
    run = Run(config=config, input=text, mask=MaskConfig(), dtype="bfloat16")
    enough = run_memory(run).total + packed_bytes(model)
    monkeypatch.setattr(race, "is_faster_packed", lambda: True)
    assert race.can_pack(run, model, enough)
    assert not race.can_pack(run, model, enough - 1)
    assert not race.can_pack(run, gpt(torch.float32)[1], enough)
    monkeypatch.setattr(race, "is_faster_packed", lambda: False)
    assert not race.can_pack(run, model, enough)


@pytest.mark.parametrize(("packed", "is_chosen"), [(0.5, True), (0.95, False), (2.0, False)])
def test_copies_are_made_where_they_are_clearly_faster(packed, is_chosen, monkeypatch):
    monkeypatch.setattr(race, "product_seconds", lambda: (1.0, packed))
    assert race.is_faster_packed.__wrapped__() is is_chosen


@pytest.mark.parametrize("error", [AttributeError, RuntimeError])
def test_where_torch_has_no_such_kernel_nothing_is_packed(error, monkeypatch):
    def missing(_weight):
        raise error

    monkeypatch.setattr(race, "PackedProduct", missing)
    assert race.is_faster_packed.__wrapped__() is False
