"""The links of the staircase set what was trained."""

import pytest

from blocks.inspection.staircase import Stair
from blocks.training.staircase import SERIES, stairs
from pages.panels.training import staircase
from pages.panels.training.wanted import wanted
from pages.stage import link
from pages.state.values import State


@pytest.mark.usefixtures("session")
def test_a_link_of_the_staircase_sets_what_was_trained():
    for name, config in stairs().items():
        query = staircase.query_of(Stair(name, config, 0, ()))
        values, faults = link.read(query)
        assert not faults
        spec = wanted(State(values)).spec
        assert spec is not None and spec.config == config
        evaluated = {"eval_every": 0, "n_eval_batches": 8, "dtype": spec.recipe.dtype}
        assert spec.recipe == SERIES.recipe.replace(**evaluated)
