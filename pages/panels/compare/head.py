"""The same head of A and of B, large, and where B reads more than A."""

from functools import lru_cache

import streamlit as st

from blocks.inspection import tiles
from blocks.inspection.two_runs import OneHead, TwoHeads
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.compare import runs, runs_picture, shared
from pages.panels.compare.shared import Pair
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.said import say
from pages.show.views import head_choice, pin_token
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, literal, sentences
from pages.words.numbers import percent


@lru_cache(maxsize=32)
def one_head(run: Run, layer: int, head: int) -> OneHead:
    """The pattern of one head, on the host."""
    pattern, mask = runs.pattern(run, layer)[None, head : head + 1], runs.mask(run, layer)
    codes = tiles.encode(pattern, mask)[0, 0].cpu().numpy()
    return OneHead(run.input.labels, codes, tiles.weights(pattern, mask))


def head_facts(pair: Pair, layer: int, head: int, token: int) -> TwoHeads:
    """The same head of both, at the pinned token."""
    a, b = (one_head(run, layer, head) for run in pair.both)
    distance = runs.distances(pair)[layer, head] if pair.reads_the_same else 0
    return TwoHeads(a, b, token, float(distance))


def says_head(facts: TwoHeads) -> str:
    """Where the pinned token reads from in both, and how much of its weight lies elsewhere."""
    if facts.is_blind:
        return _("The pinned token cannot attend to any key in one of the models.")
    (key_a, weight_a), (key_b, weight_b) = (
        each.most_read(facts.token) for each in (facts.a, facts.b)
    )
    text = _(
        "{token} (token {place}) attends most to {key_a} in A ({weight_a:.2f}) and to "
        "{key_b} in B ({weight_b:.2f})."
    )
    if not facts.reads_the_same:
        text = _(
            "Token {place} is {token_a} in A and attends most to {key_a} "
            "({weight_a:.2f}); in B it is {token} and attends most to {key_b} "
            "({weight_b:.2f})."
        )
    said = text.format(
        token=literal(facts.b.labels[facts.token]),
        token_a=literal(facts.a.labels[facts.token]),
        place=from_one(facts.token),
        key_a=literal(key_a),
        key_b=literal(key_b),
        weight_a=weight_a,
        weight_b=weight_b,
    )
    if not facts.reads_the_same:
        return said
    text = _(
        "{share} of the token's attention lies on different keys in A and B; the average "
        "over the head's queries is {mean}."
    )
    return sentences(said, text.format(share=percent(facts.moved), mean=percent(facts.distance)))


def one_head_of_each(pair: Pair, state: State) -> None:
    """The same head of both, large, and the difference."""
    place = explained(("comparing", "attention"), key="pair_head")
    at = shared.selection(pair, state)
    head_choice(min(pair.both, key=lambda run: run.config.n_heads), at.head)
    with place:
        say(says_head, pair, *at, facts=head_facts)
    *sides, last = st.columns(3)
    for side, column in enumerate(sides):
        with column:
            show(draw_one, pair, side, *at, key=f"pair_pattern_{side}", on_click=pin_token)
    with last:
        if pair.reads_the_same:
            show(draw_difference, pair, *at, key="pair_difference", on_click=pin_token)
        else:
            note(runs.says_tokens_differ(pair))


def draw_one(pair: Pair, side: int, layer: int, head: int, token: int) -> Picture:
    """One head of one side; of a long text the part around the pinned token."""
    found = one_head(pair.both[side], layer, head)
    text, drawn = _("{letter}: layer {layer}, head {head}"), found.drawn(token, labelled.WINDOW)
    return runs_picture.one_pattern(
        found.codes[drawn.rows, drawn.rows],
        found.weights[drawn.rows, drawn.rows],
        found.labels[drawn.rows],
        title=text.format(letter="AB"[side], layer=from_one(layer), head=from_one(head)),
        pinned=token,
        first=drawn.first,
        _=_,
    )


def draw_difference(pair: Pair, layer: int, head: int, token: int) -> Picture:
    """Where B reads more, and where A does."""
    facts = head_facts(pair, layer, head, token)
    drawn = facts.b.drawn(token, labelled.WINDOW)
    return runs_picture.difference(
        facts.difference[drawn.rows, drawn.rows],
        facts.b.labels[drawn.rows],
        title=_("B − A: blue where B attends more"),
        pinned=token,
        first=drawn.first,
        _=_,
    )
