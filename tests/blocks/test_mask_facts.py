"""What the panels of masks are made from: each count against the cells it is read off."""

import numpy as np
import pytest
import torch
from toy import toy

from blocks.inspection.leaks import LeakFacts, LeakTest, forbidden, gradients, moved
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import (
    BlindFacts,
    StepFacts,
    blind_query,
    cross,
    layer_steps,
    n_open_by_kind,
    open_cells,
)
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run

N = 5
RUN = Run(
    config=toy(n_layers=2), input=Input(seq_len=N), mask=MaskConfig(mask_kind=MaskKind.CAUSAL)
)
MODEL = RUN.build()


def leak_facts(fault: MaskFault, tokens: tuple[int, ...], outputs: tuple[int, ...]) -> LeakFacts:
    test = LeakTest(run=RUN, fault=fault)
    gradient = gradients(test, MODEL, outputs, together=True) if outputs else None
    return LeakFacts(
        test=test,
        forbidden=forbidden(RUN),
        n_closed=int((~open_cells(RUN)).sum()),
        tokens=tokens,
        outputs=outputs,
        moved=moved(test, MODEL, tokens, together=True).T,
        gradient=gradient,
        mixing=0.0,
    )


EVERY = tuple(range(N))


def test_a_clean_model_has_all_its_forbidden_cells_tested():
    facts = leak_facts(MaskFault.NONE, EVERY, EVERY)
    assert facts.is_clean and facts.is_whole and facts.leak is None
    assert facts.n_forbidden == facts.n_closed == N * (N - 1) // 2 == facts.by_change.n_forbidden
    assert facts.n_allowed == facts.n_moving == N * (N + 1) // 2
    assert facts.most_moved == facts.moved.max()
    assert len(facts.table) == N * N and facts.table["gradient"].notna().all()
    assert (facts.table["moved"][facts.table["is_forbidden"]] == 0).all()


def test_of_some_tokens_fewer_cells_are_tested():
    facts = leak_facts(MaskFault.NONE, (0, N - 1), (1,))
    assert facts.by_change.n_forbidden == N - 1 < facts.n_forbidden
    assert facts.by_gradient.n_forbidden == N - 2 and not facts.is_whole
    assert len(facts.table) == 2 * N and facts.table["gradient"].notna().sum() == 2
    begun = leak_facts(MaskFault.NONE, (0, N - 1), ())
    assert begun.by_gradient is None and "gradient" not in begun.table


def test_a_leak_is_found_by_the_change_first():
    facts = leak_facts(MaskFault.OFF_BY_ONE, EVERY, EVERY)
    assert facts.is_clean is False and facts.leak is facts.by_change
    assert facts.by_gradient.n_leaking > 0


def test_what_is_not_a_number_is_neither_clean_nor_a_leak():
    clean = leak_facts(MaskFault.NONE, EVERY, ())
    cells = np.where(clean.forbidden, np.nan, 1.0)
    facts = LeakFacts(clean.test, clean.forbidden, 0, EVERY, (), cells, None, 0.0)
    assert facts.is_clean is None and facts.n_unknown == clean.n_forbidden


def step_facts(query: int = 2) -> StepFacts:
    scores, pattern = layer_steps(RUN, MODEL, 0).head(1)
    return StepFacts(RUN.input.labels, 0, 1, query, open_cells(RUN), scores, pattern)


def test_what_forbidden_keys_would_take_is_read_off_the_softmax():
    facts = step_facts()
    weights = torch.from_numpy(facts.scores).double().softmax(dim=-1)
    taken = (weights * ~torch.from_numpy(facts.is_open)).sum(dim=-1).numpy()
    assert np.allclose(facts.taken, taken, rtol=1e-6, atol=0) and facts.taken[-1] == 0
    assert facts.worst_query == taken.argmax()
    assert facts.mean_taken == pytest.approx(taken.mean())
    assert facts.n_open == 3 and facts.best_key == facts.pattern[2].argmax()
    assert facts.row_sums == pytest.approx((1, 1)) and facts.forbidden_share == 0


def test_a_query_without_a_key_is_found_or_supposed():
    cells = np.tri(4, dtype=bool)
    assert blind_query(cells, 2) == (2, False)
    cells[[0, 1]] = False
    assert blind_query(cells, 3) == (0, True) and blind_query(cells, 1) == (1, True)


def test_a_row_by_each_treatment():
    weights = layer_steps(RUN, MODEL, 0).without_a_key(1, 2)
    facts = BlindFacts(RUN.input.labels, 0, 1, 2, False, RUN.dtype, weights, 5)
    assert facts.is_even and not facts.overflows
    assert facts.mean_weight == pytest.approx(1 / N)


def test_keys_of_another_sequence_are_counted():
    found = cross(4, 8, 3, 2, seed=0)
    assert (found.n_queries, found.n_keys, found.n_tokens, found.n_padding) == (4, 5, 3, 2)


def test_every_kind_has_its_count():
    counts = n_open_by_kind(RUN)
    assert counts[MaskKind.NONE] == N * N and counts[MaskKind.CAUSAL] == N * (N + 1) // 2
