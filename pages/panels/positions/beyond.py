"""Texts longer than the model was made for: where the last query then looks."""

import dataclasses
import math
from collections.abc import Hashable
from functools import lru_cache, partial
from itertools import cycle
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from blocks import ConfigError, Fault
from blocks.cost.memory import estimate_memory
from blocks.cost.units import bytes_text
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import FACTORS, BeyondFacts, Refused, Spread, Tried
from blocks.inspection.other_positions import with_position
from blocks.model import devices
from blocks.model.faults import N_
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.masks import build_mask, everyone
from blocks.observe.run import Input, Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.counting import from_one
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.positions import shared, trained
from pages.panels.positions.shared import KINDS
from pages.server import cached
from pages.server.settings import memory_budget
from pages.show.choices import chooses
from pages.show.controls import slide
from pages.show.parts import Beside, Note, OffScreen, Say, Shown, Steps, Table, Text, the_values
from pages.show.views import head_choice, layer_choice
from pages.show.ways import way
from pages.state import labelled
from pages.state.link_fields.positions import TRAINED_LENGTHS
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, say_fault, sentences

if TYPE_CHECKING:
    from torch import Tensor

N_TEXTS, ROOM, TALL = 4, 480, 246
LOOKS = ((0.6, "dot"), (0.8, "dash"), (1.0, ""))
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up")
PLAIN = Input()


@lru_cache(maxsize=64)
def spread(
    run: Run, kind: PositionKind, layer: int, trained_len: int, factor: int
) -> Spread | Fault:
    """How the last query spreads its weight in texts of `factor` · `trained_len` tokens.

    The fault where the kind does not fit, or has no row for so late a position.
    """
    n, size = factor * trained_len, {"n_rows": trained_len, "n_layers": layer + 1}
    try:
        with cached.turn(run.device):
            model = with_position(cached.model(run), run.config, kind, seed=run.seed, **size)
            texts, mask = trained.texts(run, N_TEXTS, n), _mask(run, n)
            return beyond_length.spread(model, texts, mask, layer=layer, trained_len=trained_len)
    except ConfigError as error:
        return error.faults[0]


def _mask(run: Run, n: int) -> "Tensor | None":
    """The run's mask for texts without padding."""
    is_token = dataclasses.replace(PLAIN, seq_len=n).is_token().to(run.device)
    mask = build_mask(run.mask, is_token)
    is_gpt = run.config.architecture is Architecture.GPT
    return everyone(n, run.device) if mask is None and is_gpt else mask


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The kind and layer, the length that counts as trained, and the head."""
    layer, head = labelled.selected_layer(run, state), labelled.selected_head(run, state)
    return run, shared.kind(run, state), layer, trained.length(run, state), head


def tries(kind: PositionKind) -> list[tuple[PositionKind, int]]:
    return [(each, factor) for each in shared.order(kind) for factor in FACTORS]


def works(run: Run, kind: PositionKind, layer: int, length: int) -> list[partial[Spread | Fault]]:
    return [partial(spread, run, each, layer, length, factor) for each, factor in tries(kind)]


@lru_cache(maxsize=32)
def beyond_facts(
    run: Run, kind: PositionKind, layer: int, trained_len: int, head: int, n_done: int
) -> BeyondFacts:
    """What a head does in all texts that were run."""
    done = sorted(tries(kind)[:n_done], key=lambda each: KINDS.index(each[0]))
    tried = [Tried(*each, spread(run, each[0], layer, trained_len, each[1])) for each in done]
    return beyond_length.beyond_facts(
        tried, kind, head, trained_len=trained_len, is_trained=bool(run.weights)
    )


def says_spread(facts: BeyondFacts) -> str:
    """How far the last query looks in short and in long texts."""
    kind, rows = terms.option(facts.kind), facts.shown
    if rows.empty:
        return _("There is nothing to show here for positional encoding “{kind}”.").format(
            kind=kind
        )
    text = _(
        "{kind}, head {head:from_one}: in a text of {a[seq_len]} tokens, the last query looks back "
        "{a[distance]:.1f} tokens on average; in a text of {z[seq_len]} tokens, "
        "{z[distance]:.1f}, with {z[far_share]:.0%} of its weight {trained_len} or more tokens "
        "back; its normalized entropy goes from {a[entropy_share]:.0%} to {z[entropy_share]:.0%}."
    )
    if len(rows) == 1:
        text = _(
            "{kind}, head {head:from_one}: in a text of {a[seq_len]} tokens, the last query looks "
            "back {a[distance]:.1f} tokens on average; the model cannot read longer texts."
        )
    return fill(text, facts, kind=kind, a=rows.iloc[0], z=rows.iloc[-1])


def says_sharpest(facts: BeyondFacts) -> str:
    """Which kind stays the sharpest in the longest texts."""
    if len(facts.longest) < 2:
        return ""
    sharpest, widest = facts.longest.iloc[0], facts.longest.iloc[-1]
    text = _(
        "At {a[seq_len]} tokens, attention is sharpest with positional encoding “{sharp}” "
        "(normalized entropy {a[entropy_share]:.0%}) and most spread out with “{wide}” "
        "({z[entropy_share]:.0%}). The weights are the same; only the positional encoding differs."
    )
    if facts.is_trained:
        text = sentences(
            text,
            _("Sharper does not mean better: these weights were trained with one encoding only."),
        )
    sharp, wide = (terms.option(each["kind"]) for each in (sharpest, widest))
    said = fill(text, a=sharpest, z=widest, sharp=sharp, wide=wide)
    return sentences(shared.says_how_far(facts.n_kinds), said)


def says_refused(refused: Refused) -> str:
    """Which kind cannot be so long, or does not fit at all, and why."""
    text = _("Positional encoding “{kind}” does not work at {lengths} tokens: {why}.")
    lengths = enumeration(map(str, refused.lengths))
    return text.format(
        kind=terms.option(refused.kind), lengths=lengths, why=say_fault(refused.fault)
    )


def says_all_refused(facts: BeyondFacts) -> str:
    return "\n\n".join(f":material/block: {says_refused(each)}" for each in facts.refused)


def says_texts(run: Run, _kind: PositionKind, _layer: int, trained_len: int) -> str:
    """What the texts are made of."""
    begin = _(
        "Each length is measured on {n} validation examples of the model's training task "
        "(seed {seed})."
    )
    if trained.task_of(run, longest(trained_len)) is None:
        begin = _("Each length is measured on {n} random inputs (seed {seed}).")
    random = _(
        "The weights are random: this is what each positional encoding does before any training."
    )
    if run.weights:
        random = _(
            "These weights were trained with positional encoding “{own}”; with a different "
            "one, the model performs badly until it is retrained."
        )
    memory = bytes_text(memory_needed(run, trained_len))
    need = _("The comparison needs at most about {memory} of memory.").format(memory=memory)
    own = terms.option(run.config.position.position_kind)
    begin = begin.format(n=N_TEXTS, seed=run.seed)
    return sentences(begin, _length_of_file(run, trained_len), random.format(own=own), need)


def _length_of_file(run: Run, trained_len: int) -> str:
    """That L is not what the file was trained on, where it is not."""
    longest = trained.length_of_file(run)
    if longest is None or longest == trained_len:
        return ""
    return _(
        "The file gives {longest:,} tokens as the maximum text length, so L = {length:,} is "
        "only the shortest length compared here, not the trained one."
    ).format(longest=longest, length=trained_len)


def spread_table(facts: BeyondFacts) -> pd.DataFrame:
    """Exact numbers of one head."""
    names = {
        "kind": _("positional encoding"),
        "seq_len": _("tokens"),
        "n_visible": _("visible keys"),
        "entropy_share": _("normalized entropy (H / log n)"),
        "distance": _("distance (tokens)"),
        "far_share": _("weight at distance ≥ L"),
        "score_mean": _("score mean"),
        "score_std": _("score std"),
        "score_max": _("score max"),
    }
    table: pd.DataFrame = facts.spreads.assign(kind=facts.spreads["kind"].map(terms.option))
    return table[list(names)].rename(columns=names).round(3)


def by_distance(facts: BeyondFacts) -> Chart | None:
    """Mean weight of a key by its distance, for texts of several lengths; both logarithmic.

    Distance counts from 1 (the query itself), so that it has a logarithm.
    """
    if not facts.bands:
        return None
    seen = [
        bands[bands["weight"] > 0].assign(place=bands["distance"] + 1) for *_n, bands in facts.bands
    ]
    every, edge = pd.concat(seen), facts.trained_len + 1
    ticks = [2**i for i in range(int(math.log2(every["place"].max())) + 2)]
    name, title = _("{n} tokens ({factor}×)"), _("{kind}, head {head}: where the last query looks")
    looks = [
        Look(name.format(n=n, factor=factor), faint(palette.ATTENTION, alpha), dash=dash)
        for (factor, n, _bands), (alpha, dash) in zip(facts.bands, cycle(LOOKS), strict=False)
    ]
    hover = _("distance {least} to {most}: {weight} per key").format(
        least="{least:.0f}", most="{most:.0f}", weight="{y:.4f}"
    )
    return Chart(
        title.format(kind=terms.option(facts.kind), head=from_one(facts.head)),
        {},
        Axis(_("tokens back + 1 (1: the query itself)"), of="place", is_log=True, ticks=ticks),
        Axis(_("mean weight per key"), (every["weight"].min(), every["weight"].max()), is_log=True),
        [line("weight", look, rows=rows) for look, rows in zip(looks, seen, strict=True)],
        hover=f"{{name}}<br>{hover}",
        tall=TALL,
        levels=[Level(x=edge, name=f"L = {facts.trained_len}")],
    )


def by_length(facts: BeyondFacts) -> Chart:
    """Entropy of each kind at each length; the kind that is looked at in colour."""
    lengths = facts.spreads.drop_duplicates("factor").set_index("seq_len")["factor"]
    title = _("Attention entropy of the last query, head {head}").format(head=from_one(facts.head))
    ticks, said = sorted(lengths.index), lambda n: f"{n} · {lengths[n]}×"
    groups = facts.spreads.groupby("kind", sort=False)
    return Chart(
        title,
        {},
        Axis(_("tokens in the text"), of="seq_len", is_log=True, ticks=ticks, said=said),
        Axis(_("normalized entropy (H / log n)"), (0, 1.04), is_share=True),
        [
            line("entropy_share", _look(str(kind), symbol, kind == facts.kind), rows=rows)
            for (kind, rows), symbol in zip(groups, cycle(SYMBOLS), strict=False)
        ],
        hover="{name}<br>{x}: {y:.1%}",
        tall=TALL,
        legend=Legend.FOOT,
    )


def _look(kind: str, symbol: str, is_shown: bool) -> Look:
    color = palette.ATTENTION if is_shown else faint(palette.BEFORE, 0.85)
    return Look(terms.option(kind), color, symbol, size=10, width=3 if is_shown else 1.5)


@chooses("trained_len", "layer", "head")
def length_and_head(run: Run, state: State) -> None:
    """The length that counts as trained, the layer and the head."""
    left, right = st.columns(2)
    with left:
        label = _("L · trained length, in tokens")
        if trained.length_of_file(run) is not None:
            label = _("L · shortest length compared, in tokens")
        slide("trained_len", label, TRAINED_LENGTHS, trained.length(run, state))
    with right:
        layer_choice(run)
        head_choice(run, labelled.selected_head(run, state))


def longest(trained_len: int) -> int:
    return FACTORS[-1] * trained_len


def memory_needed(run: Run, trained_len: int) -> int:
    """Bytes that the longest of the runs takes, from above."""
    dtype, seq_len = devices.DTYPES[run.dtype], longest(trained_len)
    return estimate_memory(run.config, batch=N_TEXTS, seq_len=seq_len, dtype=dtype).total


def bytes_needed(run: Run, _kind: PositionKind, _layer: int, length: int) -> int:
    return memory_needed(run, length)


def fitting(run: Run, length: int) -> int:
    """This length, or half of it and so on until four times of it fit into memory."""
    budget = memory_budget(run.device)
    while length > 2 and memory_needed(run, length) > budget:
        length //= 2
    return length


def says_too_long(run: Run, _kind: PositionKind, _layer: int, length: int) -> str | None:
    """Where four times the length would not fit into memory."""
    if fitting(run, length) == length:
        return None
    text = _("Texts of {n} tokens need about {memory}, more than is allowed here.")
    return text.format(n=longest(length), memory=bytes_text(memory_needed(run, length)))


def way_to_shorter(run: Run, _kind: PositionKind, _layer: int, length: int) -> None:
    mend = fitting(run, length)
    way(_("Use {mend}").format(mend=f"L = {mend}"), "shorter_length", trained_len=mend)


PANEL = Panel(
    "beyond",
    N_("Beyond the trained length?"),
    choices=length_and_head,
    fields=("position_kind", "n_layers"),
    of_attention=True,
    concepts=("beyond_length",),
    code=(beyond_length.spread, beyond_length.banded),
    at=at,
    absent=says_too_long,
    mend=way_to_shorter,
    needs=bytes_needed,
    facts=beyond_facts,
    shows=(
        Note(says_texts, the_values),
        Steps(
            works,
            Say(says_spread),
            Beside(
                (Shown(by_distance, "spread_far", room=ROOM), OffScreen(Text(says_all_refused))),
                (Shown(by_length, "entropy_far", room=ROOM), OffScreen(Text(says_sharpest))),
            ),
            Table(spread_table, "beyond_table"),
            key="beyond_steps",
        ),
    ),
)
