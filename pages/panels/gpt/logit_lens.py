"""The logit lens: what the model would say if it stopped after each layer."""

from collections.abc import Hashable, Sequence
from functools import lru_cache, partial
from typing import cast

import pandas as pd

from blocks.inspection import lens
from blocks.inspection.head_facts import Window
from blocks.inspection.lens import Lens, LensFacts
from blocks.model.faults import N_
from blocks.model.models import Encoder
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, line
from pages.figures.counting import told_apart
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.gpt import shared
from pages.panels.gpt.logit_lens_picture import grid, layer_name
from pages.server import cached
from pages.show.parts import Beside, File, Item, Matrix, Note, Say, Shown, Table, Text, the_values
from pages.show.views import pin_token
from pages.stage import phone, tokens
from pages.state.values import State
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent

RANKS = 214  # pixels
CURVE_ROOM, CELLS_ROOM = 315, 160  # of them before a class


@lru_cache(maxsize=16)
def lens_of(run: Run, positions: Window) -> Lens:
    """What the model would say after each layer, at these positions."""
    model, seen = cast(Encoder, cached.model(run)), cached.recording(run)
    return lens.logit_lens(model, seen, positions.rows)


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The pinned token, whether on a phone, and how many rows; a class follows the pinned one."""
    n_rows = 1 if state.present else lens.MOST_ROWS
    return (*shared.pinned(run, state), phone.is_phone(), n_rows)


def lens_facts(
    run: Run, position: int, is_narrow: bool = False, n_rows: int = lens.MOST_ROWS
) -> LensFacts:
    found = lens_of(run, LensFacts.drawn_of(run, position, n_rows))
    return LensFacts(run, found, position, partial(tokens.label, run), is_narrow, n_rows)


def table(facts: LensFacts) -> pd.DataFrame:
    """Every layer at the pinned token."""
    found = facts.by_layer
    return pd.DataFrame(
        {
            _("layer"): [layer_name(layer, _) for layer in found["layer"]],
            _("top token"): found["says"],
            _("probability"): [percent(share) for share in found["probability"]],
            _("rank of the final answer"): found["rank"],
        }
    )


def says_decided(facts: LensFacts) -> str:
    """From which layer on the final answer stands first, and which brings it nearer by most."""
    text = _(
        "At the pinned token {token:token}, the answer {answer:token} ranks first from “{layer}” "
        "on."
    )
    if facts.decides_last:
        text = _(
            "At the pinned token {token:token}, the answer {answer:token} ranks first only at the "
            "end."
        )
    before = _(
        "Before the first layer it was at rank {rank_before:,} of {run.config.vocab_size:,}."
    )
    token = told_apart(facts.run.input.labels)[facts.pinned]
    said = fill(text, facts, token=token, layer=layer_name(facts.decided, _))
    return sentences(said, fill(before, facts), _says_rise(facts))


def _says_rise(facts: LensFacts) -> str:
    if facts.rise is None:
        return ""
    layer, before, after = facts.rise
    text = _("It rises most in {layer}, from rank {before:,} to {after:,}.")
    return text.format(layer=layer_name(layer, _), before=before, after=after)


def says_cells(facts: LensFacts) -> str:
    """What a number in a cell is, and whether there is a column for every layer."""
    said = _(
        "The number after # is the rank of the final answer at this layer; #1 means it "
        "already ranks first."
    )
    shown = len(facts.layers)
    if shown == facts.n_layers:
        return said
    return sentences(said, fill(_("{shown} of {n_layers} layers are shown."), facts, shown=shown))


def says_grid(facts: LensFacts) -> str:
    """Which part of the grid is shown, and how a narrow one is read."""
    said = []
    if facts.is_narrow:
        said.append(_("The darker a cell, the more probable its token."))
    if not facts.drawn.is_whole:
        text = _(
            "Positions {first:from_one} to {end} of {n} are shown; pin another token to see the "
            "others."
        )
        said.append(fill(text, facts.drawn))
    if len(facts.layers) < facts.n_layers:
        said.append(_("The curve and the table below include all layers."))
    return sentences(*said)


def ranks(facts: LensFacts) -> Chart:
    """The rank of the final answer after each layer, at the pinned token; first is on top."""
    names = [layer_name(layer, _) for layer in facts.by_layer["layer"]]
    labels = map(token_label, facts.by_layer["says"])
    return Chart(
        _("Rank of the final answer after each layer"),
        facts.by_layer.assign(after=names, label=[*labels]),
        Axis(_("layers applied"), (-0.5, facts.n_layers - 0.5), of="layer", digits="d"),
        Axis(
            _("rank (log)"),
            (max(10, int(facts.by_layer["rank"].max())), 1),
            is_log=True,
            said="{:,g}".format,
        ),
        [line("rank", Look(color=palette.EMBEDDING, symbol="circle"))],
        hover=_("{after}: {label} {probability:.2%} · the final answer is at rank {rank:,}"),
        tall=RANKS,
    )


def whole_lens(run: Run) -> pd.DataFrame:
    n = run.input.shape[1]
    return lens.lens_table(run, lens_of(run, Window(0, n, n)), partial(tokens.label, run))


def shown(state: State) -> Sequence[Item]:
    """The grid, below it the curve and all layers; for a class the curve above the pinned row."""
    cells = Matrix(grid, "lens_grid", click=pin_token, room=CELLS_ROOM)
    curve = Shown(ranks, "lens_ranks", room=CURVE_ROOM)
    if state.present:
        return (Say(says_decided), curve, cells, Text(says_cells))
    numbers = Table(table, "lens_table", n_names=2, height=300)
    return (
        Say(says_decided),
        cells,
        Text(says_cells),
        Note(says_grid),
        Beside(curve, numbers, widths=(6, 5)),
        File(whole_lens, "lens", facts=the_values),
    )


PANEL = Panel(
    "logit-lens",
    N_("Logit lens"),
    of_predictions=True,
    fields=("n_layers", "norm_placement", "tie_embeddings"),
    instruments=("logit-lens",),
    concepts=("logit_lens",),
    code=(lens.logit_lens,),
    at=at,
    facts=lens_facts,
    shows=shown,
)
