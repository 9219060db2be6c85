"""Frames with the reader's words in them, ready to be drawn."""

from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks import ModelConfig
from blocks.inspection import head_facts
from blocks.model.kinds import Architecture, TokenMixer
from blocks.observe.run import PaddingSide, Run
from blocks.text.bpe import MASK
from pages.figures.counting import from_one
from pages.figures.table_rows import Row
from pages.server import cached, probed
from pages.state import sinks
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, current_language, ngettext

WINDOW, FEW_LAYERS = 192, 12


def stages(run: Run, layer: int, is_apart: bool = False) -> pd.DataFrame:
    """The flow with what each stage is called, what stands in its box, and its live shape.

    `is_apart`: sinks are left out of the values.
    """
    return _stages(run, layer, sinks.set_apart(run, is_apart), current_language())


@lru_cache(maxsize=64)
def _stages(run: Run, layer: int, without: tuple[int, ...], language: str) -> pd.DataFrame:
    table = cached.flow(run, layer, without)
    batch, seq_len = run.input.shape
    shape = f"({batch}, {seq_len}, {run.config.d_model})"
    labels = [terms.stage(name, run.config, layer) for name in table["stage"]]
    details = [_detail(part, run, layer) for part in table["part"]]
    return table.assign(label=labels, detail=details, shape=shape)


def _detail(part: str, run: Run, layer: int) -> str:
    config = run.config
    match part:
        case "embedding" | "stream":
            is_random = run.input.tokens is None
            counted = _("random tensor") if is_random else _("tokens: {n}")
            return counted.format(n=len(run.input.labels))
        case "position":
            return terms.option(config.position.position_kind)
        case "norm":
            return terms.option(config.norm.norm_kind)
        case "attention" if config.mixer_of(layer) is TokenMixer.GRU:
            return f"d_model {config.d_model}"
        case "attention" if not config.attends_in(layer):
            return f"{config.n_heads} · {config.d_head} × {config.d_head}"
        case "attention":
            inside = () if config.position.position_kind.is_added else (_inside(config),)
            n = config.n_heads
            n_heads = ngettext("{n} head", "{n} heads", n).format(n=n)
            return " · ".join((n_heads, _mask(run, layer), *inside))
        case "feed_forward":
            activation = terms.option(config.feed_forward.activation)
            return f"d_ff {config.d_ff} · {activation}"
        case _:
            return ""


def _mask(run: Run, layer: int) -> str:
    """Who may see whom in a layer; a local one names its window."""
    kind, window = terms.option(run.mask.mask_kind), run.config.window_of(layer)
    return f"{kind} · " + _("window {n}").format(n=window) if window else kind


def _inside(config: ModelConfig) -> str:
    kind = config.position.position_kind
    return _("NoPE") if kind == "none" else terms.option(kind)


def heads(run: Run, layer: int) -> pd.DataFrame:
    """Head measures with a title for each tile and the words under the cursor."""
    return _heads(run, layer, current_language())


@lru_cache(maxsize=64)
def _heads(run: Run, layer: int, language: str) -> pd.DataFrame:
    table = probed.badges(run, cached.heads(run, layer))
    labels = [_head_title(row) for row in table.itertuples()]
    hovers = [_named(head_hover(row), row) for row in table.itertuples()]
    return table.assign(label=labels, hover=hovers)


def _head_title(row: Row) -> str:
    share = f"{row.badge_score:.2f}".removeprefix("0")
    name = f" {terms.short_head_name(row.badge)} {share}" if row.badge else ""
    return f"<b>{from_one(row.head)}</b>{name}"


def _named(said: str, row: Row) -> str:
    return f"{said} · {probed.said(row.badge, row.badge_score)}" if row.badge else said


def head_hover(row: Row) -> str:
    """Write a head's number, entropy and mean distance in one line."""
    return _("head {head}: entropy {entropy:.2f} bits, mean distance {distance:.1f} tokens").format(
        head=from_one(row.head), entropy=row.entropy_bits, distance=row.distance_tokens
    )


def pinned_token(run: Run, state: State) -> int:
    """The token that is outlined everywhere: the reader's, or else the hidden or the last one."""
    labels, chosen = run.input.labels, state.token
    if chosen is not None:
        return min(chosen, len(labels) - 1)
    return labels.index(MASK) if MASK in labels else last_token(run)


def pinned_target(run: Run, state: State) -> int:
    """The token of the target that is outlined: the reader's, or the last that was written.

    Of a whole target, whose last is a mark, the one in the middle.
    """
    n, chosen = len(run.target_or_start.labels), state.target_token
    if chosen is not None:
        return min(chosen, n - 1)
    return n // 2 if state.target_step is None else n - 1


def last_token(run: Run) -> int:
    is_right = run.input.padding_side is PaddingSide.RIGHT
    return len(run.input.labels) - 1 - (run.input.n_padding if is_right else 0)


def selected_layer(run: Run, state: State) -> int:
    """The layer that is looked at: the reader's where the model has it, or a telling one."""
    chosen = state.layer
    return telling(run)[0] if chosen is None else min(chosen, run.config.n_layers - 1)


def attending_layer(run: Run, state: State) -> int:
    """The same where attention is looked at: the next one that attends, or the last of them."""
    chosen, attending = selected_layer(run, state), run.config.attention_layers
    if chosen in attending or not attending:
        return chosen
    return next((layer for layer in attending if layer > chosen), attending[-1])


def selected_head(run: Run, state: State) -> int:
    """The head that is shown large: the reader's where there is one, or a telling one."""
    chosen = state.head
    if chosen is None and state.layer is None:
        return telling(run)[1]
    return min(chosen or 0, run.config.n_heads - 1)


def telling(run: Run) -> tuple[int, int]:
    """The layer and head to begin with: of a deep GPT one that reads far back at the end.

    In a model of few layers all are soon seen: there it is the first of both.
    """
    config = run.config
    if config.n_layers <= FEW_LAYERS or config.architecture is not Architecture.GPT:
        return 0, 0
    return _telling(run.untouched, last_token(run))


@lru_cache(maxsize=64)
def _telling(run: Run, query: int) -> tuple[int, int]:
    layers = run.config.attention_layers
    if not layers:
        return 0, 0
    seen, apart = cached.recording(run), sinks.set_apart(run, True)  # which take turns of their own
    with cached.turn(run.device):
        rows = [seen.pattern(i, queries=slice(query, query + 1)) for i in layers]
        layer, head = head_facts.telling(rows, query, apart)
    return layers[layer], head


class Selection(NamedTuple):
    """What is looked at of attention: layer, head, token; all from 0."""

    layer: int
    head: int
    token: int


def selection(run: Run, state: State) -> Selection:
    """The reader's choice; read at the top of each section, since a section reruns alone."""
    return Selection(
        attending_layer(run, state), selected_head(run, state), pinned_token(run, state)
    )


def selected_stage(run: Run, layer: int, state: State) -> str:
    """The stage that is open: the reader's where this block has it."""
    names = list(cached.flow(run, layer)["stage"])
    chosen = state.stage
    return chosen if chosen in names else names[-1]


def row_share(run: Run, token: int) -> float:
    return (token + 0.5) / len(run.input.labels)


def is_deep(run: Run) -> bool:
    """Whether its layers stand side by side: one below the other they would fill no screen."""
    return run.config.n_layers > FEW_LAYERS


def window(run: Run, token: int, most: int = WINDOW) -> slice:
    """The tokens that have room in a large picture: of a long text those around the pinned one."""
    n = len(run.input.labels)
    first = max(0, min(token - most // 2, n - most))
    return slice(first, min(n, first + most))
