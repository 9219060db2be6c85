"""What a whole model shows, layer by layer: kept, and with the reader's words."""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import predictions
from blocks.inspection.digest import tiled
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.table_rows import Row, each_row
from pages.server import cached, probed
from pages.stage import tokens
from pages.state import labelled
from pages.words.language import _, current_language, enumeration

N_CANDIDATES = 12
ENDS = {
    "embedding": N_("embedding"),
    "embedding_norm": N_("embedding norm"),
    "final_norm": N_("final norm"),
}


def flow(run: Run) -> pd.DataFrame:
    """The stream after the embedding, each layer and the final norm; a row each."""
    return _flow(run, current_language())


@lru_cache(maxsize=32)
def _flow(run: Run, language: str) -> pd.DataFrame:
    table = cached.whole_flow(run)
    is_shown = table["stage"].isin(["resid_post", *ENDS])
    table = table[is_shown].reset_index(drop=True)
    names = [_name(row) for row in each_row(table)]
    parts = {"embedding": "embedding", "resid_post": "stream"}
    return table.assign(
        label=names,
        part=table["stage"].map(parts).fillna("norm"),
        stage=table["stage"] + table["layer"].astype("string").fillna(""),
        token_norm=table["rms"] * run.config.d_model**0.5,
    )


def _name(row: Row) -> str:
    if row.stage == "resid_post":
        return _("layer {layer}").format(layer=from_one(row.layer))
    return _(ENDS[row.stage])


def ghost(before: Run | None, run: Run) -> pd.DataFrame | None:
    """The flow of the previous setting, where it has the same architecture."""
    if before is None or before.config.architecture is not run.config.architecture:
        return None
    return flow(before)


@lru_cache(maxsize=32)
def heads(run: Run) -> pd.DataFrame:
    """One row per head, over all layers that attend: its measures."""
    return pd.concat(
        [cached.heads(run, layer) for layer in run.config.attention_layers], ignore_index=True
    )


@lru_cache(maxsize=32)
def named_heads(run: Run) -> pd.DataFrame:
    return probed.badges(run, heads(run))


def labelled_tiles(run: Run) -> pd.DataFrame:
    """One row a tile of the overview: `head` counts through all layers."""
    found = [labelled.heads(run, layer) for layer in run.config.attention_layers]
    table = pd.concat(found, ignore_index=True)
    layer = table["layer"].map(from_one).astype(str)
    hovers = [
        enumeration((_("layer {layer}").format(layer=from_one(row.layer)), row.hover))
        for row in each_row(table)
    ]
    return table.assign(
        place=table["head"],
        head=range(len(table)),
        label=layer + "·" + table["label"],
        hover=hovers,
    )


@lru_cache(maxsize=16)
def head_tiles(run: Run, blank: tuple[int, ...] = (), is_wide: bool = False) -> NDArray[np.uint8]:
    """All heads of all layers that attend, a row of tiles for each, one byte per cell.

    `blank`: keys whose columns are left blank; `is_wide`: a column for each instead.
    """
    each = (cached.small_codes(run, layer, blank) for layer in run.config.attention_layers)
    return tiled(each, 0 if is_wide else run.config.n_heads)


def tile(run: Run, layer: int, head: int, is_wide: bool = False) -> int:
    """Where a head stands among the tiles."""
    column = run.config.attention_layers.index(layer)
    if is_wide:
        return head * run.config.n_attention_layers + column
    return column * run.config.n_heads + head


@lru_cache(maxsize=32)
def guesses(run: Run) -> pd.DataFrame:
    """What the model would write at each position: token, guess, probability."""
    table = predictions.guesses(cached.recording(run).output[0])
    labels = [tokens.label(run, token_id) for token_id in table["token_id"]]
    return pd.DataFrame(
        {"token": run.input.labels, "guess": labels, "probability": table["probability"]}
    )


def written(run: Run) -> str:
    token_ids = predictions.guesses(cached.recording(run).output[0])["token_id"]
    return tokens.text_of(tokens.tokenizer_of(run.input.vocabulary), token_ids.tolist())


@lru_cache(maxsize=64)
def candidates(run: Run, token: int) -> pd.DataFrame:
    """The likeliest tokens at one position: label, probability."""
    table = predictions.candidates(cached.recording(run).output[0, token], N_CANDIDATES)
    return table.assign(label=[tokens.label(run, token_id) for token_id in table["token_id"]])
