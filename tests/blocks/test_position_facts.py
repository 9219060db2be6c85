"""What the panels of positions are made from: each number against the tables it is read off."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from toy import draw, toy

from blocks.inspection.beyond_length import (
    HEAD_MEASURES,
    Refused,
    Spread,
    Tried,
    beyond_facts,
    loss_facts,
)
from blocks.inspection.position_claims import Claim, ClaimsFacts, Verdict, shift_facts
from blocks.inspection.position_facts import (
    SHOWN_COLUMNS,
    kind_facts,
    kind_fault,
    likeness_facts,
    n_pairs,
    pair_facts,
    pair_of,
    shown_columns,
    similarity,
    table_facts,
)
from blocks.inspection.position_tables import position_table
from blocks.model.faults import Fault
from blocks.model.kinds import PositionKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run

NONE, SINUSOIDAL, LEARNED, ROPE, ALIBI = (
    PositionKind(name) for name in ("none", "sinusoidal", "learned", "rope", "alibi")
)
RUN = Run(config=toy(), input=Input(seq_len=5), mask=MaskConfig())
CONFIG, N = RUN.config, 12
TABLE = draw(N, CONFIG.d_model, seed=3)


@pytest.mark.parametrize("kind", [SINUSOIDAL, LEARNED, ROPE, ALIBI])
def test_the_table_has_the_values_of_its_columns(kind: PositionKind):
    facts = table_facts(RUN, kind, N, TABLE, position=3, pair=1)
    whole = position_table(CONFIG, kind, N, query=3, learned=TABLE)
    assert np.array_equal(facts.values, whole.numpy()[:, list(facts.columns)])
    assert sorted(facts.columns) == list(range(facts.width)) and facts.n == N
    assert set(facts.chosen) == ({2, 3} if kind.is_added else {1})
    assert facts.most == {
        ALIBI: min(8.0, abs(facts.values).max()),
        LEARNED: abs(facts.values).max(),
    }.get(kind, 1.0)


def test_sines_stand_before_cosines():
    columns = table_facts(RUN, SINUSOIDAL, N, TABLE, position=0, pair=0).columns
    assert [column % 2 for column in columns] == sorted(column % 2 for column in columns)


@pytest.mark.parametrize("d_model", [6, 7])
def test_where_sines_come_first_pairs_are_the_same_in_other_columns(d_model: int):
    paper, marian = (
        replace(RUN, config=toy(d_model=d_model, n_heads=1, sines_first=is_first))
        for is_first in (False, True)
    )
    shown = [table_facts(run, SINUSOIDAL, N, TABLE, position=0, pair=1) for run in (paper, marian)]
    assert np.array_equal(shown[0].values, shown[1].values)
    assert shown[1].columns == tuple(range(d_model)) and shown[1].sines_first
    assert shown[1].chosen == (1, 1 + -(-d_model // 2)) and shown[0].chosen == (2, 3)
    for run, facts in zip((paper, marian), shown, strict=True):
        assert {pair_of(run.config, SINUSOIDAL, column) for column in facts.chosen} == {1}
    curves = [
        pair_facts(run, SINUSOIDAL, N, TABLE, position=0, pair=1).curves for run in (paper, marian)
    ]
    pd.testing.assert_frame_equal(*curves)


def test_of_very_many_columns_evenly_chosen_pairs_are_shown():
    columns = shown_columns(4096, in_pairs=True)
    assert len(columns) <= SHOWN_COLUMNS and columns[:3] == (0, 1, 32)
    assert shown_columns(7, in_pairs=True) == tuple(range(7))


def test_how_many_pairs_there_are():
    assert n_pairs(CONFIG, ALIBI) == CONFIG.n_heads and n_pairs(CONFIG, NONE) == 0
    assert n_pairs(CONFIG, LEARNED) == CONFIG.d_model // 2
    assert n_pairs(CONFIG, ROPE) == CONFIG.rotary_width // 2
    odd = toy(n_heads=16, d_model=16)
    assert kind_fault(odd, ROPE).mend and kind_fault(odd, ALIBI) is None


def test_a_kind_counts_what_turns_within_the_positions():
    waves = kind_facts(RUN, SINUSOIDAL, N, TABLE)
    assert waves.shortest == pytest.approx(2 * math.pi)
    assert (waves.n_within, waves.n_beyond) == (1, CONFIG.d_model // 2 - 1)
    heads = kind_facts(RUN, ALIBI, N, TABLE)
    assert heads.longest == heads.lengths["length"].max() and len(heads.lengths) == CONFIG.n_heads
    noise = kind_facts(RUN, LEARNED, N, TABLE)
    assert noise.rms == pytest.approx(TABLE.square().mean().sqrt().item())
    assert not noise.is_smooth and not noise.is_own_table
    slow = torch.sin(torch.linspace(0, 6.28, N))[:, None].repeat(1, 4)
    assert kind_facts(RUN, LEARNED, N, slow).is_smooth


def test_a_pair_turns_and_a_head_loses():
    wave = pair_facts(RUN, SINUSOIDAL, N, TABLE, position=3, pair=0)
    assert wave.here == pytest.approx((math.sin(3), math.cos(3)), rel=1e-5)
    assert wave.turns == pytest.approx(3 / (2 * math.pi))
    head = pair_facts(RUN, ALIBI, N, TABLE, position=3, pair=0)
    assert head.farthest == N - 4 and head.loss == pytest.approx(head.slope * (N - 4))
    assert -head.curves["first"].iloc[-1] == pytest.approx(head.loss)
    learned = pair_facts(RUN, LEARNED, N, TABLE, position=3, pair=1)
    assert learned.here == tuple(TABLE[3, 2:4].tolist())


def test_likeness_is_read_off_the_diagonals():
    waves = likeness_facts(RUN, SINUSOIDAL, N, TABLE)
    square = similarity(RUN, SINUSOIDAL, N, TABLE)
    assert waves.near == pytest.approx(square.diagonal(1).mean().item())
    assert waves.far == pytest.approx(square[0, -1].item()) and waves.is_of_distance_alone
    assert not likeness_facts(RUN, LEARNED, N, TABLE).is_of_distance_alone
    heads = likeness_facts(RUN, ALIBI, N, TABLE)
    assert heads.loss(0) == pytest.approx(heads.slopes[0] * (N - 1))
    rope = likeness_facts(RUN, ROPE, N, TABLE)
    assert rope.half_at is None or rope.table["mean"][rope.half_at] < 0.5
    assert (rope.table["least"] <= rope.table["mean"]).all()


def spread(seq_len: int, **measures: float) -> Spread:
    numbers = {name: np.array([0.0, measures.get(name, 0.5)]) for name in HEAD_MEASURES}
    return Spread(seq_len, seq_len, np.full((2, seq_len), 1 / seq_len), **numbers)


def test_what_is_longer_than_trained_is_read_by_head():
    fault = Fault("no room")
    tried = [
        Tried(NONE, 1, spread(8)),
        Tried(ROPE, 1, spread(8, entropy_share=0.9)),
        Tried(ROPE, 2, spread(16, entropy_share=0.8)),
        Tried(ALIBI, 2, spread(16, entropy_share=0.2)),
        Tried(LEARNED, 2, fault),
        Tried(LEARNED, 4, fault),
    ]
    facts = beyond_facts(tried, ROPE, 1, trained_len=8, is_trained=False)
    assert facts.shown["entropy_share"].to_list() == [0.9, 0.8]
    assert facts.longest["kind"].to_list() == [ALIBI, ROPE]
    assert [(factor, n) for factor, n, _bands in facts.bands] == [(1, 8), (2, 16)]
    assert facts.refused == (Refused(LEARNED, (16, 32), fault),) and facts.n_kinds == 1


@pytest.mark.parametrize(
    ("last", "worse", "better"), [(3, True, False), (1, False, True), (2, 0, 0)]
)
def test_the_loss_beyond_is_compared_with_that_within(last: float, worse: bool, better: bool):
    bits = np.array([[2.0] * 8 + [last] * 8, [4.0] * 16, [1.0] * 16])
    facts = loss_facts(bits, ROPE, seed=0, trained_len=8, n=16, n_examples=1)
    assert (facts.inside, facts.last, facts.wanted) == (2, last, 32)
    assert facts.is_worse == worse and facts.is_better == better
    within = loss_facts(bits[:, :8], ROPE, seed=0, trained_len=8, n=8, n_examples=1)
    assert within.last is None and not within.is_worse


def verdict(claim: Claim, measured: float | None, extra: float = 0.0) -> Verdict:
    return Verdict(claim, measured, 1e-4, extra=extra)


def test_the_claims_together_tell_what_is_relative():
    relative = (verdict(Claim.DISTANCE, 0.0), verdict(Claim.PERMUTATION, 0.5, 0.6))
    nothing = (verdict(Claim.DISTANCE, 0.0), verdict(Claim.PERMUTATION, 1e-6, 0.4))
    short = (verdict(Claim.DISTANCE, 0.3), verdict(Claim.PERMUTATION, None))
    found = {NONE: nothing, LEARNED: short, ROPE: relative, SINUSOIDAL: ()}
    facts = ClaimsFacts(8, 2, "a", found)
    assert facts.relative == (ROPE,) and facts.mask_tells_order
    expected = pd.DataFrame({"kind": [NONE, ROPE], "free": [1e-6, 0.5], "causal": [0.4, 0.6]})
    assert facts.permuted.equals(expected)
    assert facts.of(SINUSOIDAL, Claim.UNIQUE) is None


def test_the_matrix_that_moves_positions_on():
    assert shift_facts(CONFIG, ALIBI, TABLE, 2) is None
    assert shift_facts(CONFIG, LEARNED, TABLE[:5], 2) is None
    fitted, turned = (shift_facts(CONFIG, kind, TABLE, 2) for kind in (LEARNED, SINUSOIDAL))
    assert fitted.is_fitted and not turned.is_fitted
    assert turned.largest <= 1 and turned.n_features == CONFIG.d_model
