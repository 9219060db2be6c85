"""Choosing a change inside the model, and taking it back."""

from typing import Any

import streamlit as st

from blocks.observe.interventions import (
    Intervention,
    InterventionKind,
    Part,
    heads_of,
    part_choices,
    patched_paths,
)
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.show.controls import choose, pick, switch
from pages.show.interventions import words
from pages.stage import interventions as state
from pages.stage import link, present
from pages.stage.press import press
from pages.state import labelled
from pages.words.language import _, listing, sentences

PANEL = "ablation"


def change_controls(run: Run) -> None:
    """What to change, how, and where; a button does it.

    Before a class how and at which token wait in the sidebar.
    """
    config, is_on = run.config, present.is_on()
    columns = st.columns([5, 2, 2, 3 if is_on else 5], vertical_alignment="bottom")
    with columns[0]:
        pick(
            "change_part", _("Change"), part_choices(config), label_of=words.part, shown=_part(run)
        )
    with columns[1]:
        _number("change_layer", _("in layer"), config.n_layers, _layer(run))
    with columns[2]:
        if _part(run) is Part.HEAD:
            _number("change_head", _("head"), config.n_heads, _head(run))
    with st.sidebar if is_on else columns[3]:
        switch("change_here", _("only at the pinned token"))
    how = st.sidebar if is_on else st.container(horizontal=True, vertical_alignment="bottom")
    with how:
        choose("change_kind", _("Replace with"), InterventionKind, label_of=words.kind)
    with columns[3] if is_on else how:
        press(_("Apply"), "change_it", state.add, chosen(run), icon="edit", type="primary")


def _part(run: Run) -> Part:
    """The reader's, or that of the last change that is on."""
    asked, choices = link.value("change_part"), part_choices(run.config)
    part = Part(asked) if asked else _made_last(run).part
    return part if part in choices else choices[0]


def _layer(run: Run) -> int:
    asked = link.value("change_layer")
    return _made_last(run).layer if asked is None else min(asked, run.config.n_layers - 1)


def _head(run: Run) -> int:
    asked, made = link.value("change_head"), _made_last(run).head
    looked_at = labelled.selected_head(run, link.now()) if made is None else made
    return looked_at if asked is None else min(asked, run.config.n_heads - 1)


def _made_last(run: Run) -> Intervention:
    """The last change that is on, or else the head that is looked at, switched off."""
    if run.interventions:
        return run.interventions[-1]
    layer, head = labelled.selected_layer(run, link.now()), labelled.selected_head(run, link.now())
    return Intervention(part=Part.HEAD, layer=layer, head=head)


def _number(name: str, label: str, n: int, shown: int) -> None:
    with st.container(key=name):
        st.selectbox(
            label,
            range(n),
            format_func=lambda index: str(from_one(index)),
            **link.view(name, shown, n),
        )


def chosen(run: Run) -> Intervention:
    """The change that the controls describe."""
    part = _part(run)
    return Intervention(
        part=part,
        layer=_layer(run),
        head=_head(run) if part is Part.HEAD else None,
        kind=InterventionKind(link.value("change_kind")),
        token=labelled.pinned_token(run, link.now()) if link.value("change_here") else None,
    )


def other_text(run: Run) -> None:
    """The text that is patched from, where something is or will be."""
    is_chosen = link.value("change_kind") == InterventionKind.PATCH
    if not is_chosen and not patched_paths(run.interventions):
        return
    st.text_area(
        _("Other text: change a word but keep the number of tokens"),
        height=68,
        **link.view("other_text", link.value("other_text")),
    )


def note(run: Run) -> None:
    """At the top of a page: that the model is not as it was, and the way back.

    The panel that changes it says so itself, with a way back for each change.
    """
    if not run.interventions or link.value("panel") == PANEL:
        return
    made = listing(words.change(run, change) for change in run.interventions)
    text = _(
        "Changes inside the model: {made}. Unless noted otherwise, every picture shows the "
        "changed model."
    )
    said, undo = st.columns([6, 1], vertical_alignment="center")
    with said:
        st.info(sentences(text.format(made=made), words.of_heads(run)), icon=":material/edit:")
    with undo:
        st.button(_("Undo all"), icon=":material/undo:", on_click=state.undo, key="undo_all")


def made(run: Run) -> None:
    """The changes that are made, each with a way back."""
    with st.container(horizontal=True, gap="small", key="changes_made"):
        for i, change in enumerate(run.interventions):
            press(
                words.change(run, change),
                f"undo_{i}",
                state.remove,
                change,
                icon="close",
                help=_("Undo"),
            )
    if note := words.left_out(run):
        st.caption(note)


def switch_off(run: Run, customdata: list[Any]) -> None:
    """A part in the grid of effects was clicked: it is switched off, or on again.

    The controls describe it from then on.
    """
    part = heads_of(run.config)[int(customdata[0])]
    _choose(part)
    if part in state.asked():
        state.remove(part)
    else:
        state.add(part)


def try_without(part: Intervention) -> None:
    """Switch a part off, and lead to the panel that shows what that does."""
    _choose(part)
    state.add(part)
    link.change("panel", PANEL)


def _choose(part: Intervention) -> None:
    link.change("change_part", str(part.part))
    link.change("change_layer", part.layer)
    link.change("change_head", part.head or 0)
    link.change("change_kind", str(part.kind))
    link.change("change_here", False)
