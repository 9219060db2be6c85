"""Where do five features live in two dimensions? A toy model while it learns."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import superposition
from blocks.phases.recorded import SPARSITIES
from blocks.phases.superposition import Toy, ToyKept, polygon_gap
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, bars, line
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.controls import choose, slide
from pages.show.parts import Beside, Controls, Note, OffScreen, Say, Shown
from pages.state.values import State
from pages.words.language import _, ngettext, sentences
from pages.words.numbers import percent

FEATURES = range(2, 9)


def at(_run: Run | None, state: State) -> tuple[Toy, int]:
    """The toy model, and the look at it."""
    series = Toy(
        n_features=state.n_toy_features, sparsity=float(state.sparsity), seed=state.phase_seed
    )
    steps = range(0, Toy.n_updates + 1, Toy.every)
    return series, shared.nearest(steps, state.toy_step)


@chooses("sparsity", "n_toy_features", "phase_seed")
def choices(_run: Run | None) -> None:
    """How rare features are, how many there are, and the seed."""
    left, middle, right = st.columns(3)
    label = _("Sparsity · share of features that are 0 in an example")
    with left:
        choose("sparsity", label, map(str, SPARSITIES), label_of=lambda each: f"{float(each):.0%}")
    with middle:
        slide("n_toy_features", _("Features"), FEATURES)
    with right:
        shared.seed_choice("superposition")


@lru_cache(maxsize=64)
def looks(series: Toy) -> tuple[ToyKept, ...]:
    """All looks at it."""
    return shared.found(series)


def toy_facts(series: Toy, step: int) -> tuple[Toy, tuple[ToyKept, ...], ToyKept]:
    """The toy, all looks, and the one that is chosen."""
    found = looks(series)
    return series, found, found[step // Toy.every]


Facts = tuple[Toy, tuple[ToyKept, ...], ToyKept]


def step_choice(series: Toy, step: int) -> None:
    """The clock."""
    shared.step_slider("toy_step", range(0, Toy.n_updates + 1, Toy.every), step, "superposition")


def says_toy(facts: Facts) -> str:
    """How many features are kept in the end, and at which angles."""
    toy, found, now = facts
    last = found[-1]
    features = _("An example has {all} features, each of which is always present.")
    if toy.sparsity:
        features = _(
            "An example has {all} features, each of which is absent {sparsity} of the time."
        )
    kept = ngettext(
        "The model passes them through two numbers, and in the end {n} of them survives.",
        "The model passes them through two numbers, and in the end {n} of them survive.",
        last.n_kept,
    )
    if last.n_kept == toy.n_features:
        kept = _("The model passes them through two numbers, and in the end all of them survive.")
    more_than_two = _(
        "A vector that holds more features than it has dimensions holds them in **superposition**."
    )
    return sentences(
        features.format(all=toy.n_features, sparsity=percent(toy.sparsity)),
        kept.format(n=last.n_kept),
        _angles(last),
        "" if now is last else _now(now),
        more_than_two if last.n_kept > 2 else "",
    )


def _angles(last: ToyKept) -> str:
    if last.n_kept < 3:
        return _("They do not interfere with each other, and all other features are lost.")
    least, most = round(min(last.gaps)), round(max(last.gaps))
    text = _(
        "Neighboring directions are {gap} apart ({even:.0f}° if evenly spaced). Each of these "
        "features has {share} of a dimension to itself."
    )
    kept = last.dimensionality[last.lengths > superposition.KEPT_ABOVE]
    few, many = percent(float(kept.min())), percent(float(kept.max()))
    return text.format(
        gap=f"{least}°" if least == most else _("{a}° to {b}°").format(a=least, b=most),
        even=polygon_gap(last.n_kept),
        share=few if few == many else _("{a} to {b}").format(a=few, b=many),
    )


def _now(now: ToyKept) -> str:
    return _("At step {step:,}, it keeps {n}.").format(step=now.step, n=now.n_kept)


def polygon(facts: Facts) -> Chart:
    """Each feature as an arrow from the middle; on one scale for all steps."""
    _toy, found, now = facts
    most = 1.15 * max(float(abs(each.directions).max()) for each in found)
    names = [str(i + 1) for i in range(now.directions.shape[1])]
    arrows = [
        pd.DataFrame({"x": [0.0, x], "y": [0.0, y], "name": ["", name]})
        for name, (x, y) in zip(names, now.directions.T.astype(float).tolist(), strict=True)
    ]
    look = Look(_("direction of a feature"), palette.EMBEDDING, "circle", size=8)
    return Chart(
        _("Features in two dimensions, step {step:,}").format(step=now.step),
        arrows[0],
        Axis(_("first hidden dimension"), (-most, most), of="x", has_zero=True),
        Axis(_("second hidden dimension"), (-most, most), has_zero=True, is_as_wide=True),
        [
            line("y", look, rows=each, text="{name}", text_at=_beyond(each), in_legend=i == 0)
            for i, each in enumerate(arrows)
        ],
        hover="{name}",
        tall=400,
        legend=Legend.NONE,
    )


def _beyond(arrow: pd.DataFrame) -> str:
    """Where its name does not lie on the arrow."""
    x, y = arrow[["x", "y"]].iloc[-1]
    return shared.beyond(float(x), float(y))


def shares(facts: Facts) -> Chart:
    """The dimensionality of each feature at the step."""
    _toy, _found, now = facts
    rows = {"feature": range(1, len(now.lengths) + 1), "share": now.dimensionality}
    return Chart(
        _("Share of a dimension that each feature has, step {step:,}").format(step=now.step),
        rows,
        Axis(_("feature, the most important first"), of="feature"),
        Axis(_("dimensionality"), (0, 1.05)),
        [bars("share", Look(_("dimensionality"), palette.EMBEDDING))],
        hover="{share:.2f}",
        tall=180,
        levels=[Level(0.5, name=_("two on one line")), Level(0.4, name=_("pentagon"))],
    )


def losses(facts: Facts) -> Chart:
    """The loss, and how long each direction is, over all steps."""
    _toy, found, now = facts
    lengths = (
        pd.DataFrame([each.lengths for each in found])
        .rename(columns=str)
        .assign(step=[each.step for each in found], loss=[each.loss for each in found])
    )
    n = len(now.lengths)
    return Chart(
        _("Loss and length of each direction"),
        lengths,
        Axis(_("step"), (0, found[-1].step), of="step"),
        (
            Axis(_("loss"), from_0=True, is_heading=True),
            Axis(_("length of a direction"), from_0=True, is_heading=True),
        ),
        [
            line("loss", Look(_("loss"), palette.LEARNED), plot=0),
            *(
                line(
                    str(i),
                    Look(_("a feature"), palette.EMBEDDING, width=1.5),
                    plot=1,
                    in_legend=i == 0,
                )
                for i in range(n)
            ),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        tall=260,
        legend=Legend.FOOT,
        levels=[Level(x=now.step, color=palette.PINNED, dash="solid", plot=i) for i in (0, 1)],
    )


PANEL = Panel(
    "superposition",
    N_("How do five features fit into two dimensions?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=toy_facts,
    absent=shared.says_untrained,
    mend=lambda series: shared.train(series, "superposition"),
    concepts=("superposition",),
    code=(Toy.results, superposition.sparse_features),
    shows=(
        Say(says_toy),
        Beside(
            Shown(polygon, "toy_polygon", room=480),
            (
                Controls(step_choice, is_aside=False),
                Shown(shares, "toy_shares", room=360),
                OffScreen(Shown(losses, "toy_losses")),
            ),
            widths=(2, 3),
        ),
        Note(
            N_(
                "This is not a Transformer: x′ = ReLU(WᵀWx + b) has to reconstruct the "
                "features after they pass through two numbers (Elhage et al. 2022). Feature i"
                " has a weight of 0.9ⁱ in the loss, and new examples are drawn for each of "
                "4,000 updates."
            )
        ),
    ),
)
