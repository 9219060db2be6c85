"""The heads of a layer: all of them small, one of them large."""

import math
from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from blocks.inspection import source, tiles
from blocks.inspection.flow_facts import LayerHeads
from blocks.model.faults import N_
from blocks.observe import heads as head_measures
from blocks.observe.run import Run
from pages.figures import heads, pattern
from pages.figures.counting import from_one, told_apart
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.server import cached, probed
from pages.server.brought import whose_weights
from pages.show import layers
from pages.show.choices import Choices
from pages.show.parts import (
    Beside,
    Controls,
    File,
    Given,
    Matrix,
    Note,
    OffScreen,
    Say,
    Table,
    Text,
    the_values,
)
from pages.show.views import head_choice, pin_token, sinks_switch
from pages.show.ways import take
from pages.stage import link
from pages.state import labelled, sinks
from pages.words import terms
from pages.words.language import _, bracketed, fill, listing, sentences

WIDE = 920  # pixels of a page on a desk


def layer_heads(run: Run, layer: int, is_apart: bool = False) -> LayerHeads:
    """The measures of the heads of a layer; `is_apart`: sinks are."""
    found = sinks.with_shares(labelled.heads(run, layer), run, is_apart)
    return LayerHeads(run, layer, found, probed.names_by_probe(run))


def says_heads(facts: LayerHeads) -> str:
    """Which head is the sharpest, and what those of a trained model do."""
    return sentences(says_sharpest(facts), _roles(facts))


def says_sharpest(facts: LayerHeads) -> str:
    text = _(
        "The sharpest is head {head:from_one}: entropy {entropy_bits:.2f} bits, "
        "{effective_tokens:.1f} effective tokens."
    )
    if facts.n_resting:
        text = _(
            "Of the heads that do not rest on sinks, the sharpest is head {head:from_one}: entropy "
            "{entropy_bits:.2f} bits, {effective_tokens:.1f} effective tokens."
        )
    where = fill(_("Layer {layer:from_one}."), facts) if facts.run.config.n_layers > 1 else ""
    return sentences(where, fill(text, facts.sharpest))


def _roles(facts: LayerHeads) -> str:
    if not facts.run.weights:
        text = _(
            "The weights are random (seed {seed}), so the heads differ little; training gives"
            " them different roles."
        )
        return text.format(seed=facts.run.seed)
    if facts.named.empty:
        text = _(
            "On average, no head puts most of its weight on any one of the positions in the "
            "table below."
        )
        if facts.is_probed:
            text = _(
                "On random tokens read twice (the head probe), no head of this layer puts most of "
                "its weight on one kind of position."
            )
        return sentences(whose_weights(facts.run.weights), text)
    text = _("head {head}, {name} {share:.0%}")
    roles = listing(
        text.format(head=from_one(row.head), name=terms.head_name(row.badge), share=row.badge_score)
        for row in each_row(facts.named)
    )
    text = _("Mean weights that stand out: {roles}.").format(roles=roles)
    if facts.is_probed:
        text = _("On random tokens read twice (the head probe), these weights stand out: {roles}.")
        text = text.format(roles=roles)
    return sentences(whose_weights(facts.run.weights), text)


def says_measures(facts: LayerHeads, head: int, token: int) -> str:
    """The measures of one head in a line."""
    row = facts.heads.iloc[head]
    called = _("Head {head}").format(head=from_one(head))
    name = probed.said(row["badge"], row["badge_score"])
    text = _(
        "{called}, averaged over the queries that can attend to more than one key: entropy "
        "{entropy_bits:.2f} bits, distance {distance_tokens:.1f} tokens, weight {first_token:.2f} "
        "on the first token, {same_token:.2f} on the token itself, {previous_token:.2f} on the "
        "previous token. {sums} The pinned token is {token:token}."
    )
    sums = _("The rows sum to between {least} and {most}.")
    least, most = (f"{row[name]:.3f}" for name in ("row_sum_min", "row_sum_max"))
    if least == most:
        sums = _("Every row sums to {least}.")
    sums = sums.format(least=least, most=most)
    called = f"**{bracketed(called, name) if name else called}**"
    token_name = told_apart(facts.run.input.labels)[token]
    return fill(text, row, called=called, sums=sums, token=token_name)


def tiles_note(run: Run, n_heads: int, is_apart: bool = False) -> str:
    """How to read the tiles of so many heads; `is_apart`: sinks are."""
    said = [
        _(
            "All heads share one color scale; gray cells are masked. Choose a head by "
            "clicking it or by number."
        )
    ]
    if sinks.set_apart(run, is_apart):
        said.append(_("The columns of sinks are left blank."))
    if blind := cached.blind_queries(run):
        text = _("Queries that cannot attend to any key: {n}; their rows are all zeros.")
        said.append(text.format(n=blind))
    k = tiles.cells_per_side(run.input.shape[1], n_heads)
    if k > 1:
        said.append(_("Each cell shows the largest of {k} × {k} weights.").format(k=k))
    return sentences(*said)


def table(facts: LayerHeads) -> pd.DataFrame:
    """Every head with its measures."""
    found = facts.heads
    shown = {
        _("head"): found["head"].map(from_one),
        _("entropy (bits)"): found["entropy_bits"],
        _("effective tokens"): found["effective_tokens"],
        _("distance (tokens)"): found["distance_tokens"],
        _("first token"): found["first_token"],
        _("itself"): found["same_token"],
        _("previous token"): found["previous_token"],
        _("token after an earlier copy of the current one (induction)"): found["induction"],
        _("smallest row sum"): found["row_sum_min"].map("{:.3f}".format),
        _("name"): [terms.head_name(name) for name in found["badge"]],
    }
    return pd.DataFrame(shown).round(3)


def open_head(customdata: list[Any]) -> None:
    link.change("head", int(customdata[0]))


def open_tile(customdata: list[Any]) -> None:
    """A tile of the overview of all layers was clicked: heads are counted through them."""
    row, head = divmod(int(customdata[0]), link.config().n_heads)
    take({"layer": link.config().attention_layers[row], "head": head})


def one_head(*shown: Hashable) -> None:
    """Its map, its measures, and the token outlined: of run, layer, head and token."""
    for item in ONE_HEAD:
        item.draw(Given(shown, None))


def says_window(run: Run, _layer: int, _head: int, token: int) -> str | None:
    """Which tokens of a long text are shown."""
    drawn, n = labelled.window(run, token), len(run.input.labels)
    if drawn == slice(0, n):
        return None
    return _(
        "Tokens {first} to {last} of {n} are shown, around the pinned one; pin another to move "
        "the window."
    ).format(first=from_one(drawn.start), last=drawn.stop, n=n)


def says_one_head(run: Run, layer: int, head: int, token: int) -> str:
    return says_measures(layer_heads(run, layer), head, token)


def draw_one_head(run: Run, layer: int, head: int, token: int) -> Picture:
    """Who reads from whom in one head; of a long text the part around the pinned token."""
    shown = labelled.window(run, token)
    codes, weights = (cells[shown, shown] for cells in cached.head_map(run, layer, head))
    labels, first = told_apart(run.input.labels)[shown], shown.start
    return pattern.head_map(codes, weights, labels, head=head, pinned=token, first=first, _=_)


def draw_heads(run: Run, layer: int, head: int, token: int, is_apart: bool) -> Picture:
    """All heads of a layer."""
    return heads.overview(
        cached.head_tiles(run, layer, sinks.set_apart(run, is_apart)),
        labelled.heads(run, layer),
        columns=tiles.columns(run.config.n_heads),
        selected=head,
        pinned=labelled.row_share(run, token),
        _=_,
    )


def draw_layer(
    run: Run, layer: int, head: int, token: int, is_apart: bool, is_wide: bool
) -> Picture:
    """All heads of one of many layers, so large that tokens have their names where it `is_wide`."""
    columns = math.ceil(math.sqrt(2 * run.config.n_heads))  # twice as wide as high
    labels = told_apart(run.input.labels)
    is_named = tiles.cells_per_side(len(labels)) == 1 and is_wide
    return heads.overview(
        cached.head_tiles(run, layer, sinks.set_apart(run, is_apart), columns),
        labelled.heads(run, layer),
        columns=columns,
        selected=head,
        pinned=labelled.row_share(run, token),
        title=_("The heads of layer {layer}").format(layer=from_one(layer)),
        width=WIDE,
        is_alone=True,
        tokens=labels if is_named else (),
        _=_,
    )


def draw_all_heads(
    run: Run, layer: int, head: int, token: int, is_apart: bool, is_wide: bool = False
) -> Picture:
    """All heads of all layers, a row of tiles for each layer; `is_wide`: a column for each."""
    config, found = run.config, layers.labelled_tiles(run)
    names = heads.Names(
        tuple(str(from_one(layer)) for layer in config.attention_layers),
        tuple(str(from_one(head)) for head in range(config.n_heads)),
        _("layer"),
        _("head"),
    )
    if is_wide:
        names = heads.Names(names.columns, names.rows, names.across, names.down)
        found = found.sort_values(["place", "layer"], kind="stable")
    return heads.overview(
        layers.head_tiles(run, sinks.set_apart(run, is_apart), is_wide),
        found,
        columns=len(names.columns),
        selected=layers.tile(run, layer, head, is_wide),
        pinned=labelled.row_share(run, token),
        width=WIDE if is_wide else heads.OVERVIEW_WIDTH,
        is_alone=is_wide,
        names=names if config.n_layers > labelled.FEW_LAYERS else None,
        _=_,
    )


ONE_HEAD = (
    Matrix(draw_one_head, "head_map", click=pin_token, facts=the_values),
    Note(says_window, the_values),
    OffScreen(Text(says_one_head, the_values)),
)


def panel(
    choices: Choices,
    draw_tiles: Callable[..., Picture],
    click: Callable[[list[Any]], None],
    measures: Callable[..., pd.DataFrame],
    *fields: str,
    **where: Any,
) -> Panel:
    """All heads on one scale, and one of them large, on the page of a block or of a whole model."""

    def of_layer(run: Run, layer: int, _head: int, _token: int, is_apart: bool) -> LayerHeads:
        return layer_heads(run, layer, is_apart)

    def of_tiles(run: Run, _layer: int, _head: int, _token: int, is_apart: bool) -> str:
        return tiles_note(run, run.config.n_heads, is_apart)

    return Panel(
        "heads",
        N_("What do its heads attend to?"),
        choices=choices,
        fields=fields,
        **where,
        concepts=("heads", "attention", "masks"),
        code=(*source.heads_source(), head_measures.frame),
        at=lambda run, state: (run, *labelled.selection(run, state), state.sinks_apart),
        shows=(
            Say(says_heads, of_layer),
            Controls(lambda run: sinks_switch(run, "heads")),
            Controls(lambda run, layer, head: head_choice(run, head, layer)),
            Beside((Matrix(draw_tiles, "head_tiles", click=click), Note(str, of_tiles)), ONE_HEAD),
            Table(table, "head_table", facts=lambda run, layer: layer_heads(run, layer)),
            File(measures, "heads", counted=("layer", "head")),
        ),
    )
