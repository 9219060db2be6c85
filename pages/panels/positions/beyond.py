"""Texts longer than the model was made for: where the last query then looks."""

import dataclasses
from functools import lru_cache, partial
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
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.masks import build_mask, everyone
from blocks.observe.run import Input, Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture, Translate
from pages.panels.positions import beyond_picture, shared, trained
from pages.panels.positions.shared import KINDS
from pages.ui import cached, labelled, present, terms
from pages.ui.chart import columns, show
from pages.ui.controls import slide
from pages.ui.explain import explained, note
from pages.ui.frame import must_have, section
from pages.ui.language import _, enumeration, say_fault, sentences
from pages.ui.link_fields.positions import TRAINED_LENGTHS
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.views import head_choice, layer_choice
from pages.ui.ways import way

if TYPE_CHECKING:
    from torch import Tensor

N_TEXTS, ROOM = 4, 360
PLAIN = Input()
Done = tuple[tuple[PositionKind, int], ...]
"""Kinds and factors that were run."""


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


@lru_cache(maxsize=32)
def beyond_facts(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> BeyondFacts:
    """What a head does in all texts that were run."""
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
    first, last = rows.iloc[0], rows.iloc[-1]
    text = _(
        "{kind}, head {head}: in a text of {n0} tokens, the last query looks back {d0:.1f} "
        "tokens on average; in a text of {n1} tokens, {d1:.1f}, with {far:.0%} of its weight "
        "{length} or more tokens back; its normalized entropy goes from {e0:.0%} to {e1:.0%}."
    )
    if len(rows) == 1:
        text = _(
            "{kind}, head {head}: in a text of {n0} tokens, the last query looks back "
            "{d0:.1f} tokens on average; the model cannot read longer texts."
        )
    return text.format(
        kind=kind,
        head=from_one(facts.head),
        length=facts.trained_len,
        n0=first["seq_len"],
        n1=last["seq_len"],
        d0=first["distance"],
        d1=last["distance"],
        far=last["far_share"],
        e0=first["entropy_share"],
        e1=last["entropy_share"],
    )


def says_sharpest(facts: BeyondFacts) -> str:
    """Which kind stays the sharpest in the longest texts."""
    if len(facts.longest) < 2:
        return ""
    sharpest, widest = facts.longest.iloc[0], facts.longest.iloc[-1]
    text = _(
        "At {n} tokens, attention is sharpest with positional encoding “{sharp}” (normalized "
        "entropy {a:.0%}) and most spread out with “{wide}” ({b:.0%}). The weights are the "
        "same; only the positional encoding differs."
    )
    if facts.is_trained:
        text = sentences(
            text,
            _("Sharper does not mean better: these weights were trained with one encoding only."),
        )
    said = text.format(
        n=sharpest["seq_len"],
        sharp=terms.option(sharpest["kind"]),
        a=sharpest["entropy_share"],
        wide=terms.option(widest["kind"]),
        b=widest["entropy_share"],
    )
    return sentences(shared.says_how_far(facts.n_kinds), said)


def says_refused(refused: Refused) -> str:
    """Which kind cannot be so long, or does not fit at all, and why."""
    text = _("Positional encoding “{kind}” does not work at {lengths} tokens: {why}.")
    lengths = enumeration(map(str, refused.lengths))
    return text.format(
        kind=terms.option(refused.kind), lengths=lengths, why=say_fault(refused.fault)
    )


def says_texts(run: Run, trained_len: int) -> str:
    """What the texts are made of."""
    begin = _("{n} validation examples of the model's training task per length, seed {seed}.")
    if trained.task_of(run, longest(trained_len)) is None:
        begin = _("{n} random inputs per length, seed {seed}.")
    random = _(
        "The weights are random: this is what each positional encoding does before any training."
    )
    if run.weights:
        random = _(
            "These weights were trained with positional encoding “{own}”; with a different "
            "one, the model performs badly until it is retrained."
        )
    memory = bytes_text(memory_needed(run, trained_len))
    need = _("It takes at most about {memory} of memory.").format(memory=memory)
    own = terms.option(run.config.position.position_kind)
    begin = begin.format(n=N_TEXTS, seed=run.seed)
    return sentences(begin, _length_of_file(run, trained_len), random.format(own=own), need)


def _length_of_file(run: Run, trained_len: int) -> str:
    """That L is not what the file was trained on, where it is not."""
    longest = trained.length_of_file(run)
    if longest is None or longest == trained_len:
        return ""
    text = _(
        "The file names {longest:,} tokens as the longest text, so L = {length:,} is only the"
        " shortest length compared here, not the trained one."
    )
    return text.format(longest=longest, length=trained_len)


def spread_table(facts: BeyondFacts) -> None:
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
    shown = table[list(names)].rename(columns=names).round(3)
    show_table(shown, key="beyond_table")


def draw_spread(facts: BeyondFacts, *, _: Translate) -> Picture:
    """Weight by distance in texts of all lengths."""
    return beyond_picture.by_distance(facts, terms.option(facts.kind), _=_)


def draw_entropies(facts: BeyondFacts, *, _: Translate) -> Picture:
    """How spread the last query is, by kind and length."""
    names = {kind: terms.option(kind) for kind in KINDS}
    return beyond_picture.by_length(facts, names, _=_)


@section
def beyond_the_length(run: Run) -> None:
    """Run every kind of encoding at 1, 2 and 4 times the trained length."""
    code = (beyond_length.spread, beyond_length.banded)
    layer, head, kind = labelled.selected_layer(run), labelled.selected_head(run), shared.kind(run)
    place = explained(("beyond_length",), code, key="beyond")
    with place, present.aside():
        left, right = st.columns(2)
    with left:
        label = _("L · trained length, in tokens")
        if trained.length_of_file(run) is not None:
            label = _("L · shortest length compared, in tokens")
        slide("trained_len", label, TRAINED_LENGTHS, trained.length(run))
    with right:
        layer_choice(run)
        head_choice(run, head)
    length = trained.length(run)
    if is_too_long(run, length):
        return
    must_have(memory_needed(run, length), run.device)
    work = [(each, factor) for each in shared.order(run) for factor in FACTORS]
    steps = [partial(spread, run, each, layer, length, factor) for each, factor in work]
    found = in_steps(steps, what=(run, layer, length, kind), key="beyond_steps").found
    done = tuple(sorted(work[: len(found)], key=lambda each: KINDS.index(each[0])))
    if not done:
        return
    note(says_texts(run, length))
    shown = run, kind, layer, head, length, done
    say(says_spread, *shown, facts=beyond_facts)
    facts = beyond_facts(*shown)
    left, right = columns(2)
    with left:
        if facts.bands:
            show(draw_spread, *shown, facts=beyond_facts, key="spread_far", room=ROOM)
        for refused in () if present.is_on() else facts.refused:
            st.markdown(f":material/block: {says_refused(refused)}")
    with right:
        show(draw_entropies, *shown, facts=beyond_facts, key="entropy_far", room=ROOM)
        if not present.is_on():
            st.markdown(says_sharpest(facts))
    spread_table(facts)


def longest(trained_len: int) -> int:
    """Tokens of the longest texts."""
    return FACTORS[-1] * trained_len


def memory_needed(run: Run, trained_len: int) -> int:
    """Bytes that the longest of the runs takes, from above."""
    dtype, seq_len = devices.DTYPES[run.dtype], longest(trained_len)
    return estimate_memory(run.config, batch=N_TEXTS, seq_len=seq_len, dtype=dtype).total


def is_too_long(run: Run, length: int) -> bool:
    """Where four times the length would not fit into memory: said, with a length that does."""
    fitting, budget = length, memory_budget(run.device)
    while fitting > 2 and memory_needed(run, fitting) > budget:
        fitting //= 2
    if fitting == length:
        return False
    text = _("Texts of {n} tokens need about {memory}, more than is allowed here.")
    said = text.format(n=longest(length), memory=bytes_text(memory_needed(run, length)))
    st.warning(said, icon=":material/block:")
    way(_("Use {mend}").format(mend=f"L = {fitting}"), "shorter_length", trained_len=fitting)
    return True
