"""Two edges of masking: a query that may see no key, and keys of another, padded sequence."""

from collections.abc import Hashable
from functools import lru_cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import blind_rows
from blocks.inspection import mask_steps as steps_measures
from blocks.inspection.blind_rows import Treatment, spread_of_nan
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern
from blocks.model.faults import N_
from blocks.model.model_input import PADDING
from blocks.observe.run import Run
from pages.figures import mask_steps
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.masks import shared
from pages.ui import cached, link
from pages.ui.chart import show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _


@lru_cache(maxsize=32)
def measured_blind_rows(run: Run, layer: int, head: int, query: int) -> NDArray[np.float64]:
    """Its weights by each treatment, NaN as they are: (treatment, key)."""
    return shared.layer_steps(run, layer).without_a_key(head, query)


@lru_cache(maxsize=32)
def spoiled_outputs(run: Run, layer: int, head: int, query: int) -> int:
    """How many outputs are no number if one row of this head is none."""
    with cached.turn(run.device):
        model = cached.model(run)
        return spread_of_nan(run, model, layer=layer, head=head, query=query)


cross = lru_cache(maxsize=32)(steps_measures.cross)


LONGEST_LABEL = 24


TREATMENTS = {
    Treatment.ZEROS: N_("zeros (here)"),
    Treatment.MINUS_1E9: N_("−10⁹ added"),
    Treatment.LEAST: N_("filled with the smallest number"),
    Treatment.MINUS_INFINITY: N_("−∞ added"),
}


def blind_sentence(run: Run, layer: int, head: int, query: int, is_real: bool) -> str:
    """What becomes of a query that may see no key."""
    if is_real:
        text = _("Query {query} cannot attend to any key in this run.")
    else:
        text = _("Every query can attend to some key in this run. Suppose query {query} could not.")
    spoiled = spoiled_outputs(run, layer, head, query)
    rest = _(
        "A row of −∞ gives 0/0 = NaN; from this row of head {head} in layer {layer} NaN "
        "spreads to {n} of {all} outputs, since 0 × NaN is NaN: a mask in a later layer "
        "does not stop it."
    )
    rest = rest.format(
        head=from_one(head), layer=from_one(layer), n=spoiled, all=len(run.input.labels)
    )
    return (
        f"{text.format(query=shared.token(run, query))} {_by_1e9(run, layer, head, query)} {rest}"
    )


def _by_1e9(run: Run, layer: int, head: int, query: int) -> str:
    row = measured_blind_rows(run, layer, head, query)[list(Treatment).index(Treatment.MINUS_1E9)]
    if not np.isfinite(row).all():
        return _("In {dtype} −10⁹ is out of range and becomes −∞.").format(dtype=run.dtype)
    if np.ptp(row) < 1e-3 / len(row):
        text = _(
            "Adding −10⁹ wipes out the scores in {dtype}: all {n} keys get {weight:.4f} "
            "each, padding and later tokens included."
        )
    else:
        text = _(
            "Adding −10⁹ to all scores changes nothing in {dtype}: the row attends to all {n} "
            "keys as if there were no mask."
        )
    return text.format(dtype=run.dtype, n=len(row), weight=float(row.mean()))


def cross_sentence(n_queries: int, n_tokens: int, n_padding: int, seed: int) -> str:
    """What the rectangle shows."""
    text = _(
        "{n_queries} queries of this input attend to {n_keys} keys of another sequence, "
        "{n_padding} of them padding: those columns are masked for every query, and "
        "each row spreads its weight over the {n_tokens} tokens. Queries and keys are "
        "random here (seed {seed})."
    )
    return text.format(
        n_queries=n_queries,
        n_keys=n_tokens + n_padding,
        n_padding=n_padding,
        n_tokens=n_tokens,
        seed=seed,
    )


def blind_alt(run: Run, layer: int, head: int, query: int) -> str:
    """The rows without a key in words."""
    rows = measured_blind_rows(run, layer, head, query)
    said = [
        f"{_(TREATMENTS[treatment])}: "
        + (
            _("{least:.3f} to {most:.3f}").format(least=float(row.min()), most=float(row.max()))
            if np.isfinite(row).all()
            else _("NaN")
        )
        for treatment, row in zip(Treatment, rows, strict=True)
    ]
    return _("Weights of a query that sees no key: {rows}.").format(rows="; ".join(said))


def cross_alt(*_more: Hashable) -> str:
    """The rectangle in words."""
    return _("Attention over another, padded sequence: padding columns are masked.")


def treatments() -> list[str]:
    """What the ways of masking a whole row are called."""
    return [_(TREATMENTS[treatment]) for treatment in Treatment]


def in_picture(run: Run, place: int) -> str:
    """A token in the title of a picture: plain, Plotly takes markup otherwise."""
    label = run.input.labels[place]
    shown = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{place + 1} {escaped}"


def cross_controls() -> None:
    """The other sequence."""
    left, right = st.columns(2)
    with left:
        slider("cross_len", _("Tokens of the other sequence"), shown("cross_len"))
    with right:
        slider("cross_padding", _("Its padding tokens"), shown("cross_padding"))


def shown(name: str) -> int:
    """The value of a field."""
    return link.value(name)


@section
def nothing_to_see(run: Run, layer: int, head: int, token: int) -> None:
    """A row without an allowed key, by each way of masking."""
    code = (attention_pattern, blind_rows.treated)
    place = explained(("masks", "mask_faults"), code, key="blind")
    query, is_real = shared.blind_query(run, token)
    shown = run, layer, head, query
    show(draw_blind, *shown, key="blind_row", alt=blind_alt)
    place.info(blind_sentence(*shown, is_real), icon=":material/lightbulb:")


@section
def another_sequence(run: Run) -> None:
    """Cross attention asks another sequence, and its padding is closed."""
    place = explained(("masks",), (mask_rules.cross_padding,), key="cross")
    note(
        _(
            "In cross-attention queries come from one sequence and keys from another, "
            "so the mask is a rectangle. Here one head of random queries and keys shows "
            "it."
        )
    )
    cross_controls()
    size = len(run.input.labels), run.config.d_head
    shown = (run.input.labels, *size, *other_sequence(), run.seed)
    first, second, third = st.columns(3)
    with first:
        show(draw_cross_mask, *shown, key="cross_mask", alt=cross_alt)
    with second:
        show(draw_cross_scores, *shown, key="cross_scores", alt=cross_alt)
    with third:
        show(draw_cross_pattern, *shown, key="cross_pattern", alt=cross_alt)
    sentence = cross_sentence(size[0], *other_sequence(), run.seed)
    place.info(sentence, icon=":material/lightbulb:")


def other_sequence() -> tuple[int, int]:
    """Tokens of the other sequence, and its padding."""
    return shown("cross_len"), shown("cross_padding")


def key_labels(n_tokens: int, n_padding: int) -> list[str]:
    """What its keys are called: their number, or padding."""
    return [*(str(i) for i in range(1, 1 + n_tokens)), *([PADDING] * n_padding)]


def draw_blind(run: Run, layer: int, head: int, query: int) -> Picture:
    """The weights of a query without a key, by each treatment."""
    title = _("Query {token}, head {head}: weights if no key is allowed")
    return mask_steps.blind_row(
        measured_blind_rows(run, layer, head, query),
        treatments(),
        run.input.labels,
        title=title.format(token=in_picture(run, query), head=from_one(head)),
        _=_,
    )


def draw_cross_mask(
    queries: tuple[str, ...], n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int
) -> Picture:
    """Which keys of the other sequence may be read."""
    found = cross(n_queries, d_head, n_tokens, n_padding, seed)
    return mask_steps.mask_map(found.open, queries, key_labels(n_tokens, n_padding), _=_)


def draw_cross_scores(
    queries: tuple[str, ...], n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int
) -> Picture:
    """Scores over all keys, padding included."""
    found = cross(n_queries, d_head, n_tokens, n_padding, seed)
    return mask_steps.score_map(found.scores, queries, key_labels(n_tokens, n_padding), _=_)


def draw_cross_pattern(
    queries: tuple[str, ...], n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int
) -> Picture:
    """The pattern over the tokens that are left."""
    found = cross(n_queries, d_head, n_tokens, n_padding, seed)
    labels = key_labels(n_tokens, n_padding)
    return mask_steps.pattern_map(found.pattern, found.open, queries, labels, _=_)
