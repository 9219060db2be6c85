"""Why scores are divided by √d_head: with and without, in one head and in random vectors."""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import scaling, source
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.attention import scaling_picture as pictures
from pages.panels.attention import shared
from pages.panels.attention.shared import head_called
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.controls import switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@lru_cache(maxsize=32)
def sharpness(run: Run, layer: int, number: int, is_scaled: bool) -> scaling.Sharpness:
    """How sharp a head is, with its scores divided by √d_head and without."""
    found = shared.attention(run, layer)
    scores = found.q[number] @ found.k[number].mT
    if is_scaled:
        scores = scores * found.q.shape[-1] ** -0.5
    if found.bias is not None:
        scores = scores + found.bias[number]
    return scaling.sharpness(scores, found.mask)


def both_ways(run: Run, layer: int, number: int) -> pd.DataFrame:
    """`sharpness` with and without the division, a row each."""
    rows = [
        {"d_head": run.config.d_head, "is_scaled": way, **vars(sharpness(run, layer, number, way))}
        for way in (True, False)
    ]
    return pd.DataFrame(rows)


@lru_cache(maxsize=64)
def row_weights(
    run: Run, layer: int, number: int, query: int, is_scaled: bool
) -> NDArray[np.float64]:
    """The weights of one query, as recorded, or of scores that are not divided: (key,)."""
    one = shared.head_steps_of(run, layer, number)
    if is_scaled:
        return np.nan_to_num(one.pattern[query])
    bias = 0 if one.biased is None else one.biased[query] - one.scaled[query]
    scores = np.where(np.isnan(one.masked[query]), -np.inf, one.raw[query] + bias)
    if np.isinf(scores).all():
        return np.zeros_like(scores)
    exp = np.exp(scores - scores.max())
    return exp / exp.sum()


def scaling_switch() -> None:
    """Whether scores are divided by √d_head in what is drawn here."""
    switch(
        "is_scaled",
        _("Divide the scores by √d_head"),
        help=_(
            "Off: the same queries and keys, scores not divided. The run itself is not changed."
        ),
    )


def scaling_sentence(run: Run, layer: int, head: int) -> str:
    """What the division does: to random vectors of this width, and to this head."""
    if len(run.input.labels) == 1:
        return _("A single token has nothing to choose from: its weight on itself is 1 either way.")
    with_it, without = (sharpness(run, layer, head, on) for on in (True, False))
    text = _(
        "Without ÷ √{d_head}, {head} would put {without:.0%} on its largest weight on "
        "average, with it {with_it:.0%}; entropy falls from {bits:.2f} to "
        "{bits_without:.2f} bits, and the softmax gradient from {slope:.2f} to "
        "{slope_without:.2f}."
    )
    return text.format(
        d_head=run.config.d_head,
        head=head_called(layer, head),
        with_it=with_it.largest_weight,
        without=without.largest_weight,
        bits=with_it.entropy_bits,
        bits_without=without.entropy_bits,
        slope=with_it.slope,
        slope_without=without.slope,
    )


def random_scaling_note(run: Run) -> str:
    """How the curves were drawn, and what they say at their ends."""
    table = shared.random_sharpness(run).set_index(["is_scaled", "d_head"])
    text = _(
        "Curves: random q and k, every number from N(0, 1) (seed {seed}), under this "
        "run's mask. A dot product over d_head such numbers has standard deviation "
        "√d_head: {least:.1f} at d_head = 1, {most:.1f} at 512; divided by √d_head it "
        "stays at {scaled:.1f}."
    )
    std = table["score_std"]
    return text.format(
        seed=run.seed, least=std[False, 1], most=std[False, 512], scaled=std[True, 512]
    )


def scaling_alt(run: Run, layer: int, head: int, _is_scaled: bool) -> str:
    """Write the alt text of the curves."""
    return f"{scaling_sentence(run, layer, head)} {random_scaling_note(run)}"


def row_alt(run: Run, layer: int, head: int, query: int, _is_scaled: bool) -> str:
    """Write the alt text of the bars."""
    text = _("Weights of {token} with and without the division by √d_head, one bar per key.")
    return text.format(token=run.input.labels[query])


@section
def why_divide(run: Run, layer: int, head: int, token: int) -> None:
    """The switch, the row of the pinned token, and the curves."""
    code = (*source.heads_source(), scaling.sharpness)
    with explained(("scaling",), code, key="scaling"):
        say(scaling_sentence, run, layer, head)
    scaling_switch()
    is_scaled = link.value("is_scaled")
    left, right = columns([5, 7])
    with left:
        show(draw_row, run, layer, head, token, is_scaled, key="scaled_row", alt=row_alt)
    with right:
        show(draw_curves, run, layer, head, is_scaled, key="scaling_curves", alt=scaling_alt)
    shown = shared.window(run, token, shared.MOST_LINES)
    if said := shared.drawn_note(run, layer, head, token, shown):
        note(said)
    note(random_scaling_note(run))


def draw_row(run: Run, layer: int, head: int, token: int, is_scaled: bool) -> Picture:
    """The weights of the pinned token, and where they would be the other way."""
    keys = slice(*shared.window(run, token, shared.MOST_LINES))
    chosen, other = (
        row_weights(run, layer, head, token, way)[keys] for way in (is_scaled, not is_scaled)
    )
    title = _("What the pinned token attends to")
    return pictures.row(chosen, other, run.input.labels[keys], title=title, _=_)


def draw_curves(run: Run, layer: int, head: int, is_scaled: bool) -> Picture:
    """Random vectors of every width, and this head."""
    return pictures.curves(
        shared.random_sharpness(run),
        both_ways(run, layer, head),
        is_scaled=is_scaled,
        head_name=head_called(layer, head),
        _=_,
    )
