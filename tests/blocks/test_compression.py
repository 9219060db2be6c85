"""Models made smaller: what is taken out is really gone, and what is left is what it was."""

import itertools
import json
from dataclasses import replace

import pytest
import torch
from efficiency_toy import config_of, sorter, weights_of, with_task
from safetensors.torch import load, save
from toy import assert_near

from blocks import ConfigError, ModelConfig
from blocks.efficiency.activations import ActivationRounding
from blocks.efficiency.calibration import Inputs, calibrate
from blocks.efficiency.compression import (
    Calibrated,
    Compression,
    compress,
    compressed_config,
    matrix_names,
)
from blocks.efficiency.exemption import (
    absent_from,
    first_and_last,
    modules,
    roundable,
    rounded_names,
)
from blocks.efficiency.pruning import Criterion, MaskPattern, Scope, masks, two_of_four
from blocks.efficiency.quantization import Granularity, Quantization, RangeRule
from blocks.efficiency.removal import least_needed
from blocks.efficiency.rounding import Rounding
from blocks.efficiency.structured import Choice, without_heads, without_layers, without_units
from blocks.model.randomness import generator
from blocks.training.task import Batch
from blocks.weights.model_file import read_model_file, trained
from blocks.weights.rounded_inputs import ActivationGrid

READ = torch.randint(0, 11, (3, 6), generator=generator(0, "ids"))


def choice(criterion: Criterion, config: ModelConfig, weights) -> Choice:
    model = trained(config, weights)
    found = calibrate(model, [Batch(READ, READ)]) if criterion is Criterion.WANDA else {}
    return Choice(criterion, found, generator(0, "choice"))


@pytest.fixture(scope="module")
def calibrated() -> Calibrated:
    return sorter()


@pytest.mark.parametrize("criterion", Criterion)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_kv_heads": 2},
        {"activation": "swiglu", "position_kind": "rope"},
        {"attention_sink": True, "attention_gate": "head"},
        {"attention_gate": "elementwise", "n_kv_heads": 2},
    ],
)
def test_without_heads_is_the_model_whose_heads_write_nothing(criterion, changes):
    config = config_of(architecture="gpt", **changes)
    weights = weights_of(config)
    left = without_heads(config, weights, 1, choice(criterion, config, weights))
    small_config, small = left.config, left.of(weights)
    assert small_config.n_kv_heads == config.n_kv_heads - 1
    masked = dict(weights)
    for name in weights:
        if name.endswith("out_proj.weight"):
            left = {column.numpy().tobytes() for column in small[name].T}
            gone = [i for i, c in enumerate(weights[name].T) if c.numpy().tobytes() not in left]
            assert len(gone) == config.width_of_heads // config.n_kv_heads
            masked[name] = weights[name].clone()
            masked[name][:, gone] = 0
    assert_near(trained(small_config, small)(READ), trained(config, masked)(READ))


@pytest.mark.parametrize("criterion", Criterion)
@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_without_units_is_the_model_whose_units_write_nothing(criterion, activation):
    config = config_of(architecture="gpt", activation=activation)
    weights = weights_of(config)
    left = without_units(config, weights, 0.25, choice(criterion, config, weights))
    small_config, small = left.config, left.of(weights)
    assert small_config.d_ff == config.d_ff * 3 // 4
    masked = dict(weights)
    for name in weights:
        if name.endswith("down_proj.weight"):
            left = {column.numpy().tobytes() for column in small[name].T}
            gone = [i for i, c in enumerate(weights[name].T) if c.numpy().tobytes() not in left]
            masked[name] = weights[name].clone()
            masked[name][:, gone] = 0
    assert_near(trained(small_config, small)(READ), trained(config, masked)(READ))


@pytest.mark.parametrize("architecture", ["gpt", "encoder", "encoder-decoder"])
def test_without_layers_the_others_follow_one_another(architecture):
    config = config_of(architecture=architecture)
    weights = weights_of(config)
    left = without_layers(config, weights, (1,))
    small_config, small = left.config, left.of(weights)
    assert small_config.n_layers == 2
    model, fewer = trained(config, weights), trained(small_config, small)
    for stack, less in zip(_stacks(model), _stacks(fewer), strict=True):
        pairs = zip([stack[0], stack[2]], less, strict=True)
        assert all(map(_is_same, *zip(*pairs, strict=True)))


def _stacks(model):
    both = [model.encoder.layers, model.decoder.layers] if hasattr(model, "decoder") else None
    return both or [model.layers]


def _is_same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(map(torch.equal, one.parameters(), other.parameters()))


@pytest.mark.parametrize(
    ("remove", "amount", "word"),
    [(without_heads, 4, "n_heads"), (without_units, 1.0, "d_ff"), (without_heads, -1, "n_heads")],
)
def test_something_is_left(remove, amount, word):
    config = config_of(architecture="gpt")
    weights = weights_of(config)
    with pytest.raises(ConfigError, match=word):
        remove(config, weights, amount, choice(Criterion.MAGNITUDE, config, weights))
    with pytest.raises(ConfigError, match="n_layers"):
        without_layers(config, weights, (0, 1, 2))


def test_a_layer_that_is_not_there_cannot_go():
    config = config_of(architecture="gpt")
    with pytest.raises(ConfigError, match="no layer 3"):
        without_layers(config, weights_of(config), (3,))


def test_heads_that_are_not_alike_stay():
    config = config_of(architecture="gpt", position_kind="alibi")
    weights = weights_of(config)
    with pytest.raises(ConfigError, match="keep all heads"):
        without_heads(config, weights, 1, choice(Criterion.MAGNITUDE, config, weights))


@pytest.mark.parametrize(
    ("changes", "what", "mend"),
    [
        ({"token_mixer": "gru"}, {"removed_heads": 1}, "keep all heads"),
        ({"d_kv_latent": 8}, {"removed_heads": 1}, "keep all heads"),
        ({"qk_norm": True, "qk_norm_whole": True}, {"removed_heads": 1}, "keep all heads"),
        (
            {"token_mixer": "gated_delta", "attention_every": 3},
            {"removed_layers": (0,)},
            "keep all layers",
        ),
        ({"local_window": 3, "global_every": 2}, {"removed_layers": (0,)}, "keep all layers"),
    ],
)
def test_what_hangs_together_stays(changes, what, mend):
    with pytest.raises(ConfigError, match=mend):
        compressed_config(config_of(architecture="gpt", **changes), Compression(**what))


@pytest.mark.parametrize(("criterion", "scope"), [*itertools.product(Criterion, Scope)])
def test_a_mask_leaves_out_the_share_that_was_asked_for(criterion, scope):
    draw = generator(0, "weights")
    weights = {name: torch.randn(8, 20, generator=draw) * (i + 1) for i, name in enumerate("ab")}
    found = masks(
        weights,
        0.3,
        criterion=criterion,
        pattern=MaskPattern.ANY,
        scope=scope,
        inputs={},
        random=draw,
    )
    assert sum(int((~mask).sum()) for mask in found.values()) == 96
    if scope is Scope.LAYER:
        assert [int((~mask).sum()) for mask in found.values()] == [48, 48]
    if criterion is Criterion.MAGNITUDE and scope is Scope.GLOBAL:
        left = [weights[name][mask].abs().min() for name, mask in found.items()]
        gone = [weights[name][~mask].abs().max() for name, mask in found.items() if (~mask).any()]
        assert max(gone) <= min(left)


HEARD = torch.tensor([[3.0, 0, 0, 0.2], [0, 1, 2, 0], [0, 0, 0, 0], [4, 0, 0, 0]])
NORMS = (5.0, 1.0, 2.0, 0.2)  # of its columns: √(3² + 4²), 1, 2, 0.2
COUNTS = torch.tensor([[1.0, -6, 4, 9], [-0.08, 0.7, -0.2, 4]])
# Half of them go, of each row: the least |w| of the whole matrix, or the least |w| · ‖x‖, which is
# 5, 6, 8, 1.8 and 0.4, 0.7, 0.4, 0.8, of each row by itself or of all.
GONE = {
    (Criterion.MAGNITUDE, Scope.LAYER): [[0], [0, 1, 2]],
    (Criterion.MAGNITUDE, Scope.GLOBAL): [[0], [0, 1, 2]],
    (Criterion.WANDA, Scope.LAYER): [[0, 3], [0, 2]],
    (Criterion.WANDA, Scope.GLOBAL): [[], [0, 1, 2, 3]],
}


def heard(x: torch.Tensor) -> Inputs:
    return Inputs(x.T @ x, x.abs().mean(0), x.abs().amax(0))


@pytest.mark.parametrize(("criterion", "scope"), GONE)
def test_the_weights_that_count_least_go(criterion: Criterion, scope: Scope):
    assert heard(HEARD).norms.tolist() == pytest.approx(NORMS)
    mask = masks(
        {"a": COUNTS},
        0.5,
        criterion=criterion,
        pattern=MaskPattern.ANY,
        scope=scope,
        inputs={"a": heard(HEARD)},
        random=generator(0, "unused"),
    )["a"]
    gone = [(~row).nonzero().flatten().tolist() for row in mask]
    assert gone == GONE[criterion, scope]


PARTS = {  # a criterion and the columns of two parts that write most, of d_ff 4 or 4 heads
    Criterion.MAGNITUDE: [2.0, 0.5, 3.0, 1.0],
    Criterion.WANDA: [0.1, 3.0, 1.0, 2.0],
}


def _model_of_known_parts(criterion: Criterion, ending: str, width: int):
    """Weights whose parts are of known size, and inputs under which others of them write most."""
    config = config_of(architecture="gpt", d_ff=4)
    weights = weights_of(config)
    sizes = torch.tensor(PARTS[Criterion.MAGNITUDE]).repeat_interleave(width)
    loud = torch.tensor(PARTS[Criterion.WANDA]).repeat_interleave(width) / sizes
    inputs = {}
    for name in [name for name in weights if name.endswith(ending)]:
        weights[name] = torch.ones_like(weights[name]) * sizes
        x = torch.eye(len(sizes)) * loud
        inputs[name] = heard(x)
    return config, weights, Choice(criterion, inputs, generator(0, "unused"))


@pytest.mark.parametrize("criterion", PARTS)
@pytest.mark.parametrize("part", ["head", "unit"])
def test_the_parts_that_write_least_go(criterion: Criterion, part: str):
    ending, width = {"head": ("out_proj.weight", 4), "unit": ("down_proj.weight", 1)}[part]
    config, weights, choice = _model_of_known_parts(criterion, ending, width)
    remove, amount = {"head": (without_heads, 2), "unit": (without_units, 0.5)}[part]
    small = remove(config, weights, amount, choice).of(weights)
    stay = {Criterion.MAGNITUDE: (0, 2), Criterion.WANDA: (1, 3)}[criterion]
    sizes = [PARTS[Criterion.MAGNITUDE][each] for each in stay for _ in range(width)]
    for name in small:
        if name.endswith(ending):
            assert small[name][0].tolist() == sizes


@pytest.mark.parametrize("width", [1, 4])
def test_a_part_counts_as_much_as_it_wrote_on_the_text(width: int):
    """By magnitude as much as its weights, both as sums of squares; inputs hang together here."""
    weight, x = torch.randn(2, 7, 8, generator=generator(0, "parts"))
    x = x @ torch.randn(8, 8, generator=generator(1, "parts"))
    wanda = Choice(Criterion.WANDA, {"out": heard(x)}, generator(0, "unused"))
    plain = Choice(Criterion.MAGNITUDE, {"out": heard(x)}, generator(0, "unused"))
    parts = [slice(i, i + width) for i in range(0, 8, width)]
    wrote = [float((x[:, each] @ weight[:, each].T).square().sum()) for each in parts]
    assert_near(wanda.scores("out", weight, width), wrote)
    sizes = [float(weight[:, each].square().sum()) for each in parts]
    assert_near(plain.scores("out", weight, width), sizes)


def test_what_was_heard_is_summed_over_all_rows_of_all_batches():
    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.linear(x)

    texts = torch.randn(3, 2, 5, 4, generator=generator(0, "texts"))
    (found,) = calibrate(Reader(), [Batch(each, each) for each in texts]).values()
    rows = texts.reshape(-1, 4)
    assert_near(found.gram, rows.T @ rows)
    assert_near(found.mean_size, rows.abs().mean(0))
    assert_near(found.largest, rows.abs().amax(0))
    assert_near(found.norms, torch.linalg.vector_norm(rows, dim=0))


def test_what_is_left_is_calibrated_after_parts_are_gone(calibrated):
    """A smaller model is rounded as it would be had it never had them."""
    file, how = calibrated.file, RECIPES["2 bits, GPTQ"]
    left = without_layers(file.config, file.tensors, (0,))
    alone = compress(with_task(left.config, left.of(file.tensors)), how).tensors
    ours = compress(calibrated, replace(how, removed_layers=(0,))).tensors
    for name in alone:
        assert_near(ours[name], alone[name])


def test_the_layers_that_are_needed_least_go_one_after_the_other(calibrated):
    """First that without which the loss is least, then another beside it: by torch's own loss."""
    file = calibrated.file

    def loss(removed: tuple[int, ...]) -> float:
        left = without_layers(file.config, file.tensors, removed)
        model = trained(left.config, left.of(file.tensors))
        with torch.no_grad():
            both = [(model(*each.read), each.targets) for each in calibrated.batches]
        said, asked = (torch.cat(each).flatten(0, 1) for each in zip(*both, strict=True))
        return float(torch.nn.functional.cross_entropy(said, asked))

    first = min(range(3), key=lambda i: loss((i,)))
    second = min({0, 1, 2} - {first}, key=lambda i: loss(tuple(sorted((first, i)))))
    for n, gone in ((1, (first,)), (2, tuple(sorted((first, second))))):
        assert least_needed(calibrated, file.config, file.tensors, n) == gone


@pytest.mark.parametrize("width", [8, 10])
def test_two_of_four_keeps_the_two_highest(width):
    scores = torch.randn(5, width, generator=generator(0, "scores"))
    kept = two_of_four(scores)
    fours = kept[:, :8].reshape(5, 2, 4)
    assert (fours.sum(2) == 2).all() and kept[:, 8:].all()
    values = scores[:, :8].reshape(5, 2, 4)
    highest = values.topk(2, dim=2).values.min(dim=2, keepdim=True).values
    assert fours.equal(values >= highest)


RECIPES = {
    "nothing": Compression(),
    "4 bits": Compression(quantization=Quantization(n_bits=4)),
    "3 bits, AWQ": Compression(
        quantization=Quantization(n_bits=3, granularity=Granularity.GROUP, group_size=8),
        rounding=Rounding.AWQ,
    ),
    "2 bits, GPTQ": Compression(
        quantization=Quantization(n_bits=2, symmetric=False), rounding=Rounding.GPTQ
    ),
    "masked": Compression(sparsity=0.6, criterion=Criterion.WANDA),
    "2:4 at 8 bits": Compression(
        sparsity=0.5, pattern=MaskPattern.TWO_FOUR, quantization=Quantization()
    ),
    "all": Compression(
        removed_heads=1,
        removed_units=0.5,
        removed_layers=(1,),
        criterion=Criterion.WANDA,
        quantization=Quantization(),
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_variant_is_a_file_that_opens_again(calibrated, name):
    variant = compress(calibrated, RECIPES[name])
    assert variant.config == compressed_config(calibrated.file.config, RECIPES[name])
    raw = variant.to_bytes(torch.float32)
    again = read_model_file(raw)
    assert again.config == variant.config and again.quantized.keys() == variant.quantized.keys()
    for each, tensor in variant.tensors.items():
        assert again.tensors[each].equal(tensor), each
    bits = sum(m.n_bytes for m in variant.quantized.values())
    assert bits < len(raw) and (name == "nothing") is (
        len(raw) >= len(calibrated.file.to_bytes(torch.float32))
    )


def test_a_rounded_file_stays_one_while_its_matrices_are_what_they_were(calibrated):
    raw = compress(calibrated, RECIPES["4 bits"]).to_bytes()
    again = read_model_file(raw)
    assert again.weight_bytes(None) == len(raw) - 8 - int.from_bytes(raw[:8], "little")
    same = compress(Calibrated(again), Compression())
    assert same.quantized.keys() == again.quantized.keys() and len(same.to_bytes()) == len(raw)
    masked = compress(Calibrated(again), Compression(sparsity=0.6))
    assert [*masked.quantized] == ["embed.weight"]  # what is looked up is not masked


def test_zeros_stay_zeros_when_they_are_rounded(calibrated):
    variant = compress(calibrated, RECIPES["2:4 at 8 bits"])
    for name in matrix_names(variant.config, variant.tensors):
        fours = variant.tensors[name].reshape(len(variant.tensors[name]), -1, 4)
        assert (fours.count_nonzero(dim=2) <= 2).all()


def test_what_is_exempt_is_not_rounded(calibrated):
    exempt = frozenset({"layers.0", "layers.1.attention.q_proj"})
    found = compress(calibrated, replace(RECIPES["4 bits"], exempt=exempt))
    whole = compress(calibrated, RECIPES["4 bits"])
    kept = whole.quantized.keys() - found.quantized.keys()
    there = {name for name in whole.quantized if name.startswith("layers.0.")}
    assert kept == {*there, "layers.1.attention.q_proj.weight"} and len(there) == 6
    for name in kept:
        assert found.tensors[name].equal(calibrated.file.tensors[name])
    config = calibrated.file.config
    assert {*rounded_names(config, exempt)} == {*found.quantized}
    assert {*roundable(config)} == {*whole.quantized}
    for absent in ("layers.3", "layers.0.attention.q", "layer"):
        with pytest.raises(ConfigError, match=f"or matrix named {absent} to round"):
            compressed_config(config, replace(RECIPES["4 bits"], exempt=frozenset({absent})))


@pytest.mark.parametrize(
    ("architecture", "ends"),
    [
        ("gpt", ("layers.0", "layers.2")),
        (
            "encoder-decoder",
            ("encoder.layers.0", "encoder.layers.2", "decoder.layers.0", "decoder.layers.2"),
        ),
    ],
)
def test_what_can_be_exempt_is_named_layer_by_layer(architecture, ends):
    config = config_of(architecture=architecture, n_mtp_modules=int(architecture == "gpt"))
    found = modules(config)
    assert found[0] == "embed" and first_and_last(config) == ends
    assert found.index(ends[0]) + 1 == found.index(f"{ends[0]}.attention.q_proj")
    assert ("mtp.0" in found) is (architecture == "gpt")
    assert not absent_from(config, found)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"sparsity": 1.0}, "sparsity"),
        ({"removed_units": -0.1}, "removed_units"),
        ({"removed_heads": -1}, "removed_heads"),
        ({"quantization": Quantization(n_bits=0)}, "n_bits"),
        ({"quantization": Quantization(n_bits=9)}, "n_bits"),
        ({"activations": ActivationRounding()}, "int8.act8"),
        ({"exempt": frozenset({"embed"})}, "int4.exempt-embed"),
        (
            {
                "quantization": Quantization(),
                "rounding": Rounding.GPTQ,
                "activations": ActivationRounding(is_smooth=True),
            },
            "round weights to nearest",
        ),
        ({"quantization": Quantization(group_size=0)}, "group_size"),
        (
            {"sparsity": 0.5, "quantization": Quantization(), "rounding": Rounding.GPTQ},
            "masked weights",
        ),
        (
            {"sparsity": 0.5, "quantization": Quantization(range_rule=RangeRule.HQQ)},
            "masked weights",
        ),
    ],
)
def test_a_recipe_that_cannot_be_names_its_mend(values, word):
    with pytest.raises(ConfigError, match=word):
        Compression(**values)


@pytest.mark.parametrize(
    ("found", "lie"),
    [
        (b'\\"input_grid\\": \\"static\\"', b'\\"input_grid\\": \\"none\\"  '),
        (b'\\"input_bits\\": 8', b'\\"input_bits\\": 0'),
        (b"q_proj.weight.input_reach", b"q_proj.weight.input_reech"),
        (b"layers.0.attention.q_proj.weight", b"embed.weight                    "),
    ],
)
def test_a_file_that_lies_about_what_is_read_is_refused(calibrated, found, lie):
    reads = ActivationRounding(grid=ActivationGrid.STATIC)
    raw = compress(
        calibrated, Compression(quantization=Quantization(), activations=reads)
    ).to_bytes()
    assert found in raw
    with pytest.raises(ConfigError):
        read_model_file(raw.replace(found, lie))


def test_a_file_that_lies_about_what_is_packed_is_refused(calibrated):
    raw = compress(calibrated, RECIPES["4 bits"]).to_bytes()
    length = int.from_bytes(raw[:8], "little")
    for found, lie in ((b'\\"n_bits\\": 4', b'\\"n_bits\\": 9'), (b"[16, 16]", b"[16, 61]")):
        assert found in raw[: 8 + length]
        with pytest.raises(ConfigError):
            read_model_file(raw[: 8 + length].replace(found, lie) + raw[8 + length :])
    some = load(raw)
    some.pop(next(name for name in some if name.endswith(".scale")))
    header = json.loads(raw[8 : 8 + length])["__metadata__"]
    with pytest.raises(ConfigError):
        read_model_file(save(some, metadata=header))


def test_what_is_drawn_does_not_depend_on_the_order_of_a_file(calibrated):
    file, how = calibrated.file, Compression(removed_units=0.5, criterion=Criterion.RANDOM)
    turned = dict(reversed(list(file.tensors.items())))
    other = Calibrated(replace(file, tensors=turned))
    first, second = (compress(each, how).tensors for each in (calibrated, other))
    assert all(first[name].equal(second[name]) for name in first)
