"""How the model reads the text: what each layer would say, and what surprises it."""

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from blocks.inspection import lens as lenses
from blocks.inspection import predictions
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.gpt import reading_picture, shared
from pages.ui import link, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal
from pages.ui.numbers import percent
from pages.ui.said import say


def surprise(run: Run) -> None:
    """Show the surprise of each token as a table."""
    table = shared.read_surprise(run)
    shown = pd.DataFrame(
        {
            _("position"): table["position"],
            _("token"): table["label"],
            _("bits"): table["bits"].round(3),
            _("probability"): table["probability"].map(percent),
            _("rank"): table["rank"],
        }
    )
    st.dataframe(shown, hide_index=True, key="surprise_table", height=330)


class LensView(NamedTuple):
    """The part of the lens that has room in a picture: rows are positions, columns layers."""

    positions: list[int]
    layers: list[int]
    labels: list[list[str]]
    probability: np.ndarray
    rank: np.ndarray


@lru_cache(maxsize=32)
def lens_view(run: Run, pinned: int) -> LensView:
    """Around the pinned token; of many layers some, the first and the last among them."""
    n_layers, n = shared.lens(run).token_id.shape
    start = max(0, min(pinned - shared.LENS_ROWS // 2, n - shared.LENS_ROWS))
    positions = list(range(start, min(n, start + shared.LENS_ROWS)))
    n_columns = min(n_layers, shared.LENS_COLUMNS)
    layers = [round(i * (n_layers - 1) / max(1, n_columns - 1)) for i in range(n_columns)]
    token_id, probability, rank = (
        values[np.ix_(layers, positions)].T
        for values in (
            shared.lens(run).token_id,
            shared.lens(run).probability,
            shared.lens(run).rank,
        )
    )
    labels = [[tokens.label(run, int(cell)) for cell in row] for row in token_id]
    return LensView(positions, layers, labels, probability, rank)


@lru_cache(maxsize=32)
def decided(run: Run, position: int) -> int:
    """The layer from which on the final answer stands first; 0 is before the first layer."""
    is_first = shared.lens(run).rank[:, position] == 1
    return int(len(is_first) - np.argmin(is_first[::-1])) if not is_first.all() else 0


def guess_bits(run: Run) -> float:
    """What a guess among all tokens alike would cost."""
    return math.log2(run.config.vocab_size)


def pin_position(customdata: list[Any]) -> None:
    """A cell or bar that stands for a position was clicked."""
    link.change("token", int(customdata[0]))
    link.redraw_everything()


def layer_name(layer: int) -> str:
    """What a row of the lens is called; 0 is before the first layer."""
    return _("layer {layer}").format(layer=layer) if layer else _("embedding")


def lens_sentence(run: Run, position: int) -> str:
    """From which layer on the final answer stands first."""
    lens, layer = shared.lens(run), decided(run, position)
    final = lens_view(run, position)
    row = final.positions.index(position)
    text = _("At the pinned token {token} the answer {answer} ranks first from “{layer}” on.")
    said = text.format(
        token=literal(run.input.labels[position]),
        answer=literal(final.labels[row][-1]),
        layer=layer_name(layer),
    )
    before = _("Before the first layer it ranked {rank:,} of {vocab_size:,}.")
    return f"{said} " + before.format(
        rank=int(lens.rank[0, position]), vocab_size=run.config.vocab_size
    )


def lens_note(run: Run, position: int) -> str:
    """How to read the grid, and which part of it is shown."""
    view = lens_view(run, position)
    said = [_("Small number: rank of the final answer at this layer; #1 means decided.")]
    if len(view.positions) < len(run.input.labels):
        text = _("Positions {first} to {last} of {n}: pin another token to see others.")
        first, last = view.positions[0] + 1, view.positions[-1] + 1
        said.append(text.format(first=first, last=last, n=len(run.input.labels)))
    if len(view.layers) <= run.config.n_layers:
        text = _("{shown} of {n} layers are drawn; the table has all of them.")
        said.append(text.format(shown=len(view.layers), n=run.config.n_layers + 1))
    return " ".join(said)


def lens_hovers(run: Run, position: int) -> list[list[str]]:
    """What is said of each cell under the cursor, as plain text."""
    view = lens_view(run, position)
    return [
        [
            _hover(run, at, layer, label, float(chance), int(rank))
            for layer, label, chance, rank in zip(view.layers, *cells, strict=True)
        ]
        for at, *cells in zip(view.positions, view.labels, view.probability, view.rank, strict=True)
    ]


def _hover(run: Run, at: int, layer: int, label: str, chance: float, rank: int) -> str:
    text = _(
        "position {position}, {token} · {layer}: {label} {chance:.2%} · "
        "the final answer is at rank {rank:,}"
    )
    return text.format(
        position=at + 1,
        token=run.input.labels[at],
        layer=layer_name(layer),
        label=label,
        chance=chance,
        rank=rank,
    )


def lens_alt(run: Run, position: int) -> str:
    """Write the alt text of the pinned row of the lens."""
    view = lens_view(run, position)
    row = view.positions.index(position)
    cells = zip(view.layers, view.labels[row], view.probability[row], strict=True)
    listed = "; ".join(f"{layer_name(layer)} {label} {share:.1%}" for layer, label, share in cells)
    text = _("Prediction read off at each layer after {token}: {listed}.")
    return text.format(token=run.input.labels[position], listed=listed)


def one_token_only() -> str:
    """Where no token has one before it."""
    return _("Surprisal needs two tokens: nothing precedes the first. Type a longer text.")


def surprise_sentence(run: Run) -> str:
    """Loss, perplexity, and the token that surprised most."""
    table = shared.surprise(run)
    bits = table["bits"].mean()
    text = _(
        "Mean loss {nats:.2f} nats = {bits:.2f} bits per token, perplexity "
        "{perplexity:,.1f}: as uncertain as choosing among {perplexity:,.1f} equally "
        "likely tokens; a uniform guess over {vocab_size:,} would cost {even:.2f} bits."
    )
    said = text.format(
        nats=bits * math.log(2),
        bits=bits,
        perplexity=2**bits,
        vocab_size=run.config.vocab_size,
        even=guess_bits(run),
    )
    return f"{said} {_most_surprising(run)}"


def _most_surprising(run: Run) -> str:
    table = shared.surprise(run)
    most = table.iloc[table["bits"].argmax()]
    text = _(
        "The most surprising token is {token} at position {position}: {bits:.2f} bits, "
        "probability {share}, rank {rank:,}."
    )
    return text.format(
        token=literal(most["label"]),
        position=most["position"] + 1,
        bits=most["bits"],
        share=percent(most["probability"]),
        rank=most["rank"],
    )


def surprise_alt(run: Run, _pinned: int) -> str:
    """Write the alt text of the surprise."""
    rows = shared.surprise(run).itertuples()
    listed = "; ".join(f"{row.label} {row.bits:.1f}" for row in rows)
    return _("Surprisal of each token in bits: {listed}.").format(listed=listed)


@section
def what_each_layer_says(run: Run, position: int) -> None:
    """The logit lens: what the model would say if it stopped after each layer."""
    with explained(("logit_lens",), (lenses.logit_lens,), key="lens"):
        say(lens_sentence, run, position)
    show(
        draw_lens,
        run,
        position,
        key="lens_grid",
        alt=lens_alt,
        on_click=pin_position,
    )
    note(lens_note(run, position))


@section
def what_surprises(run: Run, position: int) -> None:
    """Loss and surprise at each token of the text."""
    place = explained(("surprise",), (predictions.surprise,), key="surprise")
    if shared.surprise(run).empty:
        place.info(one_token_only(), icon=":material/lightbulb:")
        return
    if said := shared.sees_ahead(run):
        note(said)
    with place:
        say(surprise_sentence, run)
    left, right = columns([7, 4])
    with left:
        show(
            draw_surprise,
            run,
            position,
            key="surprise_bars",
            alt=surprise_alt,
            on_click=pin_position,
        )
    with right:
        surprise(run)


def draw_lens(run: Run, position: int) -> Picture:
    """The lens around the pinned token."""
    view = lens_view(run, position)
    return reading_picture.grid(
        view.labels,
        lens_hovers(run, position),
        view.probability,
        view.rank,
        tokens=[run.input.labels[at] for at in view.positions],
        layers=[layer_name(layer) for layer in view.layers],
        numbers=view.positions,
        pinned=view.positions.index(position),
        _=_,
    )


def draw_surprise(run: Run, position: int) -> Picture:
    """Bits at each token."""
    return reading_picture.bars(
        shared.surprise(run), guess_bits=guess_bits(run), pinned=position, _=_
    )
