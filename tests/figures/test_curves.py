"""Curves of a training."""

import math

import numpy as np
import pandas as pd
import pytest
from drawn import bytes_sent, checked, marked, same, visible, words_that_slipped_by

from blocks.inspection.learning import BirthFacts
from blocks.training import schedule as schedules
from blocks.training.recipe import RECIPES
from pages.figures import palette
from pages.panels.training import births_picture, curves_picture, setup_picture
from pages.panels.training.curves_picture import Steps, Told

GUESS = math.log(8)
N_STEPS, N_LAYERS = 40, 3
LINEAR, LOGARITHMIC = (Steps(N_STEPS, is_log) for is_log in (False, True))


def told(name: str = "given", n: int = 20, n_modules: int = 0) -> Told:
    step = np.arange(1, n + 1)
    told_curves = pd.DataFrame(
        {
            "step": step,
            "loss": GUESS / step,
            "smoothed": GUESS / np.sqrt(step),
            "gradient_norm": 1 / step,
            "tokens_per_second": 1000.0 + step,
        }
    )
    at = [0, n // 2, n]
    evaluations = pd.DataFrame({"step": at, "held_out_loss": [2.0, 1.0, 0.5], "score": [0, 0.5, 1]})
    rows = [(step, layer, 0.1 + layer) for step in at[1:] for layer in range(N_LAYERS)]
    return Told(
        name,
        told_curves,
        evaluations,
        pd.DataFrame(rows, columns=["step", "layer", "gradient_norm"]),
        pd.DataFrame(
            [(n, module, 1.5 + module) for module in range(n_modules)],
            columns=["step", "module", "loss"],
        ),
    )


def nothing_yet() -> Told:
    return Told(*("given",), *(table.iloc[:0] for table in told()[1:]))


def loss(*runs: Told, steps: Steps = LINEAR, _=same):
    return checked(curves_picture.loss(runs or [told()], steps, guess=GUESS, _=_))


def score(*runs: Told, is_share: bool = True, _=same):
    runs = runs or (told(),)
    return checked(curves_picture.score(runs, LINEAR, name="given", is_share=is_share, _=_))


def rates(name: str, steps: Steps = LINEAR, now: int | None = None, _=same):
    recipe = RECIPES[name].replace(n_steps=N_STEPS, warmup_steps=5)
    return checked(setup_picture.rates(setup_picture.Plan(recipe, 64, steps, now), _=_))


def heads(_=same):
    steps, numbers = [0, 1, 8], range(4)
    rows = [(s, n // 2, n % 2, n, (1 + n) * (1 + s) / 40) for s in steps for n in numbers]
    table = pd.DataFrame(rows, columns=["step", "layer", "head", "number", "share"])
    return checked(births_picture.heads_over_steps(BirthFacts(table, "induction", 3, 1), _=_))


def test_losses_are_drawn_as_they_were_told():
    raw, smooth, held_out = loss().data
    assert list(raw.y) == told().curves["loss"].tolist()
    assert list(smooth.y) == told().curves["smoothed"].tolist()
    assert (list(held_out.x), list(held_out.y)) == ([0, 10, 20], [2.0, 1.0, 0.5])


def test_guessing_is_a_line_that_is_inside_the_picture():
    layout = loss().layout
    assert layout.shapes[0].y0 == layout.shapes[0].y1 == GUESS
    assert f"{GUESS:.2f}" in layout.annotations[0].text
    assert layout.yaxis.range[1] > GUESS


def test_the_axis_does_not_move_while_steps_are_made():
    for n in (2, 10, 40):
        picture = loss(told(n=n))
        assert picture.layout.xaxis.range == loss().layout.xaxis.range
        assert picture.layout.height == loss().layout.height


def test_a_logarithmic_axis_ends_at_the_last_step():
    axis = loss(steps=LOGARITHMIC).layout.xaxis
    assert axis.type == "log"
    assert math.log10(N_STEPS) < axis.range[1] < math.log10(2 * N_STEPS)


def test_each_module_that_predicts_further_ahead_has_a_line():
    _raw, _smooth, _held_out, *ahead = loss(told(n_modules=2)).data
    assert [line.name for line in ahead] == [f"validation, {n} tokens ahead" for n in (2, 3)]
    assert [line.y[0] for line in ahead] == [1.5, 2.5]


def test_two_runs_are_told_apart_by_their_dash_and_name():
    picture = loss(told("given A"), told("given <b>"))
    named = [trace for trace in picture.data if trace.showlegend]
    assert len(named) == 4 and len({trace.name for trace in named}) == 4
    assert {trace.line.dash for trace in named} == {"solid", "dot"}
    assert not any("<b>" in text for text in visible(picture))


def test_what_is_no_number_is_left_out():
    broken = told()
    broken.curves.loc[19, ["loss", "smoothed"]] = [math.inf, math.nan]
    assert len(loss(broken).data[0].y) == len(loss(broken).data[1].y) == 19


def test_nothing_told_yet_can_be_drawn():
    empty = nothing_yet()
    assert loss(empty).layout.yaxis.range[1] > GUESS
    assert len(score(empty).data[0].y) == 0
    assert checked(curves_picture.gradients(empty, LINEAR, _=same)).data
    assert checked(curves_picture.speed(empty, LINEAR, _=same)).data


def test_a_share_is_in_percent_and_bits_are_not():
    assert score().layout.yaxis.tickformat == ".0%"
    assert score(is_share=False).layout.yaxis.tickformat is None


def test_a_line_for_each_layer_and_one_for_the_whole_gradient():
    picture = checked(curves_picture.gradients(told(), LINEAR, _=same))
    assert len(picture.data) == 1 + N_LAYERS
    assert picture.layout.yaxis.type == "log"
    colors = [trace.line.color for trace in picture.data[1:]]
    assert colors == sorted(colors) and len(set(colors)) == N_LAYERS


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("steps", [LINEAR, LOGARITHMIC], ids=["linear", "logarithmic"])
def test_the_warm_up_is_shaded_and_now_is_marked(name: str, steps: Steps):
    shade, now = rates(name, steps, now=7).layout.shapes
    assert (shade.x1, now.x0, now.x1) == (5, 7, 7)
    assert now.line.color == palette.PINNED
    assert steps.is_log == (shade.x0 > 0)
    assert "warm-up" in [note.text for note in rates(name).layout.annotations]


def test_the_drawn_rate_is_the_schedule():
    recipe = RECIPES["fast"].replace(n_steps=N_STEPS, warmup_steps=5)
    expected = [schedules.learning_rate(recipe, step, 64) for step in range(1, N_STEPS + 1)]
    assert list(rates("fast").data[0].y) == expected


def test_the_chosen_head_is_in_front_and_a_point_says_which_it_is():
    *others, front = heads().data
    assert front.line.color == palette.PINNED and front.line.width > others[0].line.width
    assert list(front.x) == [1, 2, 9]
    assert [list(point) for point in front.customdata] == [[0, 1, 1], [1, 1, 1], [8, 1, 1]]


def test_heads_above_the_threshold_are_named():
    assert [note.text for note in heads().layout.annotations] == ["2·1", "2·2"]


def test_every_word_is_translated():
    pictures = [
        loss(_=marked),
        loss(told(), told(), _=marked),
        score(_=marked),
        checked(curves_picture.gradients(told(), LINEAR, _=marked)),
        checked(curves_picture.speed(told(), LINEAR, _=marked)),
        rates("paper", _=marked),
        heads(_=marked),
    ]
    assert [words_that_slipped_by(picture) for picture in pictures] == [set()] * len(pictures)


def test_a_long_run_is_small_enough_to_be_sent_each_second():
    assert bytes_sent(curves_picture.loss([told(n=2000)], LINEAR, guess=GUESS, _=same)) < 200_000
