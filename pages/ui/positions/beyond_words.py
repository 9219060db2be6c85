"""What happens beyond the trained length, in words and numbers."""

import numpy as np
import pandas as pd
import streamlit as st

from blocks import Fault
from blocks.cost.memory import bytes_text
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import FACTORS
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.language import _, enumeration, say_fault
from pages.ui.positions import measured

Done = tuple[tuple[PositionKind, int], ...]  # kinds and factors that were run


def spreads(run: Run, layer: int, trained_len: int, done: Done) -> pd.DataFrame:
    """A row for each kind and length that was run: kind, factor, seq_len, found."""
    rows = [
        (kind, factor, factor * trained_len, measured.spread(run, kind, layer, trained_len, factor))
        for kind, factor in done
    ]
    return pd.DataFrame(rows, columns=["kind", "factor", "seq_len", "found"])


def worked(run: Run, layer: int, trained_len: int, done: Done) -> pd.DataFrame:
    """Those that ran."""
    table = spreads(run, layer, trained_len, done)
    return table[[not isinstance(found, Fault) for found in table["found"]]]


def refusals(run: Run, layer: int, trained_len: int, done: Done) -> list[str]:
    """A sentence for each kind that cannot be so long, or does not fit at all."""
    table = spreads(run, layer, trained_len, done)
    refused = table[[isinstance(found, Fault) for found in table["found"]]]
    text = _("{kind} at {lengths} tokens is refused: {why}.")
    return [
        text.format(
            kind=terms.option(kind),
            lengths=enumeration(map(str, rows["seq_len"])),
            why=say_fault(rows["found"].iloc[0]),
        )
        for kind, rows in refused.groupby("kind", sort=False)
    ]


def longest(trained_len: int) -> int:
    """Tokens of the longest texts."""
    return FACTORS[-1] * trained_len


def has_spread(run: Run, kind: PositionKind, layer: int, trained_len: int, done: Done) -> bool:
    """Whether a kind ran at any length."""
    return kind in set(worked(run, layer, trained_len, done)["kind"])


def curves(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> list[tuple[str, pd.DataFrame]]:
    """Weight by distance of one kind: what each length is called, and its bands."""
    table = worked(run, layer, trained_len, done)
    text = _("{n} tokens ({factor}×)")
    return [
        (
            text.format(n=row.seq_len, factor=row.factor),
            beyond_length.banded(row.found.weight[head]),
        )
        for row in table.itertuples()
        if row.kind == kind
    ]


def entropies(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> pd.DataFrame:
    """Entropy as a share of even weights, by kind and length, ready to be drawn."""
    table = worked(run, layer, trained_len, done)
    return table.assign(
        label=[terms.option(each) for each in table["kind"]],
        value=[float(found.entropy_share[head]) for found in table["found"]],
        is_shown=(table["kind"] == kind).to_list(),
    )


def spread_sentence(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """How far the last query looks in short and in long texts."""
    table = worked(run, layer, trained_len, done)
    rows = table[table["kind"] == kind]
    if rows.empty:
        return _("{kind} has nothing to show here.").format(kind=terms.option(kind))
    first, last = rows.iloc[0], rows.iloc[-1]
    text = _(
        "{kind}, head {head}: in a text of {n0} tokens the last query looks back "
        "{d0:.1f} tokens on average, in one of {n1} tokens {d1:.1f}, with {far:.0%} of "
        "its weight {length} or more tokens back; its normalized entropy goes from "
        "{e0:.0%} to {e1:.0%}."
    )
    if len(rows) == 1:
        text = _(
            "{kind}, head {head}: in a text of {n0} tokens the last query looks back "
            "{d0:.1f} tokens on average; longer texts are refused."
        )
    return text.format(
        kind=terms.option(kind),
        head=head,
        length=trained_len,
        n0=first["seq_len"],
        n1=last["seq_len"],
        d0=first["found"].distance[head],
        d1=last["found"].distance[head],
        far=last["found"].far_share[head],
        e0=first["found"].entropy_share[head],
        e1=last["found"].entropy_share[head],
    )


def entropy_sentence(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """Which kind stays the sharpest in the longest texts."""
    table = entropies(run, kind, layer, head, trained_len, done)
    longest = table[table["factor"] == table["factor"].max()]
    if len(longest) < 2:
        return ""
    values = longest["value"]
    sharpest, widest = longest.loc[values.idxmin()], longest.loc[values.idxmax()]
    text = _(
        "At {n} tokens {sharp} is the sharpest (normalized entropy {a:.0%}), {wide} the "
        "most spread out ({b:.0%}). The weights are the same; only the positional "
        "encoding differs."
    )
    if run.weights:
        text += " " + _("Sharper is not better: these weights were trained with one encoding only.")
    return text.format(
        n=longest["seq_len"].iloc[0],
        sharp=sharpest["label"],
        a=sharpest["value"],
        wide=widest["label"],
        b=widest["value"],
    )


def input_note(run: Run, trained_len: int) -> str:
    """What the texts are made of."""
    n = FACTORS[-1] * trained_len
    memory = bytes_text(measured.memory_needed(run, trained_len))
    begin = (
        _("{n} random inputs per length, seed {seed}.")
        if measured.task_of(run, n) is None
        else _("{n} validation examples of its training task per length, seed {seed}.")
    ).format(n=measured.N_TEXTS, seed=run.seed)
    own = run.config.position.position_kind
    random = (
        _(
            "These weights were trained with {own}; with another kind the model performs "
            "badly at first."
        )
        if run.weights
        else _("The weights are random: this is what each kind does before any training.")
    ).format(own=terms.option(own))
    need = _("Memory: at most about {memory}.").format(memory=memory)
    return f"{begin} {random} {need}"


def spread_table(run: Run, layer: int, head: int, trained_len: int, done: Done) -> None:
    """Exact numbers of one head."""
    table = worked(run, layer, trained_len, done)

    def column(name: str) -> list[float]:
        return [float(getattr(found, name)[head]) for found in table["found"]]

    shown = pd.DataFrame(
        {
            _("positional encoding"): [terms.option(kind) for kind in table["kind"]],
            _("tokens"): table["seq_len"].to_numpy(),
            _("keys seen"): [found.n_visible for found in table["found"]],
            _("normalized entropy (H / log n)"): column("entropy_share"),
            _("distance (tokens)"): column("distance"),
            _("weight beyond L"): column("far_share"),
            _("score mean"): column("score_mean"),
            _("score std"): column("score_std"),
            _("score max"): column("score_max"),
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="beyond_table", height="content")


def by_distance_alt(run: Run, kind: PositionKind, *more: int) -> str:
    """The curves in words."""
    return spread_sentence(run, kind, *more)


def by_length_alt(
    run: Run, kind: PositionKind, layer: int, head: int, trained_len: int, done: Done
) -> str:
    """Where the lines end."""
    table = entropies(run, kind, layer, head, trained_len, done)
    text = _("{kind}: {share:.0%} at {n} tokens")
    ends = [
        text.format(kind=row.label, share=row.value, n=row.seq_len)
        for row in table.drop_duplicates("kind", keep="last").itertuples()
    ]
    shown = _("Normalized entropy of head {head} (H / log n). {ends}")
    return shown.format(head=head, ends="; ".join(ends))


def bits(run: Run, n: int, n_steps: int) -> np.ndarray:
    """Bits by position over the steps done, (3, seq)."""
    return np.sum([measured.bits(run, n, step) for step in range(n_steps)], axis=0)


def bands(run: Run, n: int, n_steps: int, trained_len: int) -> pd.DataFrame:
    """The same in bands of an eighth of the trained length."""
    return beyond_length.bits_in_bands(bits(run, n, n_steps), max(1, trained_len // 8))


def loss_sentence(run: Run, n: int, n_steps: int, trained_len: int) -> str:
    """What a token costs within and beyond the trained length."""
    found = bits(run, n, n_steps)
    inside = beyond_length.mean_bits(found, trained_len // 2, trained_len)
    last = beyond_length.mean_bits(found, max(trained_len, n - trained_len // 2), n)
    own = terms.option(run.config.position.position_kind)
    if inside is None:
        return _("No target position lies within the trained length.")
    if last is None:
        text = _(
            "In the second half of its trained length of {length} tokens, the loss is "
            "{inside:.2f} bits per token ({kind})."
        )
        return text.format(length=trained_len, inside=inside, kind=own)
    text = _(
        "In the second half of its trained length of {length} tokens the loss is "
        "{inside:.2f} bits per token; at the end, up to position {n}, {last:.2f} "
        "({kind}). {reading}"
    )
    return text.format(
        length=trained_len, inside=inside, n=n, last=last, kind=own, reading=_reading(inside, last)
    )


def _reading(inside: float, last: float) -> str:
    if last > 1.2 * inside:
        return _("It runs there, but does worse: running is not generalizing.")
    if last < 0.9 * inside:
        return _("It does better there: more context, and nothing breaks.")
    return _("It does about as well there as within the trained length.")


def table_end(run: Run, n: int, trained_len: int) -> str:
    """Where the loss ends before four times the length, why."""
    wanted = FACTORS[-1] * trained_len
    if n >= wanted:
        return ""
    if measured.is_own_table(run) and n == run.config.max_seq_len:
        text = _(
            "The learned table has {n} rows: position {n} (from 0) has none, so nothing can be "
            "measured up to {wanted}."
        )
    else:
        text = _(
            "Examples of this task have at most {n} tokens, so nothing can be measured "
            "up to {wanted}."
        )
    return text.format(n=n, wanted=wanted)


def loss_note(run: Run, n_steps: int) -> str:
    """On what it was measured."""
    text = _("{n} validation examples, cut at random places, seed {seed}.")
    return text.format(n=n_steps * measured.ROWS_A_STEP, seed=run.seed)


def loss_alt(run: Run, n: int, n_steps: int, trained_len: int) -> str:
    """The loss by position in words."""
    return loss_sentence(run, n, n_steps, trained_len)
