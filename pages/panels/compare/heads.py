"""All heads of one layer of A and of B, and how far apart they lie."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import pattern_distance, tiles
from blocks.inspection.two_runs import HeadDistances
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture
from pages.panels.compare import runs, runs_picture, shared
from pages.panels.compare.runs import head_distances
from pages.panels.compare.shared import Pair
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.said import say
from pages.stage import link
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, sentences

TILES_WIDTH = 430


@lru_cache(maxsize=64)
def measures(run: Run, layer: int) -> pd.DataFrame:
    """One row per head of a layer: its measures."""
    found, tokens = runs.pattern(run, layer)[None], run.input.tokens or ()
    return head_measures.frame(found, runs.mask(run, layer), layer=layer, tokens=tokens)


def says_heads(facts: HeadDistances) -> str:
    """How far apart the heads are, which most, and whether heads keep their numbers."""
    text = _(
        "Heads of A and B with the same number are {mean:.3f} apart on average (0: identical,"
        " 1: disjoint; {n} queries). The pair furthest apart is layer {layer}, head {head}, "
        "at {most:.3f}."
    )
    layer, head = map(from_one, facts.furthest)
    said = text.format(
        mean=facts.mean, n=facts.n_queries, layer=layer, head=head, most=facts.largest
    )
    text = _(
        "In layer {layer}, for {n} of {all} heads of A, the nearest head of B has the same number."
    )
    nearest = {"n": facts.n_nearest_alike, "all": len(facts.each)}
    return sentences(said, text.format(layer=from_one(facts.layer), **nearest))


def says_distance(*, trained_apart: bool) -> str:
    """How to read the distances."""
    said = _(
        "The distance is half the sum of |A − B| over the keys (total variation), "
        "averaged over the queries that can attend to more than one key."
    )
    if not trained_apart:
        return said
    more = _(
        "Heads have no fixed order, so in models trained separately, heads that do the same "
        "job need not have the same number."
    )
    return sentences(said, more)


def who_reads_whom(pair: Pair, state: State) -> None:
    """All heads of one layer of both, and how far apart they are."""
    code = (pattern_distance.total_variation, pattern_distance.head_distances)
    place = explained(("comparing", "heads"), code, key="pair_heads")
    at = shared.selection(pair, state)
    with place:
        if pair.reads_the_same:
            say(says_heads, pair, at.layer, facts=head_distances)
        else:
            st.info(runs.says_tokens_differ(pair), icon=":material/block:")
    for side, column in enumerate(st.columns(2)):
        with column:
            on_click = open_head(pair)
            show(draw_tiles, pair, side, *at, key=f"pair_tiles_{side}", on_click=on_click)
    if not pair.reads_the_same:
        return
    left, right = st.columns(2)
    with left:
        shown = pair, at.layer, at.head
        show(draw_distances, *shown, key="pair_distances", on_click=open_distance)
    with right:
        show(draw_matrix, pair, at.layer, key="pair_matrix")
    a, b = (run.weights for run in pair.both)
    note(says_distance(trained_apart=bool(a and b and a != b)))


def open_head(pair: Pair) -> Callable[[list[Any]], None]:
    """A tile was clicked; a head that the other has not stays closed."""

    def opened(customdata: list[Any]) -> None:
        if int(customdata[0]) < pair.n_heads:
            link.change("head", int(customdata[0]))

    return opened


def open_distance(customdata: list[Any]) -> None:
    link.change("layer", int(customdata[0]))
    link.change("head", int(customdata[1]))


def draw_tiles(pair: Pair, side: int, layer: int, head: int, token: int) -> Picture:
    """All heads of a layer of one side."""
    run, n = pair.both[side], pair.both[side].config.n_heads
    found = measures(run, layer)
    names = [terms.short_head_name(row.name) for row in each_row(found)]
    labels = [f"<b>{from_one(i)}</b> {name}" for i, name in zip(found["head"], names, strict=True)]
    hovers = [_hover(pair, row, layer) for row in each_row(found)]
    codes = tiles.shrink(tiles.encode(runs.pattern(run, layer), runs.mask(run, layer)))
    title = _("{letter}: all heads of layer {layer}").format(
        letter="AB"[side], layer=from_one(layer)
    )
    return heads.overview(
        tiles.tile(codes, tiles.columns(n)),
        found.assign(label=labels, hover=hovers),
        columns=tiles.columns(n),
        selected=head,
        pinned=labelled.row_share(run, token),
        title=title,
        width=TILES_WIDTH,
        _=_,
    )


def _hover(pair: Pair, row: Row, layer: int) -> str:
    said = labelled.head_hover(row)
    if not pair.reads_the_same or row.head >= pair.n_heads:
        return said
    text = _("{said}<br>distance {distance:.3f} to head {head} of the other model")
    distance = runs.distances(pair)[layer, row.head]
    return text.format(said=said, distance=distance, head=from_one(row.head))


def draw_distances(pair: Pair, layer: int, head: int) -> Picture:
    """Distance of heads with the same number, in all layers."""
    return runs_picture.distances(
        runs.distances(pair),
        titles=(_("layer"), _("head")),
        selected=(layer, head),
        title=_("Distance between heads with the same number"),
        _=_,
    )


def draw_matrix(pair: Pair, layer: int) -> Picture:
    """Distance of every head to every head."""
    title = _("Layer {layer}: every head of A against every head of B")
    return runs_picture.distances(
        head_distances(pair, layer).each,
        titles=(_("head of A"), _("head of B")),
        title=title.format(layer=from_one(layer)),
        _=_,
    )
