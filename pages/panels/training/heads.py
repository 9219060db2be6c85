"""The attention of one fixed row, as the model learns."""

import functools
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.inspection import tiles
from blocks.inspection.learning import BirthFacts
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from blocks.training.tasks import TaskConfig
from blocks.training.training_run import TrainingRun
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.heads import one_head
from pages.panels.training import births_picture, shared
from pages.server import cached, runs, starts
from pages.show import layers
from pages.show.chart import show
from pages.show.controls import choose, slide
from pages.show.explain import explained, note
from pages.stage import link, present
from pages.state import labelled
from pages.state.link_fields.training import HEAD_MEASURES, LOOKED_AT
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, listing, sentences

MOST_LISTED, MOST_TOKENS = 6, 48
WIDE_TILES = 2  # so many tiles beside each other leave room for a name above


def tiles_alt(run: Run, *_marked: int) -> str:
    listed = listing(layers.labelled_tiles(run)["hover"])
    return _("Attention weights of all heads in all layers: {listed}.").format(listed=listed)


def habits_sentence(run: Run) -> str:
    """Which heads put more than half of their weight on one kind of place."""
    found = layers.heads(run)
    named = found[found["name"] != ""]
    if named.empty:
        return _(
            "No head has a clear role, since none puts more than half of its weight on one "
            "kind of position."
        )
    listed = listing(_habit(row) for row in named.head(MOST_LISTED).itertuples())
    rest = len(named) - MOST_LISTED
    more = _("And {n} more.").format(n=rest) if rest > 0 else ""
    text = _(
        "Heads with a clear role (more than half of their weight on one kind of "
        "position): {listed}."
    )
    return sentences(text.format(listed=listed), more)


def _habit(row: Any) -> str:
    text = _("layer {layer}, head {head}: {name} {share:.0%}")
    name, share = terms.head_name(row.name), getattr(row, row.name)
    return text.format(layer=from_one(row.layer), head=from_one(row.head), name=name, share=share)


def looked_at(run: TrainingRun, step: int, state: State) -> Run:
    """The trained model at a kept step, reading the task's own row or the reader's text."""
    return shared.reading(run, step, read_tokens(run.spec.task, state))


def read_tokens(task: TaskConfig, state: State) -> tuple[int, ...]:
    """What the model is looked at with, never empty."""
    text = state.text if state.looked_at == "own" else ""
    found = tuple(starts.task_tokenizer(task).encode(text)) if text else ()
    most = min(MOST_TOKENS, task.seq_len)
    return found[:most] or shared.own_row(task)[:most]


@lru_cache(maxsize=16)
def head_tiles(run: Run) -> NDArray[np.uint8]:
    """All heads of all layers, several layers in a row of tiles where heads are few."""
    seen = cached.recording(run)
    patterns = [seen.pattern(layer) for layer in run.config.attention_layers]
    masks = [run.build_mask(layer) for layer in run.config.attention_layers]
    codes = tiles.encode_layers(patterns, masks)
    return tiles.tile(tiles.shrink(codes), tile_columns(run))


def labelled_tiles(run: Run) -> pd.DataFrame:
    """One row a tile: `head` counts through all layers; names only where tiles are wide."""
    table = layers.labelled_tiles(run)
    if tile_columns(run) <= WIDE_TILES:
        return table
    numbers = [
        f"{from_one(row.layer)}·<b>{from_one(row.head)}</b>" for row in each_row(layers.heads(run))
    ]
    return table.assign(label=numbers)


def tile_columns(run: Run) -> int:
    """Whole layers beside each other, so that the picture is not taller than wide."""
    n_heads, n_layers = run.config.n_heads, run.config.n_attention_layers
    return n_heads * math.ceil(math.sqrt(n_layers / n_heads))


@lru_cache(maxsize=16)
def shares_by_step(
    run_id: str, steps: tuple[int, ...], token_ids: tuple[int, ...], measure: str
) -> pd.DataFrame:
    """One row per head and kept step: step, layer, head, number (through all layers), share."""
    run = runs.runs().get(run_id)
    found = [_shares(run, step, token_ids, measure) for step in steps]
    return pd.concat(found, ignore_index=True)


@lru_cache(maxsize=512)
def _shares(run: TrainingRun, step: int, token_ids: tuple[int, ...], measure: str) -> pd.DataFrame:
    table = layers.heads(shared.reading(run, step, token_ids))
    number = table["layer"] * run.spec.config.n_heads + table["head"]
    return table[["layer", "head"]].assign(step=step, number=number, share=table[measure])


@lru_cache(maxsize=16)
def birth_facts(
    run_id: str,
    kept: tuple[int, ...],
    token_ids: tuple[int, ...],
    measure: str,
    selected: int,
    now: int,
) -> BirthFacts:
    """One measure of every head at every kept step."""
    return BirthFacts(shares_by_step(run_id, kept, token_ids, measure), measure, selected, now)


def how_heads_come_to_be(run: TrainingRun, state: State) -> None:
    """All heads at a kept step, one of them large, and all of them over all kept steps."""
    with explained(("heads", "induction"), (head_measures.frame,), key="births"), present.aside():
        _input_choice(state)
    step = step_choice(run, state)
    seen = looked_at(run, step, state)
    layer, head = labelled.attending_layer(seen, state), labelled.selected_head(seen, state)
    st.info(habits_sentence(seen), icon=":material/lightbulb:")
    _all_and_one(seen, layer, head, labelled.pinned_token(seen, state))
    if present.is_on():
        return
    choose("head_measure", _("Where attention weight goes"), HEAD_MEASURES)
    row, measure = read_tokens(run.spec.task, state), state.head_measure
    selected = layer * run.spec.config.n_heads + head
    shown = run.id, run.snapshots.steps, row, measure, selected, step
    draw, on_click = births_picture.heads_over_steps, open_point
    show(draw, *shown, facts=birth_facts, key="head_births", on_click=on_click)
    note(shared.says_births(birth_facts(*shown)))


def _input_choice(state: State) -> None:
    choose("looked_at", _("Example the model reads"), LOOKED_AT)
    if state.looked_at == "own":
        st.text_area(
            _("Sentence"), height=70, label_visibility="collapsed", **link.view("text", state.text)
        )


def step_choice(run: TrainingRun, state: State) -> int:
    """Which kept step is looked at."""
    steps, step = run.snapshots.steps, kept_step(run, state)
    if len(steps) > 1:
        slide("at_step", _("Step · only steps with saved weights"), steps, step)
    return step


def kept_step(run: TrainingRun, state: State) -> int:
    """The kept step that is looked at: the nearest to the link's, or the newest."""
    asked = state.at_step
    return run.snapshots.steps[-1] if asked is None else run.snapshots.at(asked)[0]


def _all_and_one(seen: Run, layer: int, head: int, token: int) -> None:
    left, right = st.columns(2)
    shown = seen, layer, head, token
    with left:
        open_head = functools.partial(_open_head, seen.config)
        show(draw_tiles, *shown, key="trained_tiles", alt=tiles_alt, on_click=open_head)
    with right:
        one_head(*shown)


def draw_tiles(run: Run, layer: int, head: int, token: int) -> Picture:
    """A row of tiles for every layer."""
    return heads.overview(
        head_tiles(run),
        labelled_tiles(run),
        columns=tile_columns(run),
        selected=layers.tile(run, layer, head),
        pinned=labelled.row_share(run, token),
        _=_,
    )


def _open_head(config: ModelConfig, customdata: list[Any]) -> None:
    row, head = divmod(int(customdata[0]), config.n_heads)
    link.change("layer", config.attention_layers[row])
    link.change("head", head)


def open_point(customdata: list[Any]) -> None:
    """A point of a line was clicked: its head, at its step."""
    step, layer, head = (int(number) for number in customdata)
    link.change("at_step", step)
    link.change("layer", layer)
    link.change("head", head)
