"""How good the model stays as more and more of it goes, by three criteria."""

from functools import lru_cache, partial
from typing import Any

import pandas as pd

from blocks.cost.units import bytes_text
from blocks.efficiency import pruning, structured
from blocks.efficiency import pruning_facts as facts_of
from blocks.efficiency.pruning import Criterion
from blocks.efficiency.pruning_facts import Pruned, PruningFacts
from blocks.efficiency.recorded import Recorded, recorded
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.page.frame import section
from pages.panels.efficiency import made, score_text, shared
from pages.panels.efficiency.own_pruning import CRITERION_NAMES, prune_your_own
from pages.server import starts
from pages.show.chart import show
from pages.show.controls import choose, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent

PRUNED_NAMES = {
    "weights": N_("individual weights"),
    "hidden_units": N_("hidden units"),
    "heads": N_("heads"),
}
LOOKS = {
    Criterion.MAGNITUDE: (palette.FEED_FORWARD, "circle"),
    Criterion.WANDA: (palette.ATTENTION, "square"),
    Criterion.RANDOM: (palette.BEFORE, "x"),
}
CODE = (pruning.masks, pruning.scores, structured.without_units, structured.without_heads)
MOST_KEPT = 0.95


@lru_cache(maxsize=64)
def pruning_facts(weights: str, pruned: Pruned, n_measured: int) -> PruningFacts:
    """The first measurements made here; with none, what was measured before."""
    model = starts.calibrated(weights)
    before = None if n_measured else recorded(weights)
    return facts_of.pruning_facts(
        model.file.config,
        pruned,
        n_measured or None,
        before.variants.__getitem__ if before else partial(made.measured, weights),
        model.score_name,
        model.is_share,
    )


def says_pruning(facts: PruningFacts) -> str:
    """How much can go, and whether anything is gained."""
    by_size, by_use, by_chance = (percent(facts.kept_up_to(c, MOST_KEPT)) for c in Criterion)
    text = _(
        "While keeping {kept}, the model can lose {size} if parts are chosen by magnitude, "
        "{use} if by their contribution on the calibration text (Wanda), and {chance} if at "
        "random."
    )
    kept = shared.said_kept(MOST_KEPT, facts.score_name, facts.is_share)
    said = text.format(kept=kept, size=by_size, use=by_use, chance=by_chance)
    return sentences(said, _gain(facts))


def _gain(facts: PruningFacts) -> str:
    """Bytes and time of the most that was taken out, against the original."""
    row, whole = facts.rows.iloc[-1], facts.original
    if facts.pruned is Pruned.WEIGHTS:
        text = _(
            "A mask saves bytes ({before} to {after}) but no time, since zeros are multiplied too "
            "(the median time per batch is {time_ratio:.2f} times the original's)."
        )
    else:
        text = _(
            "Removing whole parts makes the matrices smaller: {before} to {after}, and a "
            "batch takes {time_ratio:.2f} times as long as before."
        )
    return fill(text, facts, before=bytes_text(whole.n_bytes), after=bytes_text(row["bytes"]))


def lines(facts: PruningFacts) -> Chart:
    """The score as more goes, from the original on; a click returns the recipe."""
    column = "score" if facts.is_share else "loss"
    original: dict[str, Any] = {
        "removed": 0.0,
        "score": facts.original.score,
        "loss": facts.original.held_out_loss,
        "standard_error": 0.0,
        "variant": "",
    }
    by_criterion = {c: facts.rows[facts.rows["criterion"] == c] for c in Criterion}
    most = float(facts.rows["removed"].max())
    return Chart(
        _("Quality as more is removed"),
        facts.rows,
        Axis(_("share removed"), (-0.02 * most, 1.05 * most), of="removed", is_share=True),
        shared.quality_axis(facts.score_name, facts.is_share),
        [
            line(
                column,
                Look(_(CRITERION_NAMES[criterion]), color, symbol, size=9, width=2),
                rows=pd.concat([pd.DataFrame([original]), by_criterion[criterion]]),
                error="standard_error" if facts.is_share else "",
            )
            for criterion, (color, symbol) in LOOKS.items()
            if len(by_criterion[criterion])
        ],
        hover=_("{removed:.0%} removed: {score:.3f}, loss {loss:.3f}"),
        click=("variant",),
        tall=290,
        legend=Legend.FOOT,
        levels=[Level(original[column])],
    )


@section
def what_can_go(run: Run, state: State) -> None:
    """What is taken out, and the lines; then what the reader takes out."""
    _lines(run, state)
    prune_your_own(run, state)


def _lines(run: Run, state: State) -> None:
    """Recorded, or measured when the reader asks."""
    place = explained(("pruning",), CODE, key="pruning")
    names = PRUNED_NAMES
    with present.aside():
        choose("taken_out", _("What to remove"), Pruned, label_of=lambda name: _(names[name]))
    pruned = Pruned(state.taken_out)
    weights = score_text.measured(run, state)
    order = facts_of.in_order(shared.whole(run, state).file.config, pruned)
    if not order:
        place.info(
            _("This model has too few parts of this kind to remove any."),
            icon=":material/lightbulb:",
        )
        return
    with present.aside():
        switch("measure_pruning", _("Measure {n} pruned models here").format(n=len(order)))
        if not state.measure_pruning:
            shared.expected(run, ["", *(name for _criterion, name in order)], state)
    is_asked = state.measure_pruning
    before = None if is_asked else recorded(weights)
    if not is_asked and before is None:
        text = _(
            "Which weights does the model need? Weights are removed by magnitude, by contribution"
            " (Wanda) and, as a control, at random."
        )
        place.info(text, icon=":material/lightbulb:")
        return
    n_measured = _measured_here(weights, pruned, order) if is_asked else 0
    if is_asked and n_measured < len(Criterion):
        return
    at = weights, pruned, n_measured
    with place:
        say(says_pruning, *at, facts=pruning_facts)
    show(lines, *at, facts=pruning_facts, key="pruning", on_click=shared.use_clicked)
    note(_says_how(before))
    rows = pruning_facts(*at).rows
    download("pruning.csv", lambda: rows.to_csv(index=False), "text/csv")


def _measured_here(weights: str, pruned: Pruned, order: list[tuple[Criterion, str]]) -> int:
    """Measure the original and its variants as far as the reader lets it; how many of these."""
    recipes = ["", *(name for _criterion, name in order)]
    steps = [partial(made.variant, weights, name) for name in recipes]
    what = "pruning", weights, pruned
    done = in_steps(steps, what=what, key="pruned", asked_by="measure_pruning")
    return len(done.found) - 1


def _says_how(before: Recorded | None) -> str:
    text = _(
        "Nothing is retrained. Random choices use seed 0. Click a dot to show its model on "
        "all pages."
    )
    return sentences(shared.measured_on(before.processor), text) if before else text
