"""Can the features be found again? A sparse autoencoder whose truth is known."""

from functools import lru_cache

import numpy as np

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import superposition
from blocks.phases.superposition import FOUND_ABOVE, Dictionary, DictionaryKept
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, bars, line
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.parts import Beside, Controls, Note, Say, Shown
from pages.state.values import State
from pages.words.language import _, sentences

ROOM = 410  # pixels before a class
STEPS = range(0, Dictionary.n_updates + 1, Dictionary.every)
Facts = tuple[Dictionary, tuple[DictionaryKept, ...], DictionaryKept]


def at(_run: Run | None, state: State) -> tuple[Dictionary, int]:
    """The autoencoder, and the look at it."""
    return Dictionary(seed=state.phase_seed), shared.nearest(STEPS, state.dictionary_step)


@chooses("phase_seed")
def choices(_run: Run | None) -> None:
    """The seed."""
    shared.seed_choice("dictionary")


@lru_cache(maxsize=16)
def looks(series: Dictionary) -> tuple[DictionaryKept, ...]:
    """All looks at it."""
    return shared.found(series)


def dictionary_facts(series: Dictionary, step: int) -> Facts:
    """The series, all looks, and the one that is chosen."""
    found = looks(series)
    return series, found, found[step // Dictionary.every]


def step_choice(_series: Dictionary, step: int) -> None:
    """The clock."""
    shared.step_slider("dictionary_step", STEPS, step, "dictionary")


def says_dictionary(facts: Facts) -> str:
    """How many true features have a direction of their own."""
    series, found, now = facts
    text = _(
        "{true} known features are mixed into {dims} numbers. The dictionary is given neither the "
        "number of features nor their directions. In the end it has a direction for {last} of "
        "them (cosine above 0.9), and the lowest cosine is {worst:.3f}."
    )
    last = found[-1]
    said = text.format(true=series.n_true, dims=series.n_dims, last=last.n_found, worst=last.worst)
    here = _("At step {step:,} it has found {n}.").format(step=now.step, n=now.n_found)
    return sentences(said, "" if now is last else here)


def cosines(facts: Facts) -> Chart:
    """For each true feature the nearest direction of the dictionary."""
    _series, _found, now = facts
    order = np.argsort(-now.cosines, kind="stable")
    rows = {"place": range(1, len(order) + 1), "cosine": now.cosines[order].astype(float)}
    return Chart(
        _("Nearest direction to each true feature, step {step:,}").format(step=now.step),
        rows,
        Axis(_("true features, the best found first"), of="place"),
        Axis(_("cosine (dashed: found above it)"), (0, 1.02)),
        [bars("cosine", Look(_("cosine"), palette.EMBEDDING))],
        hover="{cosine:.3f}",
        levels=[Level(FOUND_ABOVE, color=palette.PINNED)],
    )


def progress(facts: Facts) -> Chart:
    """How many are found, and what the dictionary does not say, over all steps."""
    series, found, now = facts
    rows = {
        "step": [each.step for each in found],
        "found": [each.n_found for each in found],
        "missed": [each.missed for each in found],
    }
    return Chart(
        _("What it finds and what it misses"),
        rows,
        Axis(_("step"), (0, found[-1].step), of="step"),
        (
            Axis(_("features found"), (0, series.n_true + 1), is_heading=True),
            Axis(_("variance not explained"), from_0=True, is_share=True, is_heading=True),
        ),
        [
            line("found", Look(_("found"), palette.NORM), plot=0),
            line("missed", Look(_("not explained"), palette.LEARNED), plot=1),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        tall=260,
        legend=Legend.FOOT,
        levels=[Level(x=now.step, color=palette.PINNED, dash="solid", plot=i) for i in (0, 1)],
    )


def says_how(facts: Facts) -> str:
    """What the autoencoder is."""
    series = facts[0]
    text = _(
        "This is a top-k sparse autoencoder (Gao et al. 2024) with {latents} directions, the "
        "{k} strongest of which reconstruct each example; each feature is absent from "
        "{share:.0%} of the examples. In a real model, nobody knows the true features or "
        "how many there are; here they are known by construction. The dictionary therefore has "
        "directions to spare. At the end of training, those left over are hardly ever among the "
        "{k} strongest and can be ignored."
    )
    return text.format(latents=series.n_latents, k=series.n_active, share=series.sparsity)


PANEL = Panel(
    "dictionary",
    N_("Can a dictionary recover the features?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=dictionary_facts,
    absent=shared.says_untrained,
    mend=lambda series: shared.train(series, "dictionary"),
    concepts=("superposition",),
    code=(Dictionary.results, superposition.largest),
    shows=(
        Say(says_dictionary),
        Controls(step_choice, is_aside=False),
        Beside(
            Shown(cosines, "dictionary_cosines", room=ROOM),
            Shown(progress, "dictionary_progress", room=ROOM),
        ),
        Note(says_how),
    ),
)
