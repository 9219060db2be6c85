"""What tokens take from each other: parts that make the stream, known shares, known routes."""

from typing import Any

import numpy as np
import pytest
import torch
from toy import SEQ_LEN, assert_near, draw, scramble, toy, toy_input

from blocks import build, record
from blocks.inspection.contribution_graph import (
    ContributionGraph,
    Parts,
    contribution_graph,
    linear,
)
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.masks import causal, everyone
from blocks.model.normalization import build_norm
from blocks.model.probe import Probe
from blocks.observe.interventions import Intervention, Part, replacements

TOKENS = torch.tensor([[3, 1, 4, 1, 5]])
WITHOUT_SHIFT = {"attention_bias": False, "out_bias": False, "norm_kind": "rmsnorm"}
CONFIGS = {
    "pre": {"norm_placement": "pre"},
    "post": {"norm_placement": "post"},
    "sandwich": {"norm_placement": "sandwich"},
    "parallel": {"norm_placement": "parallel"},
    "parallel, two norms": {"norm_placement": "parallel", "parallel_norms": 2},
    "no residual": {"residual": False},
    "post, no residual": {"residual": False, "norm_placement": "post"},
    "attention only": {"attention_only": True},
    "grouped queries": {"n_kv_heads": 2},
    "one key head": {"n_kv_heads": 1},
    "wide heads": {"d_head": 8, "qk_norm": True, "qk_norm_scale": True},
    "rope": {"position_kind": "rope"},
    "alibi": {"position_kind": "alibi"},
    "experts": {"n_experts": 4},
    "gate": {"attention_gate": "elementwise"},
    "multipliers": {"residual_multiplier": 0.3, "attention_multiplier": 0.2},
    "gated heads and a sink": {"attention_gate": "head", "attention_sink": True},
}


def whole(architecture: str = "gpt", **changes: Any) -> tuple:
    """A toy with every weight drawn, its configuration and its recording."""
    config = toy(architecture=architecture, n_layers=2, vocab_size=8, **changes)
    model = scramble(build(config))
    mask = everyone(SEQ_LEN, "cpu") if architecture == "encoder" else causal(SEQ_LEN)
    x = TOKENS if config.architecture.reads_tokens else toy_input()
    return model, config, record(model, x, mask=mask)


def graph(*found) -> ContributionGraph:
    model, config, seen = found
    return contribution_graph(seen, model, config)


def split(layer: int, *found) -> tuple[torch.Tensor, torch.Tensor]:
    """The parts of all queries of a layer, and the stream."""
    model, config, seen = found
    with torch.no_grad():
        found = [*Parts(seen, model.layers[layer], config, layer, {})]
    parts, streams = zip(*found, strict=True)
    return torch.cat(parts), torch.cat(streams)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS.keys())
def test_sources_and_own_are_the_stream_where_nothing_is_shifted(changes: dict, layer: int):
    parts, stream = split(layer, *whole(**{**WITHOUT_SHIFT, **changes}))
    assert_near(parts[:, :-1].sum(1), stream)


@pytest.mark.parametrize("norm_kind", NormKind)
@pytest.mark.parametrize("placement", NormPlacement)
def test_what_comes_from_no_token_is_the_bias_as_the_norm_lets_it_through(norm_kind, placement):
    found = whole(norm_kind=norm_kind, norm_placement=placement)
    model, _config, seen = found
    layer, bias = model.layers[0], model.layers[0].attention.out_proj.bias.detach()
    if norm_kind is not NormKind.NONE and placement is NormPlacement.POST:
        bias = moved_by(layer.attention_residual.norm, seen.tensor("attention_sum")[0], bias)
    elif norm_kind is not NormKind.NONE and placement in ("sandwich", "res_post"):
        bias = moved_by(layer.attention_residual.out_norm, seen.tensor("attention_out")[0], bias)
    parts, stream = split(0, *found)
    assert_near(parts[:, :-1].sum(1) + bias, stream)


def moved_by(norm, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """What a norm makes of the bias in what it reads, and its own shift."""
    return linear(norm, x)(bias) + norm(x) - linear(norm, x)(x)


@pytest.mark.parametrize("kind", [kind for kind in NormKind if kind is not NormKind.NONE])
def test_a_norm_is_linear_in_the_parts_of_what_it_reads(kind: NormKind):
    norm = scramble(build_norm(toy(norm_kind=kind), Probe("out")).to_empty(device="cpu"))
    for running in ("running_mean", "running_var"):
        if hasattr(norm, running):
            getattr(norm, running).copy_(draw(16, seed=3).abs())
    one, other = draw(5, 16, seed=1), draw(5, 16, seed=2)
    through = linear(norm, one + other)
    shift = (norm(one + other) - through(one + other))[:1]  # the same for every token
    assert_near(through(one) + through(other) + shift, norm(one + other))


@pytest.mark.parametrize("architecture", ["block", "encoder", "gpt"])
def test_all_shares_of_a_token_are_one(architecture: str):
    found = graph(*whole(architecture))
    total = found.sources.sum(-1) + found.own + found.elsewhere
    assert total == pytest.approx(np.ones_like(total))
    sees_ahead = np.triu(found.sources, 1).any()
    assert sees_ahead == (architecture == "encoder")


def test_a_share_is_how_near_a_part_comes():
    """Attention that copies the only value: with v·W_O = x both halves are alike."""
    config = toy(n_layers=1, n_heads=1, norm_kind="none", position_kind="none")
    model = build(config)
    with torch.no_grad():
        for name in ("v_proj", "out_proj"):
            projection = getattr(model.layers[0].attention, name)
            projection.weight.copy_(torch.eye(16))
            projection.bias.zero_()
    mask = causal(1)
    found = contribution_graph(record(model, draw(1, 1, 16), mask=mask), model, config)
    assert found.sources[0, 0, 0] == pytest.approx(0.5)
    assert found.own[0, 0] == pytest.approx(0.5)


def test_what_is_changed_inside_comes_from_no_token():
    model, config, _seen = whole(**WITHOUT_SHIFT)
    off = replacements([Intervention(part=Part.ATTENTION, layer=0)])
    seen = record(model, TOKENS, replace=off)
    found = contribution_graph(seen, model, config, replace=off)
    assert not found.sources[0].any()
    assert found.own[0] == pytest.approx(np.ones(SEQ_LEN))
    assert found.sources[1].any()


def test_a_head_that_is_patched_hands_on_what_comes_from_no_token():
    model, config, _seen = whole(**WITHOUT_SHIFT)
    path = Intervention(part=Part.HEAD, layer=0, head=1).path
    patch = {path: lambda x: torch.cat((x[:, :1], x[:, 1:2] + 1, x[:, 2:]), dim=1)}
    seen = record(model, TOKENS, replace=patch)
    found = contribution_graph(seen, model, config, replace=patch)
    assert found.elsewhere[0].min() > 0.01
    assert found.sources[0].any()


def test_a_stream_of_zeros_has_no_shares():
    without = {**WITHOUT_SHIFT, "norm_kind": "none", "position_kind": "none"}
    config = toy(n_layers=1, **without)
    model = build(config)
    mask = causal(2)
    found = contribution_graph(record(model, torch.zeros(1, 2, 16), mask=mask), model, config)
    assert (found.sources.sum(), found.own.sum(), found.elsewhere.sum()) == (0, 0, 0)
    assert found.carried(0.04) == 0


def test_a_few_queries_at_a_time_are_as_all_at_once(monkeypatch: pytest.MonkeyPatch):
    found = whole()
    at_once = graph(*found)
    monkeypatch.setattr("blocks.inspection.contribution_graph.AT_ONCE", 1)
    assert graph(*found).sources == pytest.approx(at_once.sources)


def by_hand() -> ContributionGraph:
    """Two layers, two tokens: the second takes 0.3 and then 0.2 from the first."""
    sources = np.zeros((2, 2, 2))
    sources[:, 1, 0] = 0.3, 0.2
    sources[:, 1, 1] = 0.1
    own, elsewhere = np.array([[0.9, 0.5], [1.0, 0.7]]), np.array([[0.1, 0.1], [0, 0]])
    return ContributionGraph(sources, own, elsewhere)


def test_routes_multiply_along_the_way():
    found = by_hand()
    assert found.routes(1)[2] == pytest.approx([0, 1])
    assert found.routes(1)[1] == pytest.approx([0.2, 0.8])
    assert found.routes(1)[0] == pytest.approx([0.2 * 0.9 + 0.8 * 0.3, 0.8 * 0.6])
    assert found.routed(1)[:, 1, 0] == pytest.approx([0.8 * 0.3, 0.2])
    assert found.gathered()[:, 1] == pytest.approx([0, 0.3, 0.2 * 0.9 + 0.8 * 0.3])
    assert found.gathered()[:, 0] == pytest.approx([0, 0, 0])


def test_what_is_carried_and_the_table():
    found = by_hand()
    assert found.carried(0.25) == pytest.approx(0.3 / 0.5)
    assert found.carried(0.01) == pytest.approx(1)
    table = found.frame()
    assert table.groupby(["layer", "token"])["share"].sum().tolist() == pytest.approx([1] * 4)
    assert set(table["kind"]) == {"source", "own", "elsewhere"}
    assert set(table[table["kind"] == "elsewhere"]["source"]) == {-1}
