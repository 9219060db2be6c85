"""A and B at work on the same text: flow, heads, one head and its difference, what they expect."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks import ConfigError
from blocks.inspection import pattern_distance, tiles, two_predictions
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures import flow, heads
from pages.figures import pair as pictures
from pages.figures.beside import on_one_scale
from pages.figures.counting import from_one
from pages.figures.theme import Picture, token_label
from pages.panels.compare import runs_facts, runs_picture, shared
from pages.panels.compare.shared import Pair, in_rows
from pages.ui import cached, labelled, link
from pages.ui.chart import show
from pages.ui.controls import pick
from pages.ui.explain import explained, note
from pages.ui.language import _, literal, say_fault
from pages.ui.link_fields.compare import COMPARED_MOMENTS
from pages.ui.numbers import percent, readable
from pages.ui.tables import show_whole
from pages.ui.views import head_choice as head_of_a_run
from pages.ui.views import one_of_layers, pin_token


def run_rows(pair: shared.Pair) -> list[shared.Row]:
    """What the runs of both show."""
    streams = [runs_facts.over_layers(run, "resid_post", "rms")["value"] for run in pair.both]
    ends = [float(stream.iloc[-1]) for stream in streams]
    growth = [float(stream.iloc[-1] / stream.iloc[0]) for stream in streams]
    entropy = [runs_facts.mean_entropy(run) for run in pair.both]
    rows = [
        shared.Row(_("RMS of the stream after the last layer"), ends[0], ends[1], readable),
        shared.Row(_("growth of the stream over the layers"), growth[0], growth[1], shared._times),
        shared.Row(_("entropy of the heads, mean (bits)"), entropy[0], entropy[1], "{:.2f}".format),
    ]
    if pair.reads_the_same:
        apart = float(runs_facts.distances(pair).mean())
        label = _("distance of heads with the same number, mean (0 to 1)")
        rows.append(shared.Row(label, 0.0, apart, "{:.3f}".format, is_between=True))
    return rows


def stages_frame(pair: shared.Pair, layer: int) -> pd.DataFrame:
    """RMS of every stage of a layer that both have, and its change."""
    a, b = (labelled.stages(run, layer).set_index("stage") for run in pair.both)
    common = [stage for stage in b.index if stage in a.index]
    return pd.DataFrame(
        {
            _("stage"): [b["label"][stage] for stage in common],
            "RMS · A": [a["rms"][stage] for stage in common],
            "RMS · B": [b["rms"][stage] for stage in common],
            _("B − A"): [b["rms"][stage] - a["rms"][stage] for stage in common],
        }
    ).round(4)


def stages_table(pair: shared.Pair, layer: int) -> None:
    """Show the stages as a table."""
    show_whole(stages_frame(pair, layer))


STAGES = {
    "resid_post": N_("the stream after the layer"),
    "attention_out": N_("attention output"),
    "feed_forward_out": N_("feed-forward output"),
}

MOMENTS = {
    "rms": "RMS",
    "std": N_("std"),
    "mean": N_("mean"),
    "min": N_("min"),
    "max": N_("max"),
    "outlier_share": N_("beyond 3 std"),
}


def stage_text(name: str) -> str:
    """What is followed through the layers."""
    return _(STAGES[name])


def moment_text(name: str) -> str:
    """What is read off its values."""
    return _(MOMENTS[name])


def cannot_run(name: str, why: str) -> str:
    """Why one of them is counted only."""
    text = _("{name} is only counted here, not run. {why}. What needs a run of both is left out.")
    return text.format(name=literal(name), why=why.rstrip("."))


def overflow_text(pair: Pair) -> str:
    """Which of them grew beyond its number format; nothing where none did."""
    sizes = zip(shared.names(pair), pair.both, strict=True)
    found = [(name, run.dtype) for name, run in sizes if not runs_facts.is_finite(run)]
    text = _("The values of {name} overflowed {dtype}: there is nothing to compare.")
    return " ".join(text.format(name=literal(name), dtype=dtype) for name, dtype in found)


def tokens_differ(pair: Pair) -> str:
    """Why patterns are not subtracted."""
    n_a, n_b = (run.input.shape[1] for run in pair.both)
    text = _(
        "A and B tokenize this text differently ({n_a} and {n_b} tokens), so their "
        "attention cannot be compared cell by cell."
    )
    return text.format(n_a=n_a, n_b=n_b)


def flow_sentence(pair: Pair, stage_name: str, moment_name: str) -> str:
    """Both after the last common layer, and where they part most."""
    a, b = (runs_facts.over_layers(run, stage_name, moment_name) for run in pair.both)
    both = a.merge(b, on="layer", suffixes=("_a", "_b"))
    start, last = both.iloc[0], both.iloc[-1]
    text = _(
        "{stage}, {moment}: A goes from {a_start} to {a_end}, B from {b_start} to "
        "{b_end} (layers {first} to {last}). They are furthest apart at layer {apart}."
    )
    apart = both["layer"].iloc[(both["value_b"] - both["value_a"]).abs().argmax()]
    said = text.format(
        stage=_capital(stage_text(stage_name)),
        moment=moment_text(moment_name),
        a_start=readable(start["value_a"]),
        a_end=readable(last["value_a"]),
        b_start=readable(start["value_b"]),
        b_end=readable(last["value_b"]),
        first=int(start["layer"]),
        last=int(last["layer"]),
        apart=int(apart),
    )
    return f"{said} {_depths(pair)}".strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _depths(pair: Pair) -> str:
    n_a, n_b = (run.config.n_layers for run in pair.both)
    if n_a == n_b:
        return ""
    return _("A has {n_a} layers, B {n_b}.").format(n_a=n_a, n_b=n_b)


def flow_alt(pair: Pair, stage_name: str, moment_name: str, *_layer: int) -> str:
    """Write the alt text of the lines."""
    text = _("Two lines over the layers, and their difference below. {sentence}")
    return text.format(sentence=flow_sentence(pair, stage_name, moment_name))


def stages_alt(pair: Pair, layer: int, side: int) -> str:
    """Write the alt text of the stages of one side."""
    rows = labelled.stages(pair.both[side], layer).itertuples()
    said = "; ".join(f"{row.label} {row.mean:.2f} ± {row.std:.2f}" for row in rows)
    text = _("{name}, layer {layer}, mean and standard deviation at each stage: {rows}.")
    return text.format(name=shared.names(pair)[side], layer=layer + 1, rows=said)


def heads_sentence(pair: Pair, layer: int) -> str:
    """How far apart the heads are, which most, and which other head is nearer."""
    found = runs_facts.distances(pair)
    text = _(
        "Heads of A and B with the same number are {mean:.3f} apart on average (0: "
        "identical, 1: disjoint; {n} queries). Furthest apart: layer {layer}, head "
        "{head}, {most:.3f}."
    )
    place = np.unravel_index(found.argmax(), found.shape)
    said = text.format(
        mean=found.mean(),
        n=runs_facts.n_compared(pair),
        layer=from_one(place[0]),
        head=from_one(place[1]),
        most=found.max(),
    )
    return f"{said} {_nearest(pair, layer)}"


def _nearest(pair: Pair, layer: int) -> str:
    """Whether heads keep their numbers, in one layer."""
    matrix = runs_facts.measured_matrix(pair, layer)
    nearest = matrix.argmin(axis=1)
    n_own = sum(int(place) == i for i, place in enumerate(nearest))
    text = _("In layer {layer} the nearest head of B has the same number for {n} of {all} heads.")
    return text.format(layer=layer + 1, n=n_own, all=len(nearest))


def heads_note(pair: Pair) -> str:
    """How to read the distances."""
    same = _(
        "Distance: half the sum of |A − B| over the keys (total variation), averaged "
        "over the queries that can attend to more than one key."
    )
    if all(run.weights for run in pair.both) and pair.a.weights != pair.b.weights:
        more = _("Heads have no order: models trained separately need not number them alike.")
        return f"{same} {more}"
    return same


def tiles_alt(pair: Pair, side: int, layer: int, head: int, *_token: int) -> str:
    """Write the alt text of all heads of one side."""
    text = _("{name}: all {n} heads of layer {layer}, head {head} outlined.")
    return text.format(
        name=shared.names(pair)[side],
        n=pair.both[side].config.n_heads,
        layer=from_one(layer),
        head=from_one(head),
    )


def distances_alt(pair: Pair, layer: int, *_head: int) -> str:
    """Write the alt text of the map of distances."""
    return heads_sentence(pair, layer)


def matrix_alt(pair: Pair, layer: int) -> str:
    """Write the alt text of the map of every head against every head."""
    text = _("Distance from each head of A (rows) to each head of B (columns). {sentence}")
    return text.format(sentence=_nearest(pair, layer))


def head_sentence(pair: Pair, layer: int, head: int, token: int) -> str:
    """Where the pinned token reads from in both."""
    a, b = (runs_facts.one_head(run, layer, head).weights[token] for run in pair.both)
    if np.isnan(a).all() or np.isnan(b).all():
        return _("The pinned token cannot attend to any key in one of them.")
    labels_a, labels_b = pair.a.input.labels, pair.b.input.labels
    key_a, key_b = int(np.nanargmax(a)), int(np.nanargmax(b))
    text = _(
        "{token} (token {place}) attends most to {key_a} in A ({weight_a:.2f}) and to "
        "{key_b} in B ({weight_b:.2f})."
    )
    if not pair.reads_the_same:
        text = _(
            "Token {place} is {token_a} in A and attends most to {key_a} "
            "({weight_a:.2f}); in B it is {token} and attends most to {key_b} "
            "({weight_b:.2f})."
        )
    said = text.format(
        token=literal(labels_b[token]),
        token_a=literal(labels_a[token]),
        place=token + 1,
        key_a=literal(labels_a[key_a]),
        key_b=literal(labels_b[key_b]),
        weight_a=a[key_a],
        weight_b=b[key_b],
    )
    return f"{said} {_moved(pair, layer, head, token)}".strip()


def _moved(pair: Pair, layer: int, head: int, token: int) -> str:
    """How much weight lies elsewhere; nothing where the tokens are others."""
    if not pair.reads_the_same:
        return ""
    difference = runs_facts.measured_difference(pair, layer, head)[token]
    text = _("{share} of its weight lies on other keys; {mean} on average over the head's queries.")
    share, mean = (
        np.abs(np.nan_to_num(difference)).sum() / 2,
        runs_facts.distances(pair)[layer, head],
    )
    return text.format(share=percent(float(share)), mean=percent(float(mean)))


def one_alt(pair: Pair, side: int, layer: int, head: int, token: int) -> str:
    """Write the alt text of one head of one side."""
    text = _("{name}, layer {layer}, head {head}. {sentence}")
    return text.format(
        name=shared.names(pair)[side],
        layer=from_one(layer),
        head=from_one(head),
        sentence=head_sentence(pair, layer, head, token),
    )


def difference_alt(pair: Pair, layer: int, head: int, token: int) -> str:
    """Write the alt text of the difference."""
    text = _("B − A in layer {layer}, head {head}. {sentence}")
    sentence = head_sentence(pair, layer, head, token)
    return text.format(layer=from_one(layer), head=from_one(head), sentence=sentence)


def expected_sentence(pair: Pair, place: int) -> str:
    """What both expect most, and how far apart they are."""
    found, table = (
        runs_facts.expected(pair.a, pair.b, place),
        runs_facts.expected_frame(pair, place),
    )
    first_a, first_b = (table.iloc[table[side].argmax()] for side in ("a", "b"))
    text = _(
        "A's top prediction is {a} ({p_a}), B's is {b} ({p_b}). The two distributions "
        "differ in {share} of their probability; over the whole text the top "
        "predictions agree at {agreement} of positions."
    )
    return text.format(
        a=literal(first_a["label"]),
        p_a=first_a["said_a"],
        b=literal(first_b["label"]),
        p_b=first_b["said_b"],
        share=percent(found.distance),
        agreement=percent(found.agreement),
    )


def expected_alt(pair: Pair, place: int) -> str:
    """Write the alt text of the bars."""
    return f"{expected_sentence(pair, place)} {in_rows(runs_facts.expected_frame(pair, place))}"


def encoder_only() -> str:
    """What is compared of a model that reads a source and writes a target."""
    return _("Of an encoder–decoder, the encoder is compared: it reads the text.")


def flow_title(stage_name: str, moment_name: str) -> str:
    """What is drawn over the layers."""
    return f"{_capital(stage_text(stage_name))}: {moment_text(moment_name)}"


def tiles_title(pair: Pair, side: int, layer: int) -> str:
    """Whose heads these are."""
    letter = "AB"[side]
    text = _("{letter}: all heads of layer {layer}")
    return text.format(letter=letter, layer=layer + 1)


def expected_title(pair: Pair, place: int) -> str:
    """Where it is expected."""
    token = token_label(pair.b.input.labels[place])
    if pair.b.config.architecture is Architecture.ENCODER:
        return _("Predictions of both at {token}").format(token=token)
    return _("Predictions of both after {token}").format(token=token)


def expected_note(pair: Pair) -> str:
    """Whether the numbers mean anything."""
    random = [letter for letter, run in zip("AB", pair.both, strict=True) if not run.weights]
    said = _("At temperature 1, at the pinned token: the most probable tokens of either.")
    if not random:
        return said
    more = _("Random weights (seed {seed}): {which}; such predictions are meaningless.")
    return f"{said} {more.format(which=', '.join(random), seed=pair.b.seed)}"


def flow_controls(pair: Pair) -> None:
    """Which stage is followed, and by which number."""
    stage, moment = flow_shown(pair)
    label = _("Follow over the layers")
    left, right = st.columns(2)
    with left:
        options = runs_facts.stages(pair)
        pick("compared_stage", label, options, label_of=stage_text, shown=stage)
    with right:
        label = _("Statistic")
        pick("compared_moment", label, COMPARED_MOMENTS, label_of=moment_text, shown=moment)


def flow_shown(pair: Pair) -> tuple[str, str]:
    """The stage, where both have it, and the number."""
    wanted, known = link.value("compared_stage"), runs_facts.stages(pair)
    return wanted if wanted in known else known[0], link.value("compared_moment")


def layer_choice(pair: Pair) -> None:
    """One of the layers that both have."""
    if pair.n_layers > 1:
        one_of_layers(pair.n_layers, runs_facts.looked_at_layer(pair))


def head_choice(pair: Pair) -> None:
    """One of the heads that both have."""
    fewest = min(pair.both, key=lambda run: run.config.n_heads)
    head_of_a_run(fewest, runs_facts.looked_at_head(pair))


def open_layer(pair: Pair) -> Callable[[list[Any]], None]:
    """A layer on the lines was clicked."""

    def opened(customdata: list[Any]) -> None:
        link.change("layer", max(0, min(int(customdata[0]), pair.n_layers) - 1))

    return opened


def open_head(pair: Pair) -> Callable[[list[Any]], None]:
    """A tile was clicked; a head that the other has not stays closed."""

    def opened(customdata: list[Any]) -> None:
        if int(customdata[0]) < pair.n_heads:
            link.change("head", int(customdata[0]))

    return opened


def open_distance(customdata: list[Any]) -> None:
    """A cell of layer and head was clicked."""
    link.change("layer", int(customdata[0]))
    link.change("head", int(customdata[1]))


def tile_columns(run: Run) -> int:
    """How many tiles stand side by side."""
    return tiles.columns(run.config.n_heads)


def numbers(n: int) -> list[str]:
    """What so many layers or heads are called on an axis."""
    return [str(from_one(index)) for index in range(n)]


TILES_WIDTH = 430


def both_ran(pair: Pair) -> bool:
    """Run both; where one cannot, say why and go on without."""
    for name, why in (found := shared.faults(pair)):
        st.info(cannot_run(name, why), icon=":material/block:")
    if found:
        return False
    try:
        with st.spinner(_("Running both models …"), show_time=True):
            for run in pair.both:
                cached.recording(run)
    except ConfigError as error:
        st.info(say_fault(error.faults[0]), icon=":material/block:")
        return False
    if overflow := overflow_text(pair):
        st.info(overflow, icon=":material/block:")
    return not overflow


def what_passes(pair: Pair) -> None:
    """The stream through the layers of both, and the stages of one layer."""
    place = explained(("flow", "residual"), key="pair_flow")
    flow_controls(pair)
    shown = flow_shown(pair)
    place.info(flow_sentence(pair, *shown), icon=":material/lightbulb:")
    show(
        draw_flow,
        pair,
        *shown,
        runs_facts.looked_at_layer(pair),
        key="pair_flow_lines",
        alt=flow_alt,
        on_click=open_layer(pair),
    )
    shared.numbers(run_rows(pair))
    layer_choice(pair)
    if any(run.has_target for run in pair.both):
        note(encoder_only())
        return
    the_stages(pair, runs_facts.looked_at_layer(pair))


def the_stages(pair: Pair, layer: int) -> None:
    """One layer, stage by stage, on one scale."""
    for side, column in enumerate(st.columns(2)):
        with column:
            note(runs_facts.side_label(pair, side))
            show(draw_stages, pair, layer, side, key=f"pair_bands_{side}", alt=stages_alt)
    with st.expander(_("Stages that both models have, in numbers"), icon=":material/table:"):
        stages_table(pair, layer)


def who_reads_whom(pair: Pair) -> None:
    """All heads of one layer of both, and how far apart they are."""
    code = (pattern_distance.total_variation, pattern_distance.head_distances)
    place = explained(("comparing", "heads"), code, key="pair_heads")
    layer, head, token = (
        runs_facts.looked_at_layer(pair),
        runs_facts.looked_at_head(pair),
        shared.pinned(pair),
    )
    if pair.reads_the_same:
        place.info(heads_sentence(pair, layer), icon=":material/lightbulb:")
    else:
        place.info(tokens_differ(pair), icon=":material/block:")
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
                alt=tiles_alt,
                on_click=open_head(pair),
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
            alt=distances_alt,
            on_click=open_distance,
        )
    with right:
        show(draw_matrix, pair, layer, key="pair_matrix", alt=matrix_alt)
    note(heads_note(pair))


def one_head_of_each(pair: Pair) -> None:
    """The same head of both, large, and the difference."""
    place = explained(("comparing", "attention"), key="pair_head")
    head_choice(pair)
    layer, head, token = (
        runs_facts.looked_at_layer(pair),
        runs_facts.looked_at_head(pair),
        shared.pinned(pair),
    )
    place.info(head_sentence(pair, layer, head, token), icon=":material/lightbulb:")
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
                alt=one_alt,
                on_click=pin_token,
            )
    with columns[2]:
        if not pair.reads_the_same:
            note(tokens_differ(pair))
            return
        show(
            draw_difference,
            pair,
            *shown,
            key="pair_difference",
            alt=difference_alt,
            on_click=pin_token,
        )


def what_they_expect(pair: Pair) -> None:
    """The likeliest tokens of both at the pinned token."""
    code = (two_predictions.two_predictions,)
    token = shared.pinned(pair)
    explained(("comparing", "surprise"), code, key="pair_expected").info(
        expected_sentence(pair, token), icon=":material/lightbulb:"
    )
    show(draw_expected, pair, token, key="pair_expected_bars", alt=expected_alt)
    note(expected_note(pair))


def draw_flow(pair: Pair, stage: str, moment: str, layer: int) -> Picture:
    """One number of one stage over the layers."""
    a, b = (runs_facts.over_layers(run, stage, moment) for run in pair.both)
    title = flow_title(stage, moment)
    unit = moment_text(moment)
    names = shared.names(pair)
    return pictures.over_layers(a, b, names, selected=layer + 1, title=title, unit=unit, _=_)


def draw_stages(pair: Pair, layer: int, side: int) -> Picture:
    """The values at each stage of one side, on the scale of both."""
    title = _("Layer {layer}: the values at each stage").format(layer=layer + 1)
    both = (flow.bands(labelled.stages(run, layer), None, title=title, _=_) for run in pair.both)
    return on_one_scale(*both)[side]


def draw_tiles(pair: Pair, side: int, layer: int, head: int, token: int) -> Picture:
    """All heads of a layer of one side."""
    run = pair.both[side]
    table = runs_facts.heads_frame(pair, side, layer)
    return heads.overview(
        runs_facts.head_tiles(run, layer),
        table,
        columns=tile_columns(run),
        selected=head,
        pinned=labelled.row_share(run, token),
        title=tiles_title(pair, side, layer),
        width=TILES_WIDTH,
        _=_,
    )


def draw_distances(pair: Pair, layer: int, head: int) -> Picture:
    """Distance of heads with the same number, in all layers."""
    found = runs_facts.distances(pair)
    return runs_picture.distances(
        found,
        rows=numbers(pair.n_layers),
        columns=numbers(pair.n_heads),
        titles=(_("layer"), _("head")),
        selected=(layer, head),
        title=_("Distance between heads of the same number"),
        _=_,
    )


def draw_matrix(pair: Pair, layer: int) -> Picture:
    """Distance of every head to every head."""
    n_a, n_b = (run.config.n_heads for run in pair.both)
    return runs_picture.distances(
        runs_facts.measured_matrix(pair, layer),
        rows=numbers(n_a),
        columns=numbers(n_b),
        titles=(_("head of A"), _("head of B")),
        selected=None,
        title=_("Layer {layer}: every head of A against every head of B").format(layer=layer + 1),
        _=_,
    )


def draw_one(pair: Pair, side: int, layer: int, head: int, token: int) -> Picture:
    """One head of one side; of a long text the part around the pinned token."""
    run = pair.both[side]
    shown = labelled.window(run, token)
    codes, weights = (cells[shown, shown] for cells in runs_facts.one_head(run, layer, head))
    return runs_picture.one_pattern(
        codes,
        weights,
        run.input.labels[shown],
        title=token_label(shared.names(pair)[side], most=34),
        pinned=token,
        first=shown.start,
        _=_,
    )


def draw_difference(pair: Pair, layer: int, head: int, token: int) -> Picture:
    """Where B reads more, and where A does."""
    shown = labelled.window(pair.b, token)
    values = runs_facts.measured_difference(pair, layer, head)[shown, shown]
    labels = pair.b.input.labels[shown]
    title = _("B − A: blue where B attends more")
    return runs_picture.difference(
        values, labels, title=title, pinned=token, first=shown.start, _=_
    )


def draw_expected(pair: Pair, token: int) -> Picture:
    """Probabilities of both."""
    title = expected_title(pair, token)
    return pictures.bars(
        runs_facts.expected_frame(pair, token),
        shared.names(pair),
        title=title,
        unit=_("probability"),
        is_share=True,
    )
