"""A and B at work on the same text: flow, heads, one head and its difference, what they expect."""

import streamlit as st

from blocks import ConfigError
from blocks.inspection import pattern_distance, two_predictions
from pages.figures import flow, heads, pair_pattern
from pages.figures import pair as pictures
from pages.figures.beside import on_one_scale
from pages.figures.theme import token_label
from pages.ui import cached, labelled
from pages.ui.chart import show
from pages.ui.compare import frames, measured, sides, tables
from pages.ui.compare import run_controls as controls
from pages.ui.compare import run_words as words
from pages.ui.compare.sides import Pair
from pages.ui.explain import explained, note
from pages.ui.language import _, say_fault
from pages.ui.views import pin_token

TILES_WIDTH = 430


def both_ran(pair: Pair) -> bool:
    """Run both; where one cannot, say why and go on without."""
    for name, why in (found := sides.faults(pair)):
        st.info(words.cannot_run(name, why), icon=":material/block:")
    if found:
        return False
    try:
        with st.spinner(_("Running both models …"), show_time=True):
            for run in pair.both:
                cached.recording(run)
    except ConfigError as error:
        st.info(say_fault(error.faults[0]), icon=":material/block:")
        return False
    if overflow := words.overflow(pair):
        st.info(overflow, icon=":material/block:")
    return not overflow


def what_passes(pair: Pair) -> None:
    """The stream through the layers of both, and the stages of one layer."""
    place = explained(("flow", "residual"), key="pair_flow")
    controls.flow_controls(pair)
    shown = controls.flow_shown(pair)
    place.info(words.flow_sentence(pair, *shown), icon=":material/lightbulb:")
    show(
        draw_flow,
        pair,
        *shown,
        sides.layer(pair),
        key="pair_flow_lines",
        alt=words.flow_alt,
        on_click=controls.open_layer(pair),
    )
    tables.numbers(tables.run_rows(pair))
    controls.layer_choice(pair)
    if any(run.has_target for run in pair.both):
        note(words.encoder_only())
        return
    the_stages(pair, sides.layer(pair))


def the_stages(pair: Pair, layer: int) -> None:
    """One layer, stage by stage, on one scale."""
    for side, column in enumerate(st.columns(2)):
        with column:
            note(sides.label(pair, side))
            show(draw_stages, pair, layer, side, key=f"pair_bands_{side}", alt=words.stages_alt)
    with st.expander(_("Stages that both models have, in numbers"), icon=":material/table:"):
        tables.stages(pair, layer)


def who_reads_whom(pair: Pair) -> None:
    """All heads of one layer of both, and how far apart they are."""
    code = (pattern_distance.total_variation, pattern_distance.head_distances)
    place = explained(("comparing", "heads"), code, key="pair_heads")
    layer, head, token = sides.layer(pair), sides.head(pair), sides.pinned(pair)
    if pair.reads_the_same:
        place.info(words.heads_sentence(pair, layer), icon=":material/lightbulb:")
    else:
        place.info(words.tokens_differ(pair), icon=":material/block:")
    for side, column in enumerate(st.columns(2)):
        with column:
            show(
                draw_tiles,
                pair,
                side,
                layer,
                head,
                token,
                key=f"pair_tiles_{side}",
                alt=words.tiles_alt,
                on_click=controls.open_head(pair),
            )
    if not pair.reads_the_same:
        return
    left, right = st.columns(2)
    with left:
        show(
            draw_distances,
            pair,
            layer,
            head,
            key="pair_distances",
            alt=words.distances_alt,
            on_click=controls.open_distance,
        )
    with right:
        show(draw_matrix, pair, layer, key="pair_matrix", alt=words.matrix_alt)
    note(words.heads_note(pair))


def one_head_of_each(pair: Pair) -> None:
    """The same head of both, large, and the difference."""
    place = explained(("comparing", "attention"), key="pair_head")
    controls.head_choice(pair)
    layer, head, token = sides.layer(pair), sides.head(pair), sides.pinned(pair)
    place.info(words.head_sentence(pair, layer, head, token), icon=":material/lightbulb:")
    columns = st.columns(3)
    shown = layer, head, token
    for side in (0, 1):
        with columns[side]:
            show(
                draw_one,
                pair,
                side,
                *shown,
                key=f"pair_pattern_{side}",
                alt=words.one_alt,
                on_click=pin_token,
            )
    with columns[2]:
        if not pair.reads_the_same:
            note(words.tokens_differ(pair))
            return
        show(
            draw_difference,
            pair,
            *shown,
            key="pair_difference",
            alt=words.difference_alt,
            on_click=pin_token,
        )


def what_they_expect(pair: Pair) -> None:
    """The likeliest tokens of both at the pinned token."""
    code = (two_predictions.two_predictions,)
    token = sides.pinned(pair)
    explained(("comparing", "surprise"), code, key="pair_expected").info(
        words.expected_sentence(pair, token), icon=":material/lightbulb:"
    )
    show(draw_expected, pair, token, key="pair_expected_bars", alt=words.expected_alt)
    note(words.expected_note(pair))


def draw_flow(pair: Pair, stage: str, moment: str, layer: int):
    """One number of one stage over the layers."""
    a, b = (measured.over_layers(run, stage, moment) for run in pair.both)
    title = words.flow_title(stage, moment)
    unit = words.moment(moment)
    names = sides.names(pair)
    return pictures.over_layers(a, b, names, selected=layer + 1, title=title, unit=unit, _=_)


def draw_stages(pair: Pair, layer: int, side: int):
    """The values at each stage of one side, on the scale of both."""
    title = _("Layer {layer}: the values at each stage").format(layer=layer + 1)
    both = (flow.bands(labelled.stages(run, layer), None, title=title, _=_) for run in pair.both)
    return on_one_scale(*both)[side]


def draw_tiles(pair: Pair, side: int, layer: int, head: int, token: int):
    """All heads of a layer of one side."""
    run = pair.both[side]
    table = frames.heads(pair, side, layer)
    return heads.overview(
        measured.head_tiles(run, layer),
        table,
        columns=controls.tile_columns(run),
        selected=head,
        pinned=labelled.row_share(run, token),
        title=words.tiles_title(pair, side, layer),
        width=TILES_WIDTH,
        _=_,
    )


def draw_distances(pair: Pair, layer: int, head: int):
    """Distance of heads with the same number, in all layers."""
    found = measured.distances(pair)
    return pair_pattern.distances(
        found,
        rows=controls.layer_names(pair),
        columns=controls.head_names(pair.n_heads),
        titles=(_("layer"), _("head")),
        selected=(layer, head),
        title=_("Distance between heads of the same number"),
        _=_,
    )


def draw_matrix(pair: Pair, layer: int):
    """Distance of every head to every head."""
    n_a, n_b = (run.config.n_heads for run in pair.both)
    return pair_pattern.distances(
        measured.matrix(pair, layer),
        rows=controls.head_names(n_a),
        columns=controls.head_names(n_b),
        titles=(_("head of A"), _("head of B")),
        selected=None,
        title=_("Layer {layer}: every head of A against every head of B").format(layer=layer + 1),
        _=_,
    )


def draw_one(pair: Pair, side: int, layer: int, head: int, token: int):
    """One head of one side; of a long text the part around the pinned token."""
    run = pair.both[side]
    shown = labelled.window(run, token)
    codes, weights = (cells[shown, shown] for cells in measured.one_head(run, layer, head))
    return pair_pattern.one_pattern(
        codes,
        weights,
        run.input.labels[shown],
        title=token_label(sides.names(pair)[side], most=34),
        pinned=token,
        first=shown.start,
        _=_,
    )


def draw_difference(pair: Pair, layer: int, head: int, token: int):
    """Where B reads more, and where A does."""
    shown = labelled.window(pair.b, token)
    values = measured.difference(pair, layer, head)[shown, shown]
    labels = pair.b.input.labels[shown]
    title = _("B − A: blue where B attends more")
    return pair_pattern.difference(
        values, labels, title=title, pinned=token, first=shown.start, _=_
    )


def draw_expected(pair: Pair, token: int):
    """Probabilities of both."""
    title = words.expected_title(pair, token)
    return pictures.bars(
        frames.expected(pair, token),
        sides.names(pair),
        title=title,
        unit=_("probability"),
        is_share=True,
    )
