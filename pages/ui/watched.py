"""A training as the pictures want it: its curves, its name beside another's, its heads by step."""

import math
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import tiles, two_texts
from blocks.inspection.linked import linked_shares
from blocks.inspection.two_texts import AttentionKind
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.training.comparison import differences
from blocks.training.examples import fixed_input, fixed_links, fixed_target
from blocks.training.smoothing import smoothed
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig
from blocks.training.training_run import RunView, TrainingRun
from pages.ui import cached, layers, link, runs, starts, terms
from pages.ui.language import _, enumeration

MOST_NAMED = 2
MOST_TOKENS = 48
WIDE_TILES = 2  # so many tiles beside each other leave room for a name above


def watched() -> TrainingRun | None:
    """The run that the link names, if it is kept."""
    run = runs.find(link.value("run")) if link.value("run") else None
    if run is not None:
        runs.remember(run.id)
    return run


def compared(run: TrainingRun) -> TrainingRun | None:
    """The run that it is laid over, if one was chosen and is kept."""
    other = link.value("compare")
    return runs.find(other) if other and other != run.id else None


def with_smoothed(view: RunView) -> pd.DataFrame:
    """The curves of a run with the smoothed loss beside the raw one."""
    return view.curves.assign(smoothed=smoothed(view.curves, n_steps=view.n_steps))


def title(run: TrainingRun) -> str:
    """What a run is called in a list: task, optimizer, steps, and the start of its id."""
    task, recipe = terms.option(run.spec.task.kind), run.spec.recipe
    optimizer = terms.option(recipe.optimizer)
    text = _("{task} · {optimizer} · {n:,} steps · {name}")
    return text.format(task=task, optimizer=optimizer, n=recipe.n_steps, name=run.id[:4])


def names(one: TrainingSpec, other: TrainingSpec) -> tuple[str, str]:
    """What the two are called in a legend: what they differ in."""
    found = list(differences(one, other).items())[:MOST_NAMED]
    if not found:
        return _("this training run"), _("repeat of the same run")
    return tuple(enumeration(f"{name} {_short(pair[i])}" for name, pair in found) for i in (0, 1))


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def looked_at(run: TrainingRun, step: int) -> Run:
    """The trained model at a kept step, reading the task's own row or the reader's text."""
    return _reading(run, step, read_tokens(run.spec.task))


def _reading(run: TrainingRun, step: int, token_ids: tuple[int, ...]) -> Run:
    start = starts.start(runs.preset_of(run.id), step)
    written = fixed_target(starts.build_task_once(run.spec.task)) if is_of_pairs(run) else ()
    return Run(
        config=run.spec.config,
        weights=start.weights,
        input=_text(run, token_ids, start.weights),
        target=_text(run, written, start.weights) if written else None,
        mask=MaskConfig(mask_kind=start.mask_kind),
        seed=run.spec.seed,
        device=run.spec.device,
    )


def _text(run: TrainingRun, token_ids: tuple[int, ...], vocabulary: str) -> Input:
    label = starts.task_tokenizer(run.spec.task).label
    return Input(tokens=tuple(map(label, token_ids)), token_ids=token_ids, vocabulary=vocabulary)


def is_of_pairs(run: TrainingRun) -> bool:
    """Whether it reads a source and writes a target."""
    return run.spec.config.architecture is Architecture.ENCODER_DECODER


def own_pair(run: TrainingRun, step: int) -> Run:
    """An encoder–decoder at a kept step, with the row of its task and the right target."""
    return _reading(run, step, _own_row(run.spec.task))


def read_tokens(task: TaskConfig) -> tuple[int, ...]:
    """What the model is looked at with, never empty."""
    text = link.value("text") if link.value("looked_at") == "own" else ""
    found = tuple(starts.task_tokenizer(task).encode(text)) if text else ()
    most = min(MOST_TOKENS, task.seq_len)
    return found[:most] or _own_row(task)[:most]


@lru_cache(maxsize=16)
def head_tiles(run: Run) -> NDArray[np.uint8]:
    """All heads of all layers, several layers in a row of tiles where heads are few."""
    seen = cached.recording(run)
    patterns = [seen.pattern(layer) for layer in range(run.config.n_layers)]
    codes = tiles.encode_layers(patterns, run.build_mask())
    return tiles.tile(tiles.shrink(codes), tile_columns(run))


def labelled_tiles(run: Run) -> pd.DataFrame:
    """One row a tile: `head` counts through all layers; names only where tiles are wide."""
    table = layers.labelled_tiles(run)
    if tile_columns(run) <= WIDE_TILES:
        return table
    heads = layers.heads(run)
    numbers = (heads["layer"] + 1).astype(str) + "·<b>" + heads["head"].astype(str) + "</b>"
    return table.assign(label=numbers)


def tile_columns(run: Run) -> int:
    """Whole layers beside each other, so that the picture is not taller than wide."""
    n_heads, n_layers = run.config.n_heads, run.config.n_layers
    return n_heads * math.ceil(math.sqrt(n_layers / n_heads))


@lru_cache(maxsize=16)
def _own_row(task: TaskConfig) -> tuple[int, ...]:
    return fixed_input(starts.build_task_once(task))


@lru_cache(maxsize=16)
def shares_by_step(
    run_id: str, steps: tuple[int, ...], token_ids: tuple[int, ...], measure: str
) -> pd.DataFrame:
    """One row a head and kept step: step, layer, head, number (through all layers), share."""
    run = runs.runs().get(run_id)
    found = [_shares(run, step, token_ids, measure) for step in steps]
    return pd.concat(found, ignore_index=True)


@lru_cache(maxsize=32)
def linked_by_step(run_id: str, steps: tuple[int, ...]) -> pd.DataFrame:
    """The same for cross-attention: its weight on the source tokens that tell what is written."""
    run = runs.runs().get(run_id)
    return pd.concat([_linked(run, step) for step in steps], ignore_index=True)


def cross_number(run_id: str, layer: int, head: int) -> int:
    """Where a head of cross-attention stands among all of them."""
    return layer * runs.runs().get(run_id).spec.config.n_heads + head


@lru_cache(maxsize=512)
def _linked(run: TrainingRun, step: int) -> pd.DataFrame:
    seen, config = own_pair(run, step), run.spec.config
    links = fixed_links(starts.build_task_once(run.spec.task))
    patterns = two_texts.patterns(cached.recording(seen), AttentionKind.CROSS, config)
    shares = [share for pattern in patterns for share in linked_shares(pattern, links).tolist()]
    number = np.arange(len(shares))
    layer, head = np.divmod(number, config.n_heads)
    columns = {"layer": layer, "head": head, "step": step, "number": number, "share": shares}
    return pd.DataFrame(columns)


@lru_cache(maxsize=512)
def _shares(run: TrainingRun, step: int, token_ids: tuple[int, ...], measure: str) -> pd.DataFrame:
    table = layers.heads(_reading(run, step, token_ids))
    number = table["layer"] * run.spec.config.n_heads + table["head"]
    return table[["layer", "head"]].assign(step=step, number=number, share=table[measure])
