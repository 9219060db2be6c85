"""What the panels of norms say: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import checked
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.depth_facts import (
    DepthFacts,
    Jump,
    LayerCurves,
    Overflow,
    OwnFacts,
    Slope,
    TheoryFacts,
    Trend,
    WayBack,
)
from blocks.inspection.norm_compared import INPUT, TRAINING, NormFacts, NormInput
from blocks.inspection.placements import Placed, PlacementFacts
from blocks.inspection.stack import Stack
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.training.race import RaceFacts, race_spec
from pages.figures.axes import log_axis
from pages.figures.chart import Chart, Kind
from pages.figures.drawn_chart import drawn
from pages.panels.normalization import axes, curves, depth, layers, placements, race, theory

CONFIG = ModelConfig(d_model=32, n_heads=4)
RUN = Run(config=CONFIG, input=Input(seq_len=5), mask=MaskConfig())
STACKS = tuple(
    Stack(RUN, name, 8, 32, "xavier_uniform", seed) for seed in (0, 1) for name in ("pre", "post")
)
NO_CURVES = LayerCurves(8, pd.DataFrame(), even_bits=2.0)
DEPTH = DepthFacts(
    stacks=STACKS,
    n_wanted=4,
    curves=NO_CURVES,
    loss=4.25,
    ways_back=(WayBack("pre", 2.0, 1.0), WayBack("post", 1e-5, 1.0)),
    overflows=(),
    similarity_in=0.1,
    similarity={"pre": 0.5, "post": 0.995},
)
WITHOUT = tuple(
    replace(each, run=replace(RUN, config=CONFIG.replace(residual=False))) for each in STACKS
)
HALF = replace(DEPTH, stacks=STACKS[:3])


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (
            DEPTH,
            "relative to that in layer 8, by norm placement: pre (as in yours): 2 times as large; "
            "post: 1 × 10⁻⁵ times as large",
        ),
        (HALF, "Stacks measured so far: 3 of 4. Gradient in layer 1"),
        (replace(DEPTH, ways_back=(WayBack("pre", 4.0, 1.0),)), "vanishes or explodes."),
        (
            replace(DEPTH, ways_back=(WayBack("pre", 4.0, 1.5), WayBack("post", 8.0, 4.5))),
            "The norm placements differ in the size of the gradient near the output (layer 8): "
            "pre 1.5, post 4.5.",
        ),
        (
            replace(DEPTH, ways_back=(WayBack("pre", 4.0, 4.5), WayBack("post", 8.0, 4.501))),
            "post: 1.78 times as large. No gradient vanishes or explodes.",
        ),
        (replace(DEPTH, ways_back=(WayBack("pre", 0.0, 1.0),)), "underflows to 0 in float32"),
        (replace(DEPTH, ways_back=(WayBack("pre", 1.0, 0.0),)), "0 in the last layer"),
        (replace(DEPTH, ways_back=(WayBack("pre", 5e4, 1.0),)), "50,000 times as large (exp"),
        (replace(DEPTH, overflows=(Overflow("post", 3),)), "from layer 3 on, the stream"),
        (replace(DEPTH, ways_back=(), overflows=(Overflow("pre", None),)), "its gradients do"),
    ],
)
def test_the_gradient_of_the_first_layer(monkeypatch, facts, english: str):
    said = in_both(monkeypatch, depth.says_gradient, facts)
    assert english in said["en"] and said["zh"] != said["en"]
    assert ("The norm placements differ" in said["en"]) is (
        "pre 1.5" in said["en"]
    )  # 4.5 and 4.501 do not


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (DEPTH, "pre 0.50, post 0.99. Dong et al. (2021) prove"),
        (DEPTH, "nearly identical anyway (norm placement: post)"),
        (replace(DEPTH, similarity={"pre": 0.5}), "here the tokens do not become alike"),
        (replace(DEPTH, stacks=WITHOUT), "this run does not show it (yet)"),
        (replace(DEPTH, stacks=WITHOUT, similarity={"pre": 0.999}), "this run agrees"),
        (replace(DEPTH, similarity_in=None), "only one token"),
    ],
)
def test_whether_tokens_become_alike(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, depth.says_collapse, facts)["en"]


def curve_of(measure: str) -> LayerCurves:
    rows = [("pre", measure, layer, value) for layer, value in enumerate((float("nan"), 2.0, 8.0))]
    table = pd.DataFrame(rows, columns=["placement", "measure", "layer", "median"])
    return LayerCurves(2, table, even_bits=2.0)


@pytest.mark.parametrize(
    ("measure", "english"),
    [
        ("similarity", "Pairs of tokens have a mean cosine"),
        ("parameter_gradient", "Gradient in layer 1 relative to that in layer 2"),
        ("attention_share", "relative to the stream, layers 1 to 2: pre from 2 to 8."),
    ],
)
def test_the_one_measure_that_is_drawn_is_told(monkeypatch, measure: str, english: str):
    facts = replace(DEPTH, curves=curve_of(measure), ways_back=(WayBack("pre", 1.0, 2.0),))
    said = in_both(monkeypatch, depth.says_drawn, facts)
    assert english in said["en"] and said["zh"] != said["en"]
    assert ("Gradient in" in said["en"]) is (measure == "parameter_gradient")


def test_the_one_measure_of_a_trained_model_is_told(monkeypatch):
    facts = OwnFacts(curve_of("stream_norm"), 0.5, 3.25, seed=0, strongest=4, weakest=1)
    said = in_both(monkeypatch, layers.says_drawn, facts)["en"]
    assert "layers 1 to 2: pre from 2 to 8." in said and "nats" not in said
    jump = replace(facts, jump=Jump(12, 139.0, 1698.0, 140.0, 139.5))
    said = in_both(monkeypatch, layers.says_drawn, jump)["en"]
    assert said.endswith(
        "Sinks cause the jump at layer 12: the mean norm of a token goes from 139 to 1,698 "
        "there; without the sinks, it goes from 140 to 140."
    )


def test_what_was_built(monkeypatch):
    said = in_both(monkeypatch, depth.says_setting, DEPTH)["en"]
    assert "n_layers 8, d_model 32" in said and "seeds 0, 1" in said and "4.25 nats" in said
    overflow = replace(DEPTH, loss=float("inf"))
    assert "not finite in the first" in in_both(monkeypatch, depth.says_setting, overflow)["en"]


SLOPES = (Slope("post", 0.01, 0.0), Slope("pre", -0.48, -0.5))
GROWN = pd.DataFrame({"placement": ["pre", "pre", "post"], "n_layers": [1, 16, 16]})
TRENDS = (Trend("pre", 0.321, 3.17), Trend("post", 1.04, 1.0))
THEORY = TheoryFacts(STACKS[0].config, 30, 30, GROWN, TRENDS, SLOPES)


def test_why_pre_norm_trains_deeper_is_said(monkeypatch):
    said = in_both(monkeypatch, theory.says_theory, THEORY)["en"]
    assert "From 1 to 16 layers" in said and "pre 0.32×, post 1.04×" in said
    assert "With post-norm it does not shrink" in said and "warm-up" in said
    said = in_both(monkeypatch, theory.says_cause, THEORY)["en"]
    assert "adds up the outputs of all layers (growth with depth: 3.17×)" in said
    assert "after every layer (1.00×)" in said
    exponents = in_both(monkeypatch, theory.says_exponents, THEORY)["en"]
    assert exponents == (
        "Thin lines show the powers of depth that theory predicts, drawn from the "
        "measured value at 1 layer. Fitted to stacks of 2 or more layers: post: "
        "depth^0.01, theory 0.00; pre: depth^−0.48, theory −0.50."
    )


@pytest.mark.parametrize(
    ("changes", "english"),
    [
        ({"n_done": 21, "slopes": ()}, "Stacks measured so far: 21 of 30"),
        ({"slopes": ()}, "Choose norm placement pre or post"),
        ({"slopes": SLOPES[1:]}, "Also show norm placement post"),
        (
            {"slopes": (SLOPES[0], Slope("pre", -0.2, -0.5))},
            "Xiong et al. (2020) make a different prediction for norm placement pre;",
        ),
    ],
)
def test_no_more_is_concluded_than_was_measured(monkeypatch, changes: dict, english: str):
    said = in_both(monkeypatch, theory.says_theory, replace(THEORY, **changes))["en"]
    assert english in said and "warm-up" not in said


@pytest.mark.parametrize(
    ("changes", "english"),
    [
        ({}, "initialized as in the theorem"),
        ({"attention_only": True}, "no feed-forward layer here"),
        ({"residual": False}, "assumes a residual"),
        ({"norm_kind": "rmsnorm"}, "assumes LayerNorm"),
        ({"initialization": "normal"}, "assumes Xavier"),
    ],
)
def test_why_theory_may_differ(monkeypatch, changes: dict, english: str):
    facts = replace(THEORY, config=THEORY.config.replace(**changes))
    assert english in in_both(monkeypatch, theory.says_why, facts)["en"]


def test_a_trained_models_own_loss(monkeypatch):
    facts = OwnFacts(NO_CURVES, 0.5, 3.25, seed=0, strongest=4, weakest=1)
    said = in_both(monkeypatch, layers.says_loss, facts)["en"]
    assert "0.50 nats after training and 3.25 with" in said and "layer 4 has the largest" in said


def placed(rms: float) -> Placed:
    return Placed({"mean": 0.0, "std": rms, "rms": rms}, None, None, None)


def test_the_widest_and_the_narrowest_placement(monkeypatch):
    found = {"pre": placed(2.0), "post": placed(1.0), "none": placed(float("inf"))}
    facts = PlacementFacts(layer=0, head=0, own="pre", placed=found)
    said = in_both(monkeypatch, placements.says_sizes, facts)["en"]
    assert (
        "After layer 1 the stream is largest with norm placement pre (RMS 2) and smallest with post"
    ) in said
    assert "Your norm placement, pre, gives an RMS of 2 with" in said
    assert said.endswith("placements with which the stream is no longer finite: none.")
    broken = replace(facts, placed={"pre": placed(float("nan"))})
    assert in_both(monkeypatch, placements.says_sizes, broken)["en"] == (
        "Norm placements with which the stream is no longer finite: pre."
    )


def norm_table(what: str) -> pd.DataFrame:
    names = (INPUT, "layernorm", "rmsnorm", TRAINING)
    rows = [(name, i, i + 0.5 * n, 1.0 + n) for i, name in enumerate(names) for n in (0, 1)]
    return pd.DataFrame(rows, columns=["norm", what, "mean", "std"])


NORMS = NormFacts(
    ("a", "b"),
    per_token=norm_table("token"),
    per_feature=norm_table("feature"),
    dependence=pd.DataFrame(
        {
            "norm": ["layernorm", "rmsnorm", TRAINING],
            "batch": [0, 0, 1.5],
            "padding": [0, 0, 0.25],
            "mode": [0, 0, 2.0],
        }
    ),
    running=pd.DataFrame(),
    has_others=True,
    has_padding=False,
)


def test_what_each_norm_brings_to_one_scale(monkeypatch):
    said = in_both(monkeypatch, axes.says_outputs, NORMS)["en"]
    assert "each token has a standard deviation of 1.00 to 2.00" in said
    assert "its magnitude is at most 0.5 before the norm, 2.5 after" in said
    alike = NORMS.per_token.assign(std=1.0)
    said = in_both(monkeypatch, axes.says_outputs, replace(NORMS, per_token=alike))["en"]
    assert "each token has a standard deviation of 1.00 and each feature one of" in said


def test_what_a_token_depends_on(monkeypatch):
    said = in_both(monkeypatch, axes.says_dependence, NORMS)["en"]
    assert "the change is 0" in said and "up to 1.5 when" in said
    assert "differs from training mode by up to 2." in said
    little = NORMS.dependence.assign(mode=[1e-7, 0, 2.0])
    said = in_both(monkeypatch, axes.says_dependence, replace(NORMS, dependence=little))["en"]
    assert "by no more than 1e-07" in said
    said = in_both(monkeypatch, axes.says_surroundings, NORMS)["en"]
    assert "other sequences of this batch" in said and "four padding tokens, run alone" in said


def test_over_what_each_norm_averages(monkeypatch):
    alone = in_both(monkeypatch, axes.says_axes, NormInput(1, ("a", "b"), 8, 1))["en"]
    assert "1 × 2 × 8 numbers" in alone and "batch size 1" in alone and "1 of these tokens" in alone
    several = in_both(monkeypatch, axes.says_axes, NormInput(3, ("a", "b"), 8, 0))["en"]
    assert "all 6 tokens" in several and "padding" not in several


SPEC = race_spec(CONFIG, "pre", n_layers=8, learning_rate=1e-3, warmup_steps=0, seed=0)
WARM = race_spec(CONFIG, "pre", n_layers=8, learning_rate=1e-3, warmup_steps=60, seed=0)
RACE = RaceFacts(SPEC, 100, 100, pd.DataFrame(), (("pre", 1.0), ("post", 3.2)), ())


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (RACE, "pre 1.00, post 3.20 nats. Guessing at random gives 3.26. Hardly better than"),
        (replace(RACE, n_updates=50), "gives 3.26."),
        (replace(RACE, n_updates=50, diverged=("post",)), "no longer finite): post."),
    ],
)
def test_who_learns(monkeypatch, facts, english: str):
    said = in_both(monkeypatch, race.says_race, facts)["en"]
    assert "try" not in said
    assert english in said and ("Hardly" in said) == (facts.is_over and bool(facts.stuck))


@pytest.mark.parametrize(
    ("facts", "english"),
    [
        (RACE, "Now try 4 layers, or a warm-up. Does training then work with norm placement post?"),
        (
            replace(RACE, spec=WARM),
            "Now try 4 layers. Does training then work with norm placement post?",
        ),
        (replace(RACE, losses=(("pre", 1.0), ("post", 2.0))), "Both learn at this depth."),
        (replace(RACE, losses=(("pre", 1.0),)), "Now try 12 layers."),
    ],
)
def test_outside_a_lesson_what_to_try_next_is_said(monkeypatch, facts, english: str):
    assert english in in_both(monkeypatch, race.says_race_and_next, facts)["en"]


def test_what_a_warm_up_does(monkeypatch):
    ends, without = (("pre", 0.97), ("post", 1.97)), (("pre", 0.61), ("post", 3.1))
    facts = replace(RACE, spec=WARM, losses=ends, without_warmup=without)
    said = in_both(monkeypatch, race.says_race, facts)["en"]
    assert "Without the warm-up the loss is pre 0.61, post 3.10 nats." in said
    assert (
        "benefit from small first updates: post. "
        "Norm placements that the warm-up only slows down: pre."
    ) in said
    running = replace(facts, n_updates=50)
    assert "without" not in in_both(monkeypatch, race.says_race, running)["en"]


MEASURES = ("parameter_gradient", "stream_norm", "similarity")


def table_of(n_layers: int = 4, **values: float) -> pd.DataFrame:
    """Two placements, three measures, a value that grows with the layer."""
    rows = [
        (placement, measure, layer, values.get(measure, 1.0) * (layer + 1) * (1 + i))
        for i, placement in enumerate(("pre", "post"))
        for measure in MEASURES
        for layer in range(n_layers + 1)
    ]
    table = pd.DataFrame(rows, columns=["placement", "measure", "layer", "median"])
    return table.assign(least=table["median"] * 0.9, most=table["median"] * 1.1)


def by_layer(table: pd.DataFrame, before: pd.DataFrame | None = None) -> Chart:
    found, ghost = (
        None if each is None else LayerCurves(int(each["layer"].max()), each, even_bits=2.0)
        for each in (table, before)
    )
    return curves.by_layer("given", found, ghost)


def outputs(n: int = 5) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"norm": name, "token": range(n), "feature": range(n)}).assign(
            mean=np.arange(n) - i, std=1.0 + i, rms=np.arange(n)[::-1] + i
        )
        for i, name in enumerate((INPUT, "layernorm", "rmsnorm"))
    ]
    return pd.concat(frames, ignore_index=True)


def spread(width: float) -> Placed:
    table = pd.DataFrame({"value": np.linspace(-width, width, 9), "density": 1 / width})
    return Placed({"mean": 0.0, "std": width, "rms": width}, table, table, None)


PLACED = PlacementFacts(0, 0, "pre", {"pre": spread(10.0), "post": spread(1.0)})
LAST = pd.DataFrame({"placement": "pre", "n_layers": [1, 4, 16], "median": [2.0, 1.5, 1.0]})
GRADIENTS = replace(THEORY, table=LAST.assign(least=LAST["median"], most=LAST["median"]))
RUNNING = pd.DataFrame(
    {"placement": ["pre", "pre", "post"], "update": [1, 2, 1], "loss": [3, 2, 3]}
)
CHARTS = {
    "features": axes.of_features(replace(NORMS, per_feature=outputs())),
    "layers": by_layer(table_of(), table_of()),
    "gradients": theory.last_gradients(GRADIENTS),
    "spreads": placements.spreads(PLACED),
    "race": race.losses(replace(RACE, curves=RUNNING)),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_each_chart_can_be_drawn(chart: Chart):
    checked(drawn(chart))


def test_features_stand_in_the_order_of_the_inputs_own():
    chart = CHARTS["features"]
    rows = chart.table_of(next(each for each in chart.series if each.plot == 2))
    assert rows["rms"].is_monotonic_increasing and rows["label"].iloc[0] == "feature 5"


def test_curves_are_drawn_as_given_with_their_band():
    chart = by_layer(table_of())
    around, median = chart.series[2:4]
    assert (around.kind, median.look.name) == (Kind.BAND, "post")
    rows = chart.table_of(median)
    assert rows["median"].tolist() == [2.0, 4.0, 6.0, 8.0, 10.0] and around.rows is median.rows


def test_gradients_are_logarithmic_and_likeness_never_is():
    axes_of = by_layer(table_of(similarity=1e-4)).y
    assert [each.is_log for each in axes_of] == [True, False, False]
    wide = table_of(20)
    wide.loc[wide["measure"] == "stream_norm", ["median", "least", "most"]] **= 4
    assert by_layer(wide).y[1].is_log


def test_what_is_no_number_or_zero_on_a_logarithmic_scale_is_left_out():
    table, numbers = table_of(), ["median", "least", "most"]
    table.loc[(table["layer"] == 2), numbers] = np.nan
    table.loc[(table["layer"] == 3) & (table["measure"] == "parameter_gradient"), numbers] = 0
    assert by_layer(table).table_of(by_layer(table).series[1])["layer"].tolist() == [0, 1, 4]
    assert not by_layer(table.assign(median=0.0, least=0.0, most=0.0)).y[0].is_log
    empty = replace(GRADIENTS, table=GRADIENTS.table.assign(median=np.nan))
    assert theory.last_gradients(empty).series == []


def test_the_setting_before_is_a_ghost_and_the_axis_has_room_for_it():
    chart = by_layer(table_of(), table_of(parameter_gradient=1e-7))
    names = [each.look.name for each in chart.series]
    assert names.count("previous settings") == len(MEASURES) and chart.y[0].ends[0] < 1e-5
    assert sum(each.in_legend for each in chart.series) == 3


def test_one_measure_alone_has_room_and_no_second_axis():
    found = LayerCurves(4, table_of(), even_bits=2.0)
    alone, every = by_layer(found.only("similarity").table), by_layer(table_of())
    assert len(alone.y) == 1 and not alone.y[0].is_heading and "Similarity" in alone.title
    assert every.tall / len(MEASURES) < alone.tall < every.tall
    assert found.only("entropy_bits") is found


@pytest.mark.parametrize("powers", [(-30, 0), (0, 1), (-2, 2), (0, 38)])
def test_a_logarithmic_axis_has_a_handful_of_ticks(powers: tuple[int, int]):
    assert 2 <= len(log_axis(*(10.0**power for power in powers))["tickvals"]) <= 12


def test_theory_is_a_line_of_its_slope():
    chart = CHARTS["gradients"]
    assert chart.table_of(chart.series[2])["median"].tolist() == [2.0, 1.0, 0.5]


def test_losses_have_room_for_all_updates_and_name_the_guess():
    chart = CHARTS["race"]
    assert [chart.table_of(each)["loss"].tolist() for each in chart.series] == [[3, 2], [3]]
    assert chart.x.ends == (0, 100) and chart.levels[0].y == race.GUESS
