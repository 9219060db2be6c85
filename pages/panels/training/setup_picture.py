"""The learning rate from the first step to the last, drawn before it runs."""

import math
from typing import Any, NamedTuple

import pandas as pd

from blocks.training import schedule
from blocks.training.recipe import OptimizerKind, Recipe
from pages.figures import marks, palette
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, legend
from pages.panels.training.curves_picture import BOTTOM, LOW, Steps, step_axis

DASHES = ("solid", "dash")


class Plan(NamedTuple):
    """A recipe for a model of this width, its steps, and the step that it has come to."""

    recipe: Recipe
    d_model: int
    steps: Steps
    now: int | None = None

    def curves(self, _: Translate) -> dict[str, pd.DataFrame]:
        """The rates by name (step, learning_rate); with Muon those of the matrices, too."""
        recipe, found = self.recipe, {_("learning_rate"): schedule.curve(self.recipe, self.d_model)}
        if recipe.optimizer is OptimizerKind.MUON:
            of_matrices = recipe.replace(learning_rate=recipe.muon_learning_rate)
            found[_("muon_learning_rate")] = schedule.curve(of_matrices, self.d_model)
        return found


def plan(recipe: Recipe, d_model: int) -> Plan:
    """Before it runs."""
    return Plan(recipe, d_model, Steps(recipe.n_steps, False))


def rates(facts: Plan, *, _: Translate) -> Picture:
    """The planned rates, the warm-up shaded, and the step of now."""
    steps, warmup = facts.steps, min(facts.recipe.warmup_steps, facts.steps.most)
    lines = [
        _line(name, table, dash, _)
        for (name, table), dash in zip(facts.curves(_).items(), DASHES, strict=False)
    ]
    now = [_now(facts.now)] if facts.now else []
    return figure(
        lines,
        title=_("Learning rate"),
        height=LOW + TITLE_AND_LEGEND,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        xaxis=step_axis(steps, _),
        yaxis={"rangemode": "tozero", "exponentformat": "power"},
        shapes=[*([_warmup(steps, warmup)] if warmup else []), *now],
        annotations=[_warmup_name(steps, warmup, _)] if warmup else [],
        **(legend() if len(lines) > 1 else {}),
    )


def _line(name: str, table: pd.DataFrame, dash: str, _: Translate) -> dict[str, Any]:
    step = _("step {n}").format(n="%{x:,}")
    return marks.line(
        table["step"].tolist(),
        table["learning_rate"].tolist(),
        mode="lines" if len(table) > 1 else "markers",
        name=name,
        line={"color": palette.LEARNED, "width": 2.5, "dash": dash},
        marker={"color": palette.LEARNED},
        hovertemplate=f"{name}<br>{step}: %{{y:.3g}}<extra></extra>",
    )


def _warmup(steps: Steps, n_steps: int) -> dict[str, Any]:
    return marks.ground(0.5 if steps.is_log else 0, n_steps, palette.MASKED)


def _warmup_name(steps: Steps, n_steps: int, _: Translate) -> dict[str, Any]:
    """Beside the shade where there is room, at the foot, below every line."""
    is_wide = n_steps > 0.5 * steps.most
    place = {"x": math.log10(n_steps) if steps.is_log else n_steps, "y": 0, "yref": "paper"}
    side = {"xanchor": "right" if is_wide or steps.is_log else "left", "yanchor": "bottom"}
    return {**place, **side, "text": _("warm-up")}


def _now(step: int) -> dict[str, Any]:
    return marks.upright(step, line={"color": palette.PINNED, "width": 2})
