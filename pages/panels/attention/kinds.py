"""Other ways to attend on the same queries, keys and values, and what they cost here."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.cost.attention_time import Measured, estimate_peak, measure_attention, slopes
from blocks.cost.memory import bytes_text
from blocks.inspection import other_attention
from blocks.model import attention_kinds, devices
from blocks.model.attention import repeat_kv
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.model.faults import N_
from blocks.observe.recording import record
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.attention import kinds_picture
from pages.ui import cached, labelled, link
from pages.ui.chart import columns, show
from pages.ui.controls import slide, slider, switch
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link_fields.attention import LENGTHS
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps

if TYPE_CHECKING:
    from torch import Tensor


MIB = 2**20


@lru_cache(maxsize=4)
def qkv(run: Run, layer: int) -> tuple["Tensor", "Tensor", "Tensor"]:
    """Queries, keys and values of a layer, first sequence: each (n_heads, seq, d_head)."""
    model = cached.model(run)
    with cached.turn(run.device):
        seen = record(
            model,
            run.values(),
            mask=run.build_mask(),
            keep={f"layers.{layer}.{name}" for name in "qkv"},
            replace=run.replacements(model),
            training_seed=run.seed if run.training else None,
        )
    found = (seen.tensor(name, layer)[:1] for name in "qkv")
    q, k, v = (repeat_kv(x, run.config.n_heads)[0] for x in found)
    return q, k, v


@lru_cache(maxsize=32)
def maps(run: Run, layer: int, head: int, reach: Reach) -> NDArray[np.uint8]:
    """One head's map in each way to attend, side by side, one byte a cell."""
    q, k, _v = (x[head] for x in qkv(run, layer))
    return other_attention.maps(q.float(), k.float(), reach)


@lru_cache(maxsize=32)
def errors(run: Run, layer: int, head: int, reach: Reach) -> pd.DataFrame:
    """How far each way to attend is from the full one, in one head."""
    q, k, v = (x[head] for x in qkv(run, layer))
    return other_attention.errors(q, k, v, reach)


def kind_steps(run: Run, lengths: tuple[int, ...]) -> list[Callable[[], Measured]]:
    """One measurement a way to attend and a length, those that fit into the memory budget.

    None where heads are so wide that not every way fits at any length.
    """
    config = run.config
    itemsize = devices.DTYPES[run.dtype].itemsize
    sizes = {"n_heads": config.n_heads, "d_head": config.d_head, "itemsize": itemsize}
    fit = [
        (kind, n)
        for n in lengths
        for kind in AttentionKind
        if estimate_peak(kind, n, **sizes) <= memory_budget()
    ]
    if {kind for kind, _n in fit} != set(AttentionKind):
        return []
    return [_step(kind, n, config.n_heads, config.d_head, run) for kind, n in fit]


def _step(
    kind: AttentionKind, n: int, n_heads: int, d_head: int, run: Run
) -> Callable[[], Measured]:
    return lambda: timed(kind, n, n_heads, d_head, run.device, run.dtype, run.seed)


@lru_cache(maxsize=512)
def timed(
    kind: AttentionKind, n: int, n_heads: int, d_head: int, device: str, dtype: str, seed: int
) -> Measured:
    """Measured once and kept, so that moving on and coming back shows the same numbers."""
    with cached.turn(device):
        return measure_attention(
            kind,
            n,
            n_heads=n_heads,
            d_head=d_head,
            device=device,
            dtype=devices.DTYPES[dtype],
            seed=seed,
        )


def kinds_table_found(found: tuple[Measured, ...]) -> pd.DataFrame:
    """One row a measurement: kind, seq_len, milliseconds, peak_bytes."""
    columns = ("kind", "seq_len", "milliseconds", "peak_bytes")
    rows = [[getattr(each, name) for name in columns] for each in found]
    return pd.DataFrame(rows, columns=list(columns)).astype({"kind": str})


def costs(found: tuple[Measured, ...], of: str) -> pd.DataFrame:
    """One row a measurement: kind, seq_len, value in ms or MiB."""
    scale = 1 if of == "milliseconds" else MIB
    found_table = kinds_table_found(found)
    return found_table.assign(value=found_table[of] / scale)


def measured_exponents(found: tuple[Measured, ...], of: str) -> dict[str, float]:
    """How time or memory grows with n in each kind, as the exponent of n."""
    return slopes(kinds_table_found(found), of)


def errors_table(run: Run, layer: int, head: int, reach: Reach) -> None:
    """How far each way is from the full one."""
    table = errors(run, layer, head, reach)
    shown = pd.DataFrame(
        {
            _("attention variant"): table["kind"].map(kind_text),
            _("error against full attention"): table["error"].map("{:.2%}".format),
            _("weight on other keys"): table["moved"].map("{:.2%}".format),
            _("pairs scored"): table["pairs"],
        }
    )
    st.dataframe(shown, hide_index=True, key="kinds_table", height="content")


def growth(found: tuple[Measured, ...]) -> None:
    """Theory beside what was measured."""
    time, memory = (measured_exponents(found, of) for of in ("milliseconds", "peak_bytes"))
    rows = [
        {
            _("attention variant"): kind_text(kind),
            _("time, theory"): IN_THEORY[kind][0],
            _("time, measured"): _power(time.get(kind)),
            _("memory, theory"): IN_THEORY[kind][1],
            _("memory, measured"): _power(memory.get(kind)),
        }
        for kind in AttentionKind
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="growth_table", height="content")


def _power(exponent: float | None) -> str:
    return "–" if exponent is None else f"n^{exponent:.2f}"


KINDS = {
    AttentionKind.FULL: N_("full attention"),
    AttentionKind.FUSED: N_("fused"),
    AttentionKind.WINDOW: N_("window"),
    AttentionKind.STRIDED: N_("strided"),
    AttentionKind.LINEAR: N_("linear"),
}


IN_THEORY = {
    AttentionKind.FULL: ("n²", "n²"),
    AttentionKind.FUSED: ("n²", "n"),
    AttentionKind.WINDOW: ("n", "n"),
    AttentionKind.STRIDED: ("n√n", "n√n"),
    AttentionKind.LINEAR: ("n", "n"),
}


def kind_text(name: str) -> str:
    """What a way to attend is called."""
    return _(KINDS[AttentionKind(name)])


def names() -> dict[str, str]:
    """All of them."""
    return {str(name): kind_text(name) for name in AttentionKind}


def tiles_of(run: Run, layer: int, head: int, reach: Reach) -> pd.DataFrame:
    """One row a map: its title, and what is said under the cursor."""
    table = errors(run, layer, head, reach)
    labels = [f"<b>{kind_text(name)}</b>" for name in table["kind"]]
    text = _("{kind}: error {error:.1%}, {pairs:,} pairs scored")
    hovers = [
        text.format(kind=kind_text(row.kind), error=row.error, pairs=row.pairs)
        for row in each_row(table)
    ]
    return table.assign(head=range(len(table)), label=labels, hover=hovers)


def error_sentence(run: Run, layer: int, head: int, reach: Reach) -> str:
    """Which way is nearest to the full one in this head."""
    table = errors(run, layer, head, reach).set_index("kind")
    others = table.loc[["window", "strided", "linear"]]
    nearest, furthest = str(others["error"].idxmin()), str(others["error"].idxmax())
    text = _(
        "Head {head} of layer {layer}: the fused kernel gives the same output (error "
        "{fused:.0e}); the closest of the others is {nearest} (error {least:.1%}, "
        "{share:.0%} of the pairs scored), the furthest {furthest} (error {most:.1%})."
    )
    return text.format(
        head=from_one(head),
        layer=from_one(layer),
        fused=table["error"]["fused"],
        nearest=kind_text(nearest),
        least=table["error"][nearest],
        share=table["pairs"][nearest] / table["pairs"]["full"],
        furthest=kind_text(furthest),
        most=table["error"][furthest],
    )


def alibi_note(run: Run) -> str:
    """What these maps leave out."""
    if run.config.position.position_kind != "alibi":
        return ""
    return _("The maps leave out ALiBi's bias: they compare which pairs are scored and kept.")


def growth_sentence(found: tuple[Measured, ...]) -> str:
    """What the longest length costs, in each way."""
    table = kinds_table_found(found)
    longest = table[table["seq_len"] == table["seq_len"].max()].set_index("kind")
    fastest = str(longest["milliseconds"].idxmin())
    text = _(
        "Measured here at n = {n:,}: {fastest} takes {least:.1f} ms, {slowest} {most:.1f} ms, "
        "{ratio:.0f} times as long; memory from {small} to {large}."
    )
    slowest = str(longest["milliseconds"].idxmax())
    return text.format(
        n=int(table["seq_len"].max()),
        fastest=kind_text(fastest),
        least=longest["milliseconds"][fastest],
        slowest=kind_text(slowest),
        most=longest["milliseconds"][slowest],
        ratio=longest["milliseconds"][slowest] / longest["milliseconds"][fastest],
        small=bytes_text(int(longest["peak_bytes"].min())),
        large=bytes_text(int(longest["peak_bytes"].max())),
    )


def measured_note(run: Run) -> str:
    """On what it was measured."""
    text = _(
        "Random q, k, v (seed {seed}), {n_heads} heads of width {d_head}, {dtype}, "
        "causal; fastest of 5; window 16, stride √n. The exponent is fitted over the "
        "three longest; memory used inside a fused kernel is not counted on CPU."
    )
    config = run.config
    sizes = {"n_heads": config.n_heads, "d_head": config.d_head}
    return text.format(seed=run.seed, dtype=run.dtype, **sizes)


def growth_alt(found: tuple[Measured, ...], of: str) -> str:
    """How a cost grows, in words."""
    exponents = measured_exponents(found, of)
    rows = "; ".join(f"{kind_text(name)} n^{found:.2f}" for name, found in exponents.items())
    is_time = of == "milliseconds"
    text = _("Time as n grows: {rows}.") if is_time else _("Peak memory as n grows: {rows}.")
    return text.format(rows=rows)


def maps_alt(run: Run, layer: int, head: int, reach: Reach, *_marked: int) -> str:
    """Write the alt text of the maps."""
    rows = "; ".join(tiles_of(run, layer, head, reach)["hover"])
    return _("One head with five attention variants: {rows}.").format(rows=rows)


def reach_control(run: Run) -> Reach:
    """How far the sparse kinds see, within the text."""
    n = run.input.shape[1]
    return Reach(
        window=min(link.value("kinds_window"), n), stride=min(link.value("kinds_stride"), n)
    )


def reach_controls(run: Run) -> None:
    """The window, and the stride."""
    n, shown = run.input.shape[1], reach_control(run)
    if n > 1:
        slider("kinds_window", _("window · earlier tokens"), shown.window, most=n)
        label = _("stride · every n-th earlier token")
        slider("kinds_stride", label, shown.stride, most=n)


def lengths() -> tuple[int, ...]:
    """The lengths that are measured."""
    return tuple(n for n in LENGTHS if n <= link.value("kinds_up_to"))


def length_control() -> None:
    """The longest of them."""
    slide("kinds_up_to", _("up to n · tokens"), LENGTHS[2:], max(LENGTHS[2], max(lengths())))


@section
def how_else(run: Run, layer: int, head: int) -> None:
    """One head in every way to attend, and how time and memory grow."""
    code = (attention_kinds.window, attention_kinds.strided, attention_kinds.linear)
    reach, token = reach_control(run), labelled.pinned_token(run)
    with explained(("attention_kinds",), code, key="kinds"):
        say(error_sentence, run, layer, head, reach)
    shown = run, layer, head, reach
    left, right = columns([7, 4])
    with left:
        show(draw_maps, *shown, token, key="kind_maps", alt=maps_alt)
        if said := alibi_note(run):
            note(said)
    with right:
        reach_controls(run)
    errors_table(*shown)
    switch("measure_kinds", _("Measure here how time and memory grow with n"))
    if link.value("measure_kinds"):
        how_they_grow(run)


def how_they_grow(run: Run) -> None:
    """Each way at each length, on this device."""
    length_control()
    steps = kind_steps(run, lengths())
    if not steps:
        note(_("Not measured: heads this wide need more memory than one run is allowed."))
        return
    done = in_steps(steps, what=(run, lengths()), key="growth", is_asked=True)
    found = tuple(done.found)
    if len(found) < len(AttentionKind):
        return
    st.info(growth_sentence(found), icon=":material/lightbulb:")
    left, right = st.columns(2)
    with left:
        show(draw_growth, found, "milliseconds", key="growth_time", alt=growth_alt)
    with right:
        show(draw_growth, found, "peak_bytes", key="growth_memory", alt=growth_alt)
    note(measured_note(run))
    growth(found)


def draw_maps(run: Run, layer: int, head: int, reach: Reach, token: int) -> Picture:
    """One head's map in each way."""
    return heads.overview(
        maps(run, layer, head, reach),
        tiles_of(run, layer, head, reach),
        columns=len(AttentionKind),
        selected=None,
        pinned=labelled.row_share(run, token),
        title=_("The same queries and keys, five attention variants"),
        _=_,
    )


def draw_growth(found: tuple[Measured, ...], of: str) -> Picture:
    """Time or memory against the length."""
    is_time = of == "milliseconds"
    return kinds_picture.growth(
        costs(found, of),
        names(),
        measured_exponents(found, of),
        title=_("Time of one pass") if is_time else _("Peak memory"),
        unit="ms" if is_time else "MiB",
        _=_,
    )
