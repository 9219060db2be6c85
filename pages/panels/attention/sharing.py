"""MHA, GQA and MQA side by side: what sharing saves, and what becomes of the maps."""

from collections.abc import Hashable, Sequence
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
from blocks.model.faults import N_
from blocks.observe.recording import record
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.attention import shared
from pages.server import cached
from pages.show.interventions.measured import reads_tokens
from pages.show.parts import Item, Matrix, Note, Say, Table, the_values
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

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
        "From {first} to {last}, the cache per token shrinks from {a.cache_bytes:,} to "
        "{z.cache_bytes:,} bytes and the model from {a.parameters:,} to {z.parameters:,} "
        "parameters; n_heads stays {a.config.n_heads}."
    )
    before, after = (terms.attention_kind(each.config) for each in (first, last))
    said = fill(text, a=first, z=last, first=before, last=after)
    moved = _("Without retraining, the output changes by {moved} with one key/value head.")
    return sentences(said, _alike(facts.grouped), moved.format(moved=_moved(facts, last.moved)))


def _moved(facts: SharingFacts, moved: float) -> str:
    if facts.is_logits:
        return _("{bits:.2f} bits (KL, mean over the tokens)").format(bits=moved)
    return f"{moved:.1%}"


def _alike(row: Shared | None) -> str:
    if row is None:
        return ""
    text = _(
        "With {n_kv_heads} key/value heads, the attention maps of two heads have a mean "
        "cosine similarity of {likeness.within:.3f} within a group and {likeness.across:.3f} "
        "across groups."
    )
    return fill(text, row)


def says_pooled(run: Run) -> str:
    """Where the shared keys and values come from."""
    text = _(
        "The shared keys and values are the means of this model's original ones, as when a "
        "checkpoint is converted before further training (Ainslie et al. 2023). Weights: "
        "{weights}."
    )
    weights = _("trained") if run.weights else fill(_("random, seed {seed}"), run)
    return text.format(weights=weights)


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


@lru_cache(maxsize=16)
def kinds_facts(run: Run) -> CachedKinds:
    return sharing.cached_kinds(run.config, devices.DTYPES[run.dtype].itemsize)


def says_latent(facts: CachedKinds) -> str:
    """What the latent saves against heads of their own."""
    text = _(
        "All {own.config.n_heads} heads compute their keys and values from one latent vector "
        "of {own.config.d_kv_latent} numbers per token, plus {own.config.d_rotary} numbers "
        "that RoPE rotates; this takes {own.cache_bytes:,} bytes per token in the cache. If "
        "every head had its own keys and values (MHA), the cache would take "
        "{first.cache_bytes:,} bytes per token, {times_saved:.1f} times as much. There are "
        "therefore no keys and values to share among heads here."
    )
    return fill(text, facts, first=facts.rows[0], own=facts.rows[-1])


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
        is_alone=True,
        title=title,
        _=_,
    )


def n_drawn(config: ModelConfig) -> int:
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


def shown(run: Run) -> Sequence[Item]:
    """What sharing saves and moves; of latents, and where all heads share, the counts alone."""
    note = N_(
        "Exact counts for each way to share keys and values, at this width and number of "
        "heads, with every token cached in every layer:"
    )
    kinds = (Note(note), Table(kinds_table, "cached_kinds", facts=kinds_facts))
    if run.config.is_latent:
        return (Say(says_latent, kinds_facts), *kinds)
    if run.config.n_kv_heads == 1:
        one = N_(
            "There is only one key/value head, already shared by all heads. Increase n_kv_heads."
        )
        return (Note(one), *kinds)
    return (
        Say(says_sharing),
        Matrix(draw_shared, "shared_maps", facts=the_values),
        Note(says_pooled, the_values),
        Table(table, "sharing_table"),
        *kinds,
    )


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    layer, _head, token = labelled.selection(run, state)
    return run, layer, token


PANEL = shared.of_a_head(
    "kv-heads",
    N_("Sharing keys and values"),
    fields=("n_heads", "n_kv_heads", "d_head", "d_kv_latent", "d_rotary", "d_value"),
    concepts=("sharing", "latent_attention", "kv_cache"),
    code=(repeat_kv, sharing.pooled, sharing.likeness),
    at=at,
    facts=sharing_facts,
    shows=shown,
)
