"""Two edges of masking: a query that may see no key, and keys of another, padded sequence."""

import streamlit as st

from blocks.inspection import blind_rows
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern
from blocks.model.model_input import PADDING
from blocks.observe.run import Run
from pages.figures import mask_steps
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.masks import controls, measured, words


@section
def nothing_to_see(run: Run, layer: int, head: int, token: int) -> None:
    """A row without an allowed key, by each way of masking."""
    code = (attention_pattern, blind_rows.treated)
    place = explained(("masks", "mask_faults"), code, key="blind")
    query, is_real = measured.blind_query(run, token)
    shown = run, layer, head, query
    show(draw_blind, *shown, key="blind_row", alt=words.blind_alt)
    place.info(words.blind_sentence(*shown, is_real), icon=":material/lightbulb:")


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
    controls.cross_controls()
    size = len(run.input.labels), run.config.d_head
    shown = (run.input.labels, *size, *other_sequence(), run.seed)
    first, second, third = st.columns(3)
    with first:
        show(draw_cross_mask, *shown, key="cross_mask", alt=words.cross_alt)
    with second:
        show(draw_cross_scores, *shown, key="cross_scores", alt=words.cross_alt)
    with third:
        show(draw_cross_pattern, *shown, key="cross_pattern", alt=words.cross_alt)
    sentence = words.cross_sentence(size[0], *other_sequence(), run.seed)
    place.info(sentence, icon=":material/lightbulb:")


def other_sequence() -> tuple[int, int]:
    """Tokens of the other sequence, and its padding."""
    return controls.shown("cross_len"), controls.shown("cross_padding")


def key_labels(n_tokens: int, n_padding: int) -> list[str]:
    """What its keys are called: their number, or padding."""
    return [*(str(i) for i in range(1, 1 + n_tokens)), *([PADDING] * n_padding)]


def draw_blind(run: Run, layer: int, head: int, query: int):
    """The weights of a query without a key, by each treatment."""
    title = _("Query {token}, head {head}: weights if no key is allowed")
    return mask_steps.blind_row(
        measured.blind_rows(run, layer, head, query),
        words.treatments(),
        run.input.labels,
        title=title.format(token=words.in_picture(run, query), head=head),
        _=_,
    )


def draw_cross_mask(queries, n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int):
    """Which keys of the other sequence may be read."""
    found = measured.cross(n_queries, d_head, n_tokens, n_padding, seed)
    return mask_steps.mask_map(found.open, queries, key_labels(n_tokens, n_padding), _=_)


def draw_cross_scores(
    queries, n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int
):
    """Scores over all keys, padding included."""
    found = measured.cross(n_queries, d_head, n_tokens, n_padding, seed)
    return mask_steps.score_map(found.scores, queries, key_labels(n_tokens, n_padding), _=_)


def draw_cross_pattern(
    queries, n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int
):
    """The pattern over the tokens that are left."""
    found = measured.cross(n_queries, d_head, n_tokens, n_padding, seed)
    labels = key_labels(n_tokens, n_padding)
    return mask_steps.pattern_map(found.pattern, found.open, queries, labels, _=_)
