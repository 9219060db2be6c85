"""MHA, GQA and MQA side by side: what sharing saves, and what becomes of the maps."""

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import count_parameters
from blocks.cost.memory import bytes_text
from blocks.inspection import sharing, tiles
from blocks.inspection.output_change import output_change
from blocks.inspection.sharing import likeness, pooled
from blocks.model import devices
from blocks.model.attention import repeat_kv
from blocks.model.config import ModelConfig
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.model.legal import divisors
from blocks.observe.recording import record
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.ui import cached, labelled, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.interventions.measured import reads_tokens
from pages.ui.language import _, enumeration
from pages.ui.said import say

MOST_HEADS = 12

if TYPE_CHECKING:
    from torch import Tensor


_MOVED = {True: "kl_bits", False: "relative"}


def shared_heads(run: Run) -> tuple[int, ...]:
    """How many keys and values: as many as the model has, fewer, and one for all heads."""
    n = run.config.n_kv_heads
    between = [each for each in divisors(n) if 1 < each < n]
    middle = between[len(between) // 2 :][:1]
    return tuple(dict.fromkeys((n, *middle, 1)))


def with_shared(run: Run, n_kv_heads: int) -> ModelConfig:
    """The model that has so many keys and values."""
    return run.config.replace(n_kv_heads=n_kv_heads)


@lru_cache(maxsize=16)
def sharing_row(run: Run, n_kv_heads: int, layer: int) -> dict[str, Any]:
    """What sharing saves, how alike the heads read, and how far the output moved.

    Parameters, bytes, cosines; `moved` is the mean over the tokens, of logits KL in bits, else
    |after − before| / |before|.
    """
    config = with_shared(run, n_kv_heads)
    parts = count_parameters(config).set_index("part")["count"]
    itemsize = devices.DTYPES[run.dtype].itemsize
    kv_bytes = kv_cache_bytes_per_token(config, itemsize)
    found = _read_with(run, n_kv_heads, layer)
    alike = sharing.likeness(found.pattern, n_kv_heads)
    return {
        "n_kv_heads": n_kv_heads,
        "kv_parameters": int(parts["k_proj"] + parts["v_proj"]),
        "parameters": int(parts.sum()),
        "cache_bytes": kv_bytes,
        "cache_bytes_full": kv_bytes * config.max_seq_len,
        "within": alike.within,
        "across": alike.across,
        "moved": found.moved,
    }


class _Reading(NamedTuple):
    pattern: "Tensor"
    moved: float


@lru_cache(maxsize=6)
def _read_with(run: Run, n_kv_heads: int, layer: int) -> _Reading:
    """The pattern of one layer where keys and values are averaged in all layers."""
    model, untouched = cached.model(run), run.untouched
    before = cached.recording(untouched).output[0]  # takes a turn of its own
    places = [f"layers.{i}.{name}" for i in range(run.config.n_layers) for name in "kv"]
    with cached.turn(run.device):
        seen = record(
            model,
            untouched.values(),
            mask=untouched.build_mask(),
            keep={f"layers.{layer}.pattern"},
            replace=dict.fromkeys(places, partial(sharing.pooled, n_kv_heads=n_kv_heads)),
        )
        change = output_change(before, seen.output[0], is_logits=reads_tokens(run))
    return _Reading(seen.pattern(layer)[:1], float(change[_MOVED[reads_tokens(run)]].mean()))


@lru_cache(maxsize=16)
def shared_tiles(run: Run, layer: int) -> NDArray[np.uint8]:
    """The first heads with each number of keys and values, a row of tiles each, a byte a cell."""
    patterns = [_read_with(run, n, layer).pattern[:, :MOST_HEADS] for n in shared_heads(run)]
    codes = tiles.encode_layers(patterns, run.build_mask())
    return tiles.tile(tiles.shrink(codes), n_shown(run))


def n_shown(run: Run) -> int:
    """How many heads of each are drawn."""
    return min(run.config.n_heads, MOST_HEADS)


def sharing_table(run: Run, layer: int) -> None:
    """What each costs."""
    shared = shared_heads(run)
    rows = [sharing_row(run, n, layer) for n in shared]
    moved = _("KL of the output (bits)") if reads_tokens(run) else _("change of the output")
    shown = pd.DataFrame(
        {
            _("kind"): [terms.attention_kind(with_shared(run, n)) for n in shared],
            "n_kv_heads": [row["n_kv_heads"] for row in rows],
            _("k_proj + v_proj"): [f"{row['kv_parameters']:,}" for row in rows],
            _("parameters"): [f"{row['parameters']:,}" for row in rows],
            _("cache per token (bytes)"): [f"{row['cache_bytes']:,}" for row in rows],
            _("cache at max_seq_len"): [bytes_text(row["cache_bytes_full"]) for row in rows],
            _("cosine within a group"): [_cosine(row["within"]) for row in rows],
            _("cosine across groups"): [_cosine(row["across"]) for row in rows],
            moved: [f"{row['moved']:.3g}" for row in rows],
        }
    )
    st.dataframe(shown, hide_index=True, key="sharing_table", height="content")


def _cosine(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def sharing_sentence(run: Run, layer: int) -> str:
    """What sharing saves, and what becomes of the maps."""
    shared = shared_heads(run)
    rows = [sharing_row(run, n, layer) for n in shared]
    first, last = rows[0], rows[-1]
    text = _(
        "From {first} to {last} the cache per token shrinks from {before:,} to "
        "{after:,} bytes and the model from {parameters:,} to {fewer:,} parameters; "
        "n_heads stays {n_heads}."
    )
    said = text.format(
        first=terms.attention_kind(run.config),
        last=terms.attention_kind(with_shared(run, shared[-1])),
        before=first["cache_bytes"],
        after=last["cache_bytes"],
        parameters=first["parameters"],
        fewer=last["parameters"],
        n_heads=run.config.n_heads,
    )
    return " ".join((said, _alike(rows), _moved(run, rows[-1]["moved"]))).strip()


def _moved(run: Run, moved: float) -> str:
    """What becomes of the output."""
    text = _("Nothing is retrained: with one key and value head the output changes by {moved}.")
    bits = _("{bits:.2f} bits (KL, mean over the tokens)").format(bits=moved)
    return text.format(moved=bits if reads_tokens(run) else f"{moved:.1%}")


def _alike(rows: list[dict[str, Any]]) -> str:
    both = (row for row in rows if None not in (row["within"], row["across"]))
    grouped = next(both, None)
    if grouped is None:
        return ""
    text = _(
        "With {n} key and value heads, the attention maps of two heads of one group "
        "have cosine {within:.3f}, of two groups {across:.3f}."
    )
    return text.format(n=grouped["n_kv_heads"], within=grouped["within"], across=grouped["across"])


def sharing_alt(run: Run, layer: int, *_marked: int) -> str:
    """Write the alt text of the three rows of maps."""
    configs = (with_shared(run, n) for n in shared_heads(run))
    kinds = enumeration(map(terms.attention_kind, configs))
    text = _("The first heads of layer {layer} in {kinds}, a row each.")
    return text.format(layer=from_one(layer), kinds=kinds)


def shared_tiles_text(run: Run) -> pd.DataFrame:
    """One row a map: its title tells which key and value head it reads with."""
    rows = []
    for n in shared_heads(run):
        group = run.config.n_heads // n
        for head in range(n_shown(run)):
            kind, kv = terms.attention_kind(with_shared(run, n)), from_one(head // group)
            starts_a_group = head % group == 0
            label = f"<b>{kind}</b>" if head == 0 else f"kv {kv}" if starts_a_group else ""
            text = _("{kind}, head {head}: uses key and value head {kv}")
            rows.append(
                {"label": label, "hover": text.format(kind=kind, head=from_one(head), kv=kv)}
            )
    return pd.DataFrame(rows).assign(head=range(len(rows)))


def pooled_note(run: Run) -> str:
    """Where the shared keys and values come from."""
    text = _(
        "Shared keys and values are the means of this model's own, as in a conversion before "
        "further training (Ainslie et al. 2023). Weights: {weights}."
    )
    random = _("random, seed {seed}").format(seed=run.seed)
    return text.format(weights=_("trained") if run.weights else random)


@section
def who_shares(run: Run, layer: int) -> None:
    """Compare MHA, GQA and MQA at one width and number of query heads."""
    code = (repeat_kv, pooled, likeness)
    place = explained(("sharing", "kv_cache"), code, key="sharing")
    if len(shared_heads(run)) == 1:
        place.caption(
            _("Only one key and value head: all heads share it already. Set n_kv_heads higher.")
        )
        return
    with place:
        say(sharing_sentence, run, layer)
    token = labelled.pinned_token(run)
    show(draw_shared, run, layer, token, key="shared_maps", alt=sharing_alt)
    note(pooled_note(run))
    sharing_table(run, layer)


def draw_shared(run: Run, layer: int, token: int) -> Picture:
    """The first heads of each, a row each."""
    return heads.overview(
        shared_tiles(run, layer),
        shared_tiles_text(run),
        columns=n_shown(run),
        selected=None,
        pinned=labelled.row_share(run, token),
        title=_("MHA, GQA and MQA side by side"),
        _=_,
    )
