"""Sub-layers deleted and layers swapped in a trained model, and in siblings without a residual."""

import re
from functools import lru_cache, partial

import pandas as pd

from blocks.efficiency import deletion, deletion_facts
from blocks.efficiency.deletion import Change, Changed, is_deep
from blocks.efficiency.deletion_facts import DeletionFacts
from blocks.efficiency.expected import pass_flops
from blocks.efficiency.recorded_deletions import (
    N_LAYERS,
    N_UPDATES,
    SEEDS,
    SiblingFacts,
    recorded_deletions,
)
from blocks.model.faults import N_
from blocks.model.kinds import NormPlacement
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Legend, Level, Look, band, bars, line
from pages.figures.counting import from_one
from pages.figures.units import quality_text
from pages.page.frame import section
from pages.panels.efficiency import score_text, shared
from pages.server import starts
from pages.show.chart import columns, show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.stage import present
from pages.state.values import State
from pages.words.language import _
from pages.words.numbers import percent

TALL = 280
CODE = (deletion.PassedAround, deletion.changed_model)


PART_NAMES = {
    "attention_residual": N_("attention"),
    "cross_attention_residual": N_("cross-attention"),
    "feed_forward_residual": N_("feed-forward"),
    "": N_("layer"),
}
STACK_NAMES = {"": "", "encoder.": N_("encoder"), "decoder.": N_("decoder")}
COLORS = {
    "attention_residual": palette.ATTENTION,
    "cross_attention_residual": palette.NORM,
    "feed_forward_residual": palette.FEED_FORWARD,
    "": palette.RESIDUAL,
}
PATH = re.compile(r"(|encoder\.|decoder\.)layers\.(\d+)\.?(\w*)")
SIBLING_NAMES = {
    (NormPlacement.PRE, True): N_("pre-norm"),
    (NormPlacement.POST, True): N_("post-norm"),
    (NormPlacement.PRE, False): N_("pre-norm, no residual"),
    (NormPlacement.POST, False): N_("post-norm, no residual"),
}


def change_name(change: Change) -> str:
    """A deletion or a swap, layers counted from 1."""
    if change.swapped:
        (stack, one, _part), (_stack, other, _other) = map(_place, change.swapped)
        return f"{_stack_name(stack)}{from_one(one)} ↔ {from_one(other)}"
    stack, layer, part = _place(change.deleted[0])
    return f"{_stack_name(stack)}{_(PART_NAMES[part])} {from_one(layer)}"


def _place(path: str) -> tuple[str, int, str]:
    stack, layer, part = PATH.fullmatch(path).groups()  # type: ignore[union-attr]
    return stack, int(layer), part


def _stack_name(stack: str) -> str:
    return f"{_(STACK_NAMES[stack])} " if stack else ""


@lru_cache(maxsize=512)
def measure(weights: str, change: Change) -> Changed:
    """One change, measured; `weights` names the model as it was trained."""
    return deletion.measure_change(starts.calibrated(weights), change)


@lru_cache(maxsize=16)
def facts_of(weights: str) -> DeletionFacts:
    return deletion_facts.deletion_facts(starts.calibrated(weights), partial(measure, weights))


def says_deletion(facts: DeletionFacts) -> str:
    """What one deletion costs at least and at most, and a swap."""
    text = _(
        "{score}: {before} for the whole model, {kept} without {least}, {left} without "
        "{most}. With {half} of {n} deleted, the result is {first} if the least needed parts "
        "are deleted first and {random} if parts are chosen at random."
    )
    half = len(facts.deleted) // 2
    return text.format(
        score=_(facts.score_name) if facts.is_share else _("held-out loss in nats"),
        before=_said(facts.quality(facts.original), facts),
        least=change_name(facts.least_needed.change),
        kept=_said(facts.quality(facts.least_needed), facts),
        most=change_name(facts.most_needed.change),
        left=_said(facts.quality(facts.most_needed), facts),
        half=half,
        n=len(facts.deleted),
        first=_said(facts.quality(facts.least_first[half]), facts),
        random=_said(facts.random_means[half], facts),
    )


def _said(quality: float, facts: DeletionFacts) -> str:
    return quality_text(quality, is_share=facts.is_share)


def says_siblings(facts: SiblingFacts) -> str:
    """What is left after one deletion, with and without the connection."""
    text = _(
        "In sorting models that differ only in norm placement and residual connections, "
        "deleting one of {n} sub-layers leaves {with_residual} of the answers exact with "
        "residual connections and {without} without them."
    )
    return text.format(
        n=facts.n_sublayers,
        with_residual=_range(facts.after(1, is_connected=True)),
        without=_range(facts.after(1, is_connected=False)),
    )


def _range(ends: tuple[float, float]) -> str:
    low, high = map(percent, ends)
    return low if low == high else f"{low}–{high}"


def deletion_table(facts: DeletionFacts) -> pd.DataFrame:
    """One row a measured change."""
    lines = [("alone", facts.alone), ("least_first", facts.least_first)]
    lines += [(f"random_{seed}", line) for seed, line in enumerate(facts.random)]
    return pd.DataFrame(
        [
            {
                "order": name,
                "deleted": "+".join(each.change.deleted),
                "swapped": "+".join(each.change.swapped or ()),
                "score": each.score,
                "held_out_loss": each.held_out_loss,
            }
            for name, line in lines
            for each in line
        ]
    )


def alone(facts: DeletionFacts) -> Chart:
    """A bar for every sub-layer deleted alone and every two layers swapped."""
    names = [change_name(each.change) for each in facts.alone]
    return Chart(
        _("Without one sub-layer, or with two layers swapped"),
        [
            {**vars(each), "score": each.score, "label": n}
            for n, each in zip(names, facts.alone, strict=True)
        ],
        shared.quality_axis(facts.score_name, facts.is_share, ends=None),
        Axis(names=names),
        [
            bars(
                "score" if facts.is_share else "held_out_loss",
                Look(color=[*map(_color, facts.alone)]),
            )
        ],
        hover=_("{label}: score {score:.3f}, loss {held_out_loss:.3f}"),
        tall=24 * len(names),
        levels=[Level(x=facts.quality(facts.original))],
    )


def _color(changed: Changed) -> str:
    is_swap, part = changed.change.swapped, ""
    if not is_swap:
        _stack, _layer, part = _place(changed.change.deleted[0])
    return palette.PINNED if is_swap else COLORS[part]


def lines(facts: DeletionFacts) -> Chart:
    """Score over the number deleted: the least needed first, and at random, with its band."""
    low, high = ([end(each) for each in facts.random_spreads] for end in (min, max))
    first = [facts.quality(each) for each in facts.least_first]
    return Chart(
        _("Quality as more sub-layers are deleted"),
        {"low": low, "high": high, "random": facts.random_means, "first": first},
        Axis(_("sub-layers deleted"), of=ROW, ticks=range(len(first))),
        shared.quality_axis(facts.score_name, facts.is_share, ends=None),
        [
            band("low", "high", palette.BEFORE),
            line("random", Look(_("at random"), palette.BEFORE, "circle", width=2, dash="dash")),
            line("first", Look(_("least needed first"), palette.ATTENTION, "circle", width=2)),
        ],
        hover="{x}: {y:.3f}",
        tall=TALL,
        legend=Legend.FOOT,
    )


def siblings(facts: SiblingFacts) -> Chart:
    """A line for each kind, those with the connection within the band of all seeds and orders."""
    looks = {
        (placement, is_connected): Look(
            _(SIBLING_NAMES[placement, is_connected]),
            palette.ATTENTION if placement is NormPlacement.PRE else palette.FEED_FORWARD,
            "circle",
            width=2,
            dash="solid" if is_connected else "dot",
        )
        for placement, is_connected in SIBLING_NAMES
    }
    ends = {
        kind: {"low": [*map(min, found)], "high": [*map(max, found)]}
        for kind, found in facts.columns.items()
        if kind[1]
    }
    return Chart(
        _("Models trained to sort, with sub-layers deleted at random"),
        {"n": range(facts.n_sublayers + 1)},
        Axis(_("sub-layers deleted"), of=ROW, ticks=range(facts.n_sublayers + 1)),
        Axis(_("exact answers"), (-0.03, 1.05), is_share=True),
        [
            *(band("low", "high", str(looks[k].color), rows=rows) for k, rows in ends.items()),
            *(line("mean", looks[k], rows={"mean": mean}) for k, mean in facts.means.items()),
        ],
        hover="{x}: {y:.3f}",
        tall=TALL,
        legend=Legend.FOOT,
    )


@section
def which_layers_can_go(run: Run, state: State) -> None:
    """The siblings that were recorded; then, when the reader asks, the reader's own model."""
    place = explained(("paths", "residual"), CODE, key="deletion")
    weights = score_text.measured(run, state)
    n = deletion_facts.n_changes(shared.whole(run, state))
    label = _("Delete sub-layers and swap layers here: {n} measurements")
    if is_deep(shared.whole(run, state).model):
        label = _("Delete whole layers and swap neighbors here: {n} measurements")
    with present.aside():
        switch("measure_deletions", label.format(n=n))
    if not state.measure_deletions:
        shared.said_time(run, n * pass_flops(shared.whole(run, state)), state)
        with place:
            say(says_siblings, facts=recorded_deletions)
        show(siblings, facts=recorded_deletions, key="siblings")
        text = _(
            "The recorded models have {n} layers and were trained for {updates} updates; "
            "lines show the mean over {seeds} seeds with 3 random orders each; the band shows"
            " their range. A deleted sub-layer is bypassed together with its norm."
        )
        note(text.format(n=N_LAYERS, updates=N_UPDATES, seeds=len(SEEDS)))
        return
    if _measured(weights, n) < n:
        return
    with place:
        say(says_deletion, weights, facts=facts_of)
    left, right = columns(2)
    with left:
        show(alone, weights, facts=facts_of, key="deleted_alone", room=470)
    with right:
        show(lines, weights, facts=facts_of, key="deleted_lines", room=470)
    note(
        _(
            "Nothing is retrained. The least needed part is the one whose deletion alone "
            "leaves the lowest loss. There are 3 random orders (seeds 0 to 2); the band shows"
            " their range. Deleted parts are bypassed."
        )
    )
    rows = deletion_table(facts_of(weights))
    download("deletions.csv", lambda: rows.to_csv(index=False), "text/csv")


def _measured(weights: str, n: int) -> int:
    model, known = starts.calibrated(weights), partial(measure, weights)
    steps = [
        partial(lambda i: known(deletion_facts.change_at(model, i, known)), i) for i in range(n)
    ]
    what = "deletions", weights
    done = in_steps(steps, what=what, key="deletions", asked_by="measure_deletions")
    return len(done.found)
