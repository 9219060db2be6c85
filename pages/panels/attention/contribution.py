"""Attention is not contribution: weight beside what is really added, and heads that rest."""

from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import contribution as measures
from blocks.inspection.contribution import SINK_ABOVE, SMALL_BELOW, Contribution
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.attention import contribution_picture as pictures
from pages.panels.attention import shared
from pages.panels.attention.shared import head_called, token
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language
from pages.ui.link_fields.attention import COUNTED
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import pin_token


def contribution_rows(run: Run, layer: int, head: int | None, query: int) -> pd.DataFrame:
    """A row a key, in the order of the text, and what is no key of this head."""
    return _contribution_rows(run, layer, head, query, current_language())


@lru_cache(maxsize=64)
def _contribution_rows(
    run: Run, layer: int, head: int | None, query: int, language: str
) -> pd.DataFrame:
    found = shared.contribution(run, layer, head, query)
    keys = found.keys.assign(
        label=run.input.labels,
        kind="key",
        number=range(len(found.keys)),
        is_pinned=[i == query for i in range(len(found.keys))],
    )
    keys = keys[keys["is_seen"]]
    largest = keys[["weight", "share"]].abs().max(axis=1).nlargest(shared.MOST_KEYS).index
    keys = keys.loc[sorted(largest)]
    none: dict[str, Any] = {
        "weight": None,
        "norm": None,
        "value_norm": None,
        "number": -1,
        "is_pinned": False,
    }
    rest = [{**none, "label": _("other heads"), "kind": "rest", "share": found.rest}]
    bias = {"label": _("output bias"), "kind": "bias", "share": found.bias}
    rest = rest if head is not None else []
    rest.append({**none, **bias, "norm": found.bias_norm})
    return pd.DataFrame([*keys.to_dict("records"), *rest])


def contribution_note(run: Run, layer: int, head: int | None, query: int) -> str:
    """Which keys are drawn, and what is counted."""
    found = shared.contribution(run, layer, head, query)
    n_seen, notes = int(found.keys["is_seen"].sum()), []
    if n_seen > shared.MOST_KEYS:
        text = _("Shown: the {n} keys with the largest weight or share, of {all} visible ones.")
        notes.append(text.format(n=shared.MOST_KEYS, all=n_seen))
    notes.append(
        _(
            "Share: the component along the direction of the layer's output at this "
            "token, before dropout; all rows sum to 100%. Below 0 a key works against "
            "the rest."
        )
    )
    return " ".join(notes)


def sink_points(run: Run) -> pd.DataFrame:
    """A row a head of all layers, with the words under the cursor."""
    return _sink_points(run, current_language())


@lru_cache(maxsize=16)
def _sink_points(run: Run, language: str) -> pd.DataFrame:
    table = shared.sinks(run)
    text = _("{head}: weight {weight:.2f}, value {ratio:.2f}")
    hovers = [
        text.format(
            head=shared.head_called(int(row.layer), int(row.head)),
            weight=row.weight,
            ratio=row.value_ratio,
        )
        for row in each_row(table)
    ]
    return table.assign(hover=hovers)


COUNTED_LABELS = {"one_head": N_("this head"), "all_heads": N_("all heads of the layer")}


def counted_choice() -> None:
    """One head, or all of the layer together."""
    st.segmented_control(
        _("Heads counted"),
        COUNTED,
        format_func=lambda name: _(COUNTED_LABELS[name]),
        required=True,
        **link.view("counted", link.value("counted"), current_language()),
    )


def contribution_sentence(run: Run, layer: int, head: int | None, query: int) -> str:
    """Which key has the most weight, and which one adds most."""
    found = shared.contribution(run, layer, head, query)
    if found.out_norm == 0:
        return _("Attention adds nothing at this token: the vector has length 0.")
    if found.keys["weight"].max() == 0:
        return _("This token cannot attend to any key: attention adds its output bias alone.")
    weight, norm = (int(found.keys[name].argmax()) for name in ("weight", "norm"))
    return " ".join((_largest(run, found, weight, norm), *_rest(found, head)))


def _largest(run: Run, found: Contribution, weight: int, norm: int) -> str:
    keys = found.keys
    share = keys["norm"] / keys["norm"].sum()
    values = {
        "token": token(run, weight),
        "weight": percent(float(keys["weight"][weight])),
        "norm": percent(float(share[weight])),
    }
    if weight == norm:
        text = _(
            "{token} has the largest weight ({weight}) and contributes most ({norm} of the "
            "total length)."
        )
        return text.format(**values)
    text = _(
        "{token} has the largest weight ({weight}), but {other} contributes most: "
        "{other_norm} of the total length with a weight of {other_weight}; {token} "
        "contributes {norm}."
    )
    return text.format(
        **values,
        other=token(run, norm),
        other_norm=percent(float(share[norm])),
        other_weight=percent(float(keys["weight"][norm])),
    )


def _rest(found: Contribution, head: int | None) -> list[str]:
    """What of the write is no key of this head."""
    said = []
    if head is not None:
        text = _("This head contributes {share:.0%} of what the layer adds here.")
        said.append(text.format(share=found.keys["share"].sum()))
    if found.bias_norm > 0:
        text = _("The output bias contributes {share:.0%}: it comes from no token.")
        said.append(text.format(share=found.bias))
    return said


def contribution_alt(run: Run, layer: int, head: int | None, query: int) -> str:
    """Write the alt text of the bars."""
    text = _("For each key: weight, length of what is added, share of the output. {sentence}")
    return text.format(sentence=contribution_sentence(run, layer, head, query))


def sinks_sentence(run: Run) -> str:
    """Which heads rest on the first token, by which numbers."""
    rule = _(
        "Some heads park their attention on the first token, an attention sink. Marked "
        "are heads whose mean weight on that token is above {above:.0%} although its "
        "‖v·W_O‖ is below {below} of the others' mean."
    ).format(above=SINK_ABOVE, below=SMALL_BELOW)
    table = shared.sinks(run)
    found = table[table["is_sink"]].sort_values("weight", ascending=False)
    if found.empty:
        top = table.iloc[table["weight"].argmax()]
        text = _(
            "No head uses the first token as an attention sink here; closest is {head}: "
            "weight {weight}, value {ratio:.2f}."
        )
        return (
            rule
            + " "
            + text.format(
                head=head_called(int(top["layer"]), int(top["head"])),
                weight=percent(float(top["weight"])),
                ratio=top["value_ratio"],
            )
        )
    each = _("{head} (weight {weight}, value {ratio:.2f})")
    listed = "; ".join(
        each.format(
            head=head_called(int(row.layer), int(row.head)),
            weight=percent(row.weight),
            ratio=row.value_ratio,
        )
        for row in each_row(found.head(4))
    )
    text = _("{n} of {all} heads use the first token as an attention sink; most: {listed}.")
    return rule + " " + text.format(n=len(found), all=len(table), listed=listed)


def sinks_alt(run: Run, *_chosen: int) -> str:
    """Write the alt text of the picture of the sinks."""
    return sinks_sentence(run)


@section
def weight_and_contribution(run: Run, layer: int, head: int, token: int) -> None:
    """The keys of the pinned token, by weight and by what they add; then the first token."""
    code = (measures.contribution, measures.value_norms, measures.first_token)
    shown = run, layer, shared.counted_head(head), token
    with explained(("contribution",), code, key="contribution"):
        say(contribution_sentence, *shown)
    counted_choice()
    left, right = columns([7, 5])
    with left:
        show(
            draw_contribution,
            *shown,
            key="contribution",
            alt=contribution_alt,
            on_click=pin_token,
        )
        note(contribution_note(*shown))
    with right:
        rests_on_the_first(run, layer, head)


def rests_on_the_first(run: Run, layer: int, head: int) -> None:
    """Every head of the model: its weight on the first token, and what that would move."""
    layers = [partial(shared.first_token, run, number) for number in range(run.config.n_layers)]
    if in_steps(layers, what=run, key="first_token").is_stopped:
        return
    show(
        draw_sinks,
        run,
        layer,
        head,
        key="sinks",
        alt=sinks_alt,
        on_click=shared.open_head,
    )
    note(sinks_sentence(run))


def draw_contribution(run: Run, layer: int, head: int | None, token: int) -> Picture:
    """Weight, length and share, a row a key."""
    counted = _("all heads of the layer") if head is None else head_called(layer, head)
    title = _("At {token}: {counted}").format(token=run.input.labels[token], counted=counted)
    rows = contribution_rows(run, layer, head, token)
    return pictures.bars(rows, title=title, _=_)


def draw_sinks(run: Run, layer: int, head: int) -> Picture:
    """A point a head."""
    return pictures.sinks(
        sink_points(run),
        above=measures.SINK_ABOVE,
        below=measures.SMALL_BELOW,
        selected=(layer, head),
        _=_,
    )
