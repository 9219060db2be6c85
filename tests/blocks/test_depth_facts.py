"""What several stacks say together: medians over seeds, slopes, and numbers that overflow."""

import numpy as np
import pandas as pd
import pytest
from toy import toy

from blocks.inspection.depth import MEASURES, DepthPass
from blocks.inspection.depth_facts import (
    Overflow,
    Slope,
    WayBack,
    depth_facts,
    depths_below,
    own_facts,
    slope,
    theory_facts,
)
from blocks.inspection.stack import MOST_SEQUENCES, Stack
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run

RUN = Run(config=toy(n_layers=2), input=Input(seq_len=5, batch=6), mask=MaskConfig())


def stack(placement: str = "pre", n_layers: int = 3, seed: int = 0, run: Run = RUN) -> Stack:
    return Stack(run, placement, n_layers, run.config.d_model, "xavier_uniform", seed)


def depth_pass(value: float, n_layers: int = 3, **columns) -> DepthPass:
    """A pass in which every measure is the same, but for some columns; nothing enters layer 0."""
    layers = pd.DataFrame({name: [value] * (n_layers + 1) for name in MEASURES})
    layers.loc[0, "parameter_gradient"] = np.nan
    layers = layers.assign(layer=range(n_layers + 1), **columns)
    return DepthPass(layers, loss=value, last_write_gradient=value, even_bits=2.0)


def test_a_curve_is_the_median_over_the_seeds_from_least_to_most():
    stacks = [stack(seed=seed) for seed in range(3)]
    facts = depth_facts(stacks, [depth_pass(x) for x in (1.0, 5.0, 2.0)], n_wanted=4)
    curve = facts.curves.of("pre", "stream_norm")
    assert curve[["median", "least", "most"]].iloc[-1].to_list() == [2, 1, 5]
    assert (facts.curves.n_layers, facts.loss, facts.seeds) == (3, 1.0, (0, 1, 2))
    assert facts.ways_back == (WayBack("pre", 2.0, 2.0),) and facts.own == "pre"
    assert facts.similarity == {"pre": 2.0} and facts.alike == ("pre",)


def test_where_one_seed_is_no_number_the_curve_has_none():
    broken = depth_pass(1.0, stream_norm=[1, 1, np.inf, np.nan])
    gradients = depth_pass(1.0, parameter_gradient=[np.nan, np.inf, 1, 1], similarity=np.nan)
    stacks = [stack(), stack(seed=1), stack("post")]
    facts = depth_facts(stacks, [depth_pass(1.0), broken, gradients], n_wanted=3)
    norms = facts.curves.of("pre", "stream_norm")["median"]
    assert norms.isna().to_list() == [False, False, True, True]
    assert facts.overflows == (Overflow("pre", 2), Overflow("post", None))
    assert [way.placement for way in facts.ways_back] == ["pre"]
    assert list(facts.similarity) == ["pre"]


def test_one_token_alone_is_like_no_other():
    alone = depth_pass(1.0, similarity=np.nan)
    assert depth_facts([stack()], [alone], n_wanted=1).similarity_in is None


def test_a_power_law_has_its_slope_and_needs_three_depths():
    depths = np.array([1, 2, 4, 8, 16])
    table = pd.DataFrame({"n_layers": depths, "median": 3 * depths**-0.5})
    assert slope(table) == pytest.approx(-0.5)
    assert np.isnan(slope(table.head(3)))


def test_theory_is_compared_once_all_stacks_are_measured():
    wanted = [stack(name, n) for n in (1, 2, 4, 8) for name in ("pre", "post")]
    passes = [depth_pass(s.n_layers**-0.5 if s.placement == "pre" else 2.0) for s in wanted]
    facts = theory_facts(wanted, passes, n_wanted=len(wanted))
    assert [each.placement for each in facts.slopes] == ["post", "pre"]
    assert all(each.agrees for each in facts.slopes) and not Slope("pre", 0.0, -0.5).agrees
    assert facts.trends[0].gradient == pytest.approx(8**-0.5) and facts.trends[1].gradient == 1
    assert facts.is_as_predicted
    begun = theory_facts(wanted[:-1], passes[:-1], n_wanted=len(wanted))
    assert begun.slopes == begun.trends == () and not begun.is_as_predicted


def test_depths_are_powers_of_two_and_the_one_that_is_asked_for():
    assert depths_below(1) == (1,) and depths_below(6) == (1, 2, 4, 6)


def test_the_strongest_layer_counts_from_1():
    trained = depth_pass(1.0, parameter_gradient=[np.nan, 1, 3, 0.5])
    facts = own_facts(trained, depth_pass(2.0), seed=7)
    assert (facts.strongest, facts.weakest) == (2, 3)
    assert facts.curves.placements == ("trained", "random") and facts.jump is None
    norms = depth_pass(1.0, stream_norm=[1.0, 2.0, 90.0, 91.0])
    quiet = depth_pass(1.0, stream_norm=[1.0, 2.0, 3.0, 4.0])
    apart = own_facts(norms, depth_pass(2.0), seed=7, apart=quiet)
    assert apart.jump == (2, 2.0, 90.0, 2.0, 3.0)
    assert apart.curves.of("apart", "stream_norm")["median"].tolist() == [1, 2, 3, 4]
    assert apart.curves.of("apart", "parameter_gradient").empty


@pytest.mark.parametrize("width", [RUN.config.d_model, RUN.config.d_model // 2])
def test_a_stack_is_measured_on_what_enters_the_run_or_on_its_words(width: int):
    narrow = Stack(RUN, "post", 2, width, "xavier_uniform", 0)
    found = narrow.measure(RUN.record(RUN.build()).tensor("resid_pre", 0))
    assert np.isfinite(found.loss) and len(found.layers) == 3
    assert narrow.reads_own_stream == (width == RUN.config.d_model)
    assert narrow.n_tokens == MOST_SEQUENCES * 5


def test_a_stack_that_is_too_large_is_refused_with_one_that_fits():
    assert stack().fault(2**40) is None
    assert stack(n_layers=64).fault(10**6).mend["depth"] < 64
