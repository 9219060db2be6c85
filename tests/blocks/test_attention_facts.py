"""Facts of the heads of a run, beside what the recording says."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
import torch
from toy import assert_near, scramble, toy

from blocks.cost.attention_time import GrowthFacts, Measured
from blocks.inspection import contribution, head_steps, other_attention, scaling, sharing
from blocks.inspection.contribution import ContributionFacts, SinkFacts
from blocks.inspection.contribution_graph import GraphFacts, contribution_graph
from blocks.inspection.head_facts import (
    AllHeads,
    HeadFacts,
    Window,
    on_sinks,
    sharpest,
    steps_taken,
    telling,
    window,
)
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.recording import Recording
from blocks.observe.run import Input, Run

CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)
WORDS = ("a", "b", "c", "d", "e")


def ran(layer: int = 1, **changes) -> tuple[Run, Recording, head_steps.AttentionSteps]:
    """A run, its recording, and one of its layers taken apart."""
    config = toy(n_layers=2, **changes)
    run = Run(config=config, input=Input(tokens=WORDS), mask=CAUSAL, seed=3)
    model = scramble(run.build())
    seen = run.record(model)
    steps = head_steps.attention_steps(seen, model, config, layer, run.build_mask())
    return run, seen, steps


def one_head(query: int = 3, **cell) -> tuple[HeadFacts, torch.Tensor]:
    """One head, and its recorded weights."""
    run, seen, steps = ran(position_kind="alibi", n_kv_heads=2)
    facts = HeadFacts(run, 1, 2, query, head_steps.head_steps(steps, 2), **cell)
    return facts, seen.pattern(1)[0, 2]


def test_only_alibi_adds_a_bias():
    assert "bias" in steps_taken(toy(position_kind="alibi"))
    seven = ("qkv", "scores", "scaled", "mask", "softmax", "mix", "write")
    assert steps_taken(toy()) == ("project", *seven, "heads")
    assert steps_taken(toy(n_heads=1)) == ("project", *seven)


def test_all_heads_together_write_what_each_writes_alone():
    _run, seen, layer = ran(layer=0)
    heads = [head_steps.head_steps(layer, head) for head in range(4)]
    written = seen.tensor("attention_out", 0)[0] - layer.out_bias
    assert_near(torch.as_tensor(heads[1].around.together).float(), written)
    alone = [steps.written[3, 9] for steps in heads]
    assert heads[0].shares(3, 9) == pytest.approx(np.array(alone), rel=1e-4)


def test_queries_begin_as_what_is_read_times_their_weight():
    _run, _seen, layer = ran(layer=0, position_kind="learned")
    steps = head_steps.head_steps(layer, 1)
    assert_near(torch.as_tensor(steps.around.projected).float(), layer.q[1])
    product = steps.around.x @ steps.around.q_weight
    assert_near(torch.as_tensor(product).float() + layer.q_bias[1], layer.q[1])


def test_a_window_lies_around_a_token():
    assert window(100, 50, 32) == Window(34, 66, 100)
    assert window(100, 99, 32) == Window(68, 100, 100)
    whole = window(5, 4, 32)
    assert whole == Window(0, 5, 5) and whole.is_whole and whole.inside(4) == 4
    assert window(100, 50, 32).inside(66) is None and window(100, 50, 32).inside(34) == 0


def test_where_a_query_reads():
    facts, pattern = one_head()
    row = pattern[3]
    assert_near(facts.weights, row)
    (key, weight), *others = facts.most_read()
    assert key == row.argmax() and weight == pytest.approx(row.max().item())
    assert len(others) <= 2 and all(share > 0.05 for _key, share in others)
    assert facts.n_masked == 1 and not facts.is_blind and facts.most_masked == (0, 4)
    assert facts.weight_sum == pytest.approx(1) and facts.total == pytest.approx(5)
    assert facts.most_received == pattern.sum(0).argmax()
    assert facts.held(Window(0, 2, 5)) == pytest.approx(row[:2].sum().item())
    assert facts.kv_head == 1


def test_a_step_reaches_from_its_least_to_its_largest_number():
    facts, pattern = one_head()
    assert facts.reach("pattern") == pytest.approx((pattern[3, :4].min(), pattern[3, :4].max()))
    assert facts.reach("biased") != facts.reach("scaled")
    assert facts.length("written") == pytest.approx(np.linalg.norm(facts.steps.written[3]))


def test_a_cell_is_written_out():
    facts, pattern = one_head(key=1, feature=9)
    cell = facts.cell
    assert cell.score.total == pytest.approx(cell.raw)
    assert cell.scaled == pytest.approx(cell.raw / 2)
    assert cell.biased == pytest.approx(cell.scaled - cell.slope * cell.distance)
    assert cell.softmax.weight == pytest.approx(pattern[3, 1].item())
    assert facts.column("mix") == 3 and facts.column("write") == 9
    assert cell.mixed.total == pytest.approx(facts.steps.mixed[3, 3])
    assert cell.written.total == pytest.approx(facts.steps.written[3, 9])
    assert one_head(key=4)[0].cell.softmax is None


def rows_of(patterns: list[torch.Tensor], query: int) -> list[torch.Tensor]:
    return [pattern[:, :, query : query + 1] for pattern in patterns]


def test_the_sharpest_head_reads_another_token():
    run, seen, _steps = ran()
    patterns = [seen.pattern(layer) for layer in range(run.config.n_layers)]
    others = torch.stack(patterns)[:, 0, :, -1, :-1]
    found = sharpest(rows_of(patterns, 4), 4)
    assert found.weight == pytest.approx(others.max().item())
    assert others[found.layer, found.head, found.key] == others.max()


def resting() -> list[torch.Tensor]:
    """Two layers of two heads that rest on the first token, but for one that reads the third."""
    patterns = torch.zeros(2, 1, 2, 5, 5)
    patterns[..., 0] = 1
    patterns[1, 0, 1, 4] = torch.tensor([0.2, 0, 0.7, 0, 0.1])
    return [*patterns]


def test_the_sharpest_head_looks_past_what_is_set_apart():
    last, earlier = rows_of(resting(), 4), rows_of(resting(), 2)
    assert sharpest(last, 4)[2:] == (0, 1.0, False)
    assert sharpest(last, 4, (0,)) == (1, 1, 2, pytest.approx(0.7), True)
    assert sharpest(earlier, 2, (0,)) == (0, 0, 0, 1.0, False)  # which reads nothing else
    assert sharpest(last, 4, (0, 2)).key == 0


def test_the_share_that_rests_on_sinks_is_counted_over_all_queries():
    shares = on_sinks(torch.stack(resting())[1][0].sum(1), (0,))
    assert shares.tolist() == pytest.approx([1, (4 + 0.2) / 5])


def test_heads_that_rest_on_sinks_are_not_the_sharpest():
    shares = {"on_sinks": [0.9, 0.51, 0.5, 0.1]}
    table = pd.DataFrame({"entropy_bits": [0.0, 0.1, 2.0, 0.5], **shares, "head": range(4)})
    facts = AllHeads(table[:3], "layer", (0, 0))
    assert [end["head"] for end in facts.ends] == [2, 2] and facts.n_resting == 2
    facts = AllHeads(table[1:], "layer", (0, 0))
    assert [end["head"] for end in facts.ends] == [3, 2] and facts.n_resting == 1
    for everyone in (table[:2], table.drop(columns="on_sinks")):
        facts = AllHeads(everyone, "layer", (0, 0))
        assert facts.ends[0]["head"] == 0 and facts.n_resting == 0


def test_all_heads_in_an_order():
    run, seen, _steps = ran()
    table = pd.concat([seen.heads(run.build_mask(), i, WORDS) for i in range(2)], ignore_index=True)
    assert AllHeads(table, "layer", (0, 0)).first(3).equals(table.head(3))
    sharp_first = AllHeads(table, "entropy_bits", (0, 0))
    bits = sharp_first.first(8)["entropy_bits"]
    assert bits.is_monotonic_increasing
    assert [end["entropy_bits"] for end in sharp_first.ends] == [bits.iloc[0], bits.iloc[-1]]
    assert AllHeads(table, "first_token", (0, 0)).first(8)["first_token"].is_monotonic_decreasing
    shares = sharp_first.shares(table, ["entropy_bits", "first_token"])
    assert shares.max(0)[0] == 1 and shares[:, 1] == pytest.approx(table["first_token"])


def test_named_heads_are_counted():
    table = pd.DataFrame({"badge": ["", "induction", "first_token", "induction"]})
    assert AllHeads(table, "layer", (0, 0)).n_named == {"induction": 2, "first_token": 1}


def test_the_division_by_the_root_of_the_width():
    run, _seen, steps = ran(position_kind="alibi")
    one = HeadFacts(run, 1, 0, 4, head_steps.head_steps(steps, 0))
    both = [scaling.sharpness_of(steps, 0, is_scaled=way) for way in (True, False)]
    random = scaling.random_sharpness(steps.mask, seed=0, d_heads=(1, 4))
    facts = scaling.ScalingFacts(one, *both, random, is_scaled=True)
    of_scores = scaling.sharpness(steps.scores[0], steps.mask)
    assert astuple(both[0]) == pytest.approx(astuple(of_scores), rel=1e-5)
    assert facts.both["is_scaled"].tolist() == [True, False]
    assert_near(facts.weights(True), steps.pattern[0, 4])
    undivided = 2 * (steps.scores[0, 4] - steps.bias[0, 4]) + steps.bias[0, 4]
    assert_near(facts.weights(False), undivided.softmax(-1))
    assert facts.random_spread(False, 4) == pytest.approx(2 * facts.random_spread(True, 4))


def test_what_keys_add():
    run, _seen, steps = ran()
    parts = contribution.contribution(steps, query=3, head=1)
    facts = ContributionFacts(run, 1, 1, 3, parts)
    assert facts.n_seen == 4 and facts.head_share == pytest.approx(parts.keys["share"].sum())
    assert facts.weight(facts.heaviest) == parts.keys["weight"].max()
    norms = parts.keys["norm"]
    assert facts.norm_share(facts.longest) == pytest.approx(norms.max() / norms.sum())
    assert facts.largest(99).index.tolist() == [0, 1, 2, 3]
    sizes = parts.keys[["weight", "share"]].abs().max(axis=1)[:4]
    assert facts.largest(2).index.tolist() == sorted(sizes.nlargest(2).index)


def test_heads_that_rest_on_the_first_token():
    table = pd.DataFrame({"weight": [0.4, 0.9, 0.5], "is_sink": [True, False, True]})
    facts = SinkFacts(table, (0, 0))
    assert facts.sinks.index.tolist() == [2, 0] and facts.closest.index.tolist() == [1]


def test_the_way_to_a_token():
    run, seen, _steps = ran()
    graph = contribution_graph(seen, scramble(run.build()), run.config)
    facts = GraphFacts(run, graph, token=4, least=0.05)
    origin = graph.routes(4)[0]
    assert facts.own == pytest.approx(origin[4])
    assert [share for _i, share in facts.comes_from(5)] == sorted(origin, reverse=True)
    assert facts.sources == [(i, s) for i, s in facts.comes_from(5) if i != 4][:2]
    assert facts.busiest_layer == graph.wires[:, 4].sum(-1).argmax()
    wires = graph.wires[graph.wires >= 0.05]
    assert facts.n_wires == len(wires) and facts.carried == graph.carried(0.05)
    first, *others = facts.widest(3)
    assert first.share == graph.wires.max() and all(each.share >= 0.05 for each in others)
    assert facts.table()["source_label"].isin([*WORDS, ""]).all()
    assert GraphFacts(run, graph, token=0).sources == []


def test_keys_and_values_that_are_shared():
    run, seen, _steps = ran()
    assert sharing.kv_head_counts(run.config) == (4, 2, 1)
    assert sharing.kv_head_counts(toy(n_kv_heads=1)) == (1,)
    rows = tuple(
        sharing.shared_by(run, n, sharing.likeness([seen.pattern(0)], n), moved=0.5)
        for n in (4, 2, 1)
    )
    assert [row.cache_bytes for row in rows] == [
        4 * rows[2].cache_bytes,
        2 * rows[2].cache_bytes,
        rows[2].cache_bytes,
    ]
    assert rows[0].kv_parameters == 4 * rows[2].kv_parameters
    assert rows[0].full_cache_bytes == 8 * rows[0].cache_bytes
    assert sharing.SharingFacts(rows, is_logits=False).grouped == rows[1]
    assert sharing.SharingFacts(rows[::2], is_logits=False).grouped is None


def test_other_ways_to_attend():
    _run, _seen, steps = ran()
    facts = other_attention.kinds_facts(steps, 1, 0, Reach(window=2, stride=2))
    assert facts.error(AttentionKind.FUSED) < 1e-5
    errors = {kind: facts.error(kind) for kind in other_attention.APPROXIMATE}
    assert errors[facts.nearest] == min(errors.values())
    assert errors[facts.furthest] == max(errors.values())
    assert facts.pair_share(AttentionKind.WINDOW) < facts.pair_share(AttentionKind.FULL) == 1


def test_how_costs_grow():
    measured = [
        Measured(kind, n, milliseconds=n * (i + 1), peak_bytes=n**2)
        for i, kind in enumerate(AttentionKind)
        for n in (128, 256)
    ]
    facts = GrowthFacts(tuple(measured))
    assert facts.exponents("milliseconds") == {kind: pytest.approx(1) for kind in AttentionKind}
    assert facts.exponents("peak_bytes")["full"] == pytest.approx(2)
    assert [each.kind for each in facts.longest] == list(AttentionKind)
    assert facts.times_slower == len(AttentionKind) and facts.memory == (256**2, 256**2)


def test_a_telling_head_reads_far_back():
    patterns = torch.zeros(2, 1, 2, 6, 6)
    patterns[0, 0, 0, 5] = torch.tensor([0, 0, 0, 0, 1.0, 0])  # the token before
    patterns[0, 0, 1, 5] = torch.tensor([1.0, 0, 0, 0, 0, 0])  # the first token
    patterns[1, 0, 1, 5] = torch.tensor([0.3, 0, 0, 0.7, 0, 0])
    of = [[pattern[:, :, query, None] for pattern in patterns] for query in range(6)]
    assert telling(of[5], 5) == (1, 1) and telling(of[5], 5, apart=(3,)) == (0, 0)
    assert telling(of[2], 2) == (0, 0) and telling(of[0], 0) == (0, 0)
