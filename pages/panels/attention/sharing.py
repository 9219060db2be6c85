"""MHA, GQA and MQA side by side: what sharing saves, and what becomes of the maps."""

from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.cost.units import bytes_text
from blocks.inspection import digest, sharing
from blocks.inspection.output_change import output_change
from blocks.inspection.sharing import CachedKinds, Shared, SharingFacts, kv_head_counts
from blocks.model import devices
from blocks.model.attention import query_blocks, repeat_kv
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
from pages.ui.language import _, enumeration, sentences
from pages.ui.said import say
from pages.ui.tables import show_table

if TYPE_CHECKING:
    from torch import Tensor

MOST_HEADS = 12  # of more, no map would have room for its name


class Read(NamedTuple):
    """How alike the heads read, small maps of the first of them, and how far the output moved."""

    alike: sharing.Likeness
    codes: "Tensor"
    moved: float


@lru_cache(maxsize=6)
def read_with(run: Run, n_kv_heads: int, layer: int) -> Read:
    """A layer where keys and values are averaged in all, and how far the output moved."""
    model, untouched = cached.model(run), run.untouched
    before = cached.recording(untouched).output[0]  # takes a turn of its own
    places = [f"layers.{i}.{name}" for i in run.config.attention_layers for name in "kv"]
    with cached.turn(run.device):
        seen = record(
            model,
            untouched.values(),
            mask=untouched.pass_mask(),
            keep=(),
            later={f"layers.{layer}.pattern"},
            replace=dict.fromkeys(places, partial(sharing.pooled, n_kv_heads=n_kv_heads)),
        )
        change = output_change(before, seen.output[0], is_logits=reads_tokens(run))
        shape = seen.pattern_shape(layer)
        some = (seen.pattern(layer, queries=rows)[:1] for rows in query_blocks(shape))
        alike = sharing.likeness(some, n_kv_heads)
        codes = digest.small_codes(seen, layer, run.build_mask(layer))[:MOST_HEADS]
    measure = "kl_bits" if reads_tokens(run) else "relative"
    return Read(alike, codes, float(change[measure].mean()))


@lru_cache(maxsize=16)
def sharing_facts(run: Run, layer: int) -> SharingFacts:
    """The layer with each number of keys and values."""
    found = ((n, read_with(run, n, layer)) for n in kv_head_counts(run.config))
    rows = (sharing.shared_by(run, n, read.alike, read.moved) for n, read in found)
    return SharingFacts(tuple(rows), reads_tokens(run))


@lru_cache(maxsize=16)
def shared_tiles(run: Run, layer: int) -> NDArray[np.uint8]:
    """The first heads with each number of keys and values, a row of tiles each, a byte per cell."""
    counts = kv_head_counts(run.config)
    return digest.tiled([read_with(run, n, layer).codes for n in counts], n_drawn(run.config))


def says_sharing(facts: SharingFacts) -> str:
    """What sharing saves, and what becomes of the maps."""
    first, *_between, last = facts.rows
    text = _(
        "From {first} to {last}, the cache per token shrinks from {before:,} to {after:,} "
        "bytes and the model from {parameters:,} to {fewer:,} parameters; n_heads stays "
        "{n_heads}."
    )
    said = text.format(
        first=terms.attention_kind(first.config),
        last=terms.attention_kind(last.config),
        before=first.cache_bytes,
        after=last.cache_bytes,
        parameters=first.parameters,
        fewer=last.parameters,
        n_heads=first.config.n_heads,
    )
    moved = _("Without retraining, the output changes by {moved} with one key/value head.")
    said_of_all = (said, _alike(facts.grouped), moved.format(moved=_moved(facts, last.moved)))
    return sentences(*said_of_all)


def _moved(facts: SharingFacts, moved: float) -> str:
    if facts.is_logits:
        return _("{bits:.2f} bits (KL, mean over the tokens)").format(bits=moved)
    return f"{moved:.1%}"


def _alike(row: Shared | None) -> str:
    if row is None:
        return ""
    text = _(
        "With {n} key/value heads, the attention maps of two heads have a mean cosine of "
        "{within:.3f} within a group and {across:.3f} across groups."
    )
    return text.format(n=row.n_kv_heads, **row.likeness._asdict())


def says_pooled(run: Run) -> str:
    """Where the shared keys and values come from."""
    text = _(
        "The shared keys and values are the means of this model's original ones, as when a "
        "checkpoint is converted before further training (Ainslie et al. 2023). Weights: "
        "{weights}."
    )
    random = _("random, seed {seed}").format(seed=run.seed)
    return text.format(weights=_("trained") if run.weights else random)


def table(facts: SharingFacts) -> pd.DataFrame:
    """What each costs."""
    rows = facts.rows
    moved = _("KL of the output (bits)") if facts.is_logits else _("change in the output")
    return pd.DataFrame(
        {
            _("kind"): [terms.attention_kind(row.config) for row in rows],
            "n_kv_heads": [row.n_kv_heads for row in rows],
            _("k_proj + v_proj"): [f"{row.kv_parameters:,}" for row in rows],
            _("parameters"): [f"{row.parameters:,}" for row in rows],
            _("cache per token (bytes)"): [f"{row.cache_bytes:,}" for row in rows],
            _("cache at max_seq_len"): [bytes_text(row.full_cache_bytes) for row in rows],
            _("cosine within a group"): [_cosine(row.likeness.within) for row in rows],
            _("cosine across groups"): [_cosine(row.likeness.across) for row in rows],
            moved: [f"{row.moved:.3g}" for row in rows],
        }
    )


def _cosine(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@section
def who_shares(run: Run) -> None:
    """Compare MHA, GQA and MQA at one width and number of query heads."""
    code = (repeat_kv, sharing.pooled, sharing.likeness)
    place = explained(("sharing", "latent_attention", "kv_cache"), code, key="sharing")
    if run.config.is_latent:
        with place:
            say(says_latent, run.config, run.dtype, facts=kinds_facts)
        _kinds_table(run)
        return
    if run.config.n_kv_heads == 1:
        place.caption(
            _("There is only one key/value head, already shared by all heads. Increase n_kv_heads.")
        )
        _kinds_table(run)
        return
    at = labelled.selection(run)
    with place:
        say(says_sharing, run, at.layer, facts=sharing_facts)
    show(draw_shared, run, at.layer, at.token, key="shared_maps")
    note(says_pooled(run))
    found = table(sharing_facts(run, at.layer))
    show_table(found, key="sharing_table")
    _kinds_table(run)


def _kinds_table(run: Run) -> None:
    note(
        _(
            "Exact counts for each way to share keys and values, at this width and number of "
            "heads, with every token cached in every layer:"
        )
    )
    found = kinds_table(kinds_facts(run.config, run.dtype))
    show_table(found, key="cached_kinds")


@lru_cache(maxsize=16)
def kinds_facts(config: ModelConfig, dtype: str) -> CachedKinds:
    """What each way to keep keys and values takes."""
    return sharing.cached_kinds(config, devices.DTYPES[dtype].itemsize)


def says_latent(facts: CachedKinds) -> str:
    """What the latent saves against heads of their own."""
    first, own = facts.rows[0], facts.rows[-1]
    text = _(
        "All {n_heads} heads compute their keys and values from one latent vector of {latent}"
        " numbers per token, plus {rotary} numbers that RoPE rotates; this takes {bytes:,} "
        "bytes per token in the cache. With keys and values of its own for every head (MHA), "
        "it would take {heads:,} bytes, {times:.1f} times as much. There are therefore no "
        "keys and values to share among heads here."
    )
    return text.format(
        n_heads=own.config.n_heads,
        latent=own.config.d_kv_latent,
        rotary=own.config.d_rotary,
        bytes=own.cache_bytes,
        heads=first.cache_bytes,
        times=facts.times_saved,
    )


def kinds_table(facts: CachedKinds) -> pd.DataFrame:
    """What each keeps, and what that takes."""
    rows = facts.rows
    return pd.DataFrame(
        {
            _("kind"): [terms.attention_kind(row.config) for row in rows],
            _("numbers cached per token and layer"): [_kept(row.config) for row in rows],
            _("cache per token (bytes)"): [f"{row.cache_bytes:,}" for row in rows],
            _("cache at max_seq_len"): [bytes_text(row.full_cache_bytes) for row in rows],
            _("attention parameters"): [f"{row.parameters:,}" for row in rows],
        }
    )


def _kept(config: ModelConfig) -> str:
    if config.is_latent:
        return f"{config.d_kv_latent} + {config.d_rotary}"
    return f"2 · {config.n_kv_heads} · {config.d_head}"


def draw_shared(run: Run, layer: int, token: int) -> Picture:
    """The first heads of each, a row each."""
    rows, n_heads = sharing_facts(run, layer).rows, n_drawn(run.config)
    kinds = enumeration(dict.fromkeys(terms.attention_kind(row.config) for row in rows))
    text = _("{kinds} side by side")
    if n_heads < run.config.n_heads:
        text = _("{kinds} side by side: heads 1 to {n}")
    title = text.format(kinds=kinds, n=n_heads)
    return heads.overview(
        shared_tiles(run, layer),
        tile_names(sharing_facts(run, layer), n_heads),
        columns=n_heads,
        selected=None,
        pinned=labelled.row_share(run, token),
        title=title,
        _=_,
    )


def n_drawn(config: ModelConfig) -> int:
    """How many heads have room side by side."""
    return min(config.n_heads, MOST_HEADS)


def tile_names(facts: SharingFacts, n_heads: int) -> pd.DataFrame:
    """One row a map: its title tells which key and value head it reads with."""
    text = _("{kind}, head {head}: uses key/value head {kv}")
    rows = []
    for row in facts.rows:
        kind, group = terms.attention_kind(row.config), row.config.n_heads // row.n_kv_heads
        for head in range(n_heads):
            kv = from_one(head // group)
            label = "" if head % group else f"kv {kv}"
            hover = text.format(kind=kind, head=from_one(head), kv=kv)
            rows.append({"label": label if head else f"<b>{kind}</b>", "hover": hover})
    return pd.DataFrame(rows).assign(head=range(len(rows)))
