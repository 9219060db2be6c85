"""What was changed of the settings that a step is about, and the way back to them."""

from typing import Any

import streamlit as st

from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.server import starts
from pages.server.readers import as_text
from pages.stage import link, progress
from pages.stage.press import press
from pages.stage.progress import Now
from pages.state.fields import CONFIG
from pages.state.values import value_in
from pages.words.language import _, listing, literal

OF_THE_MODEL = ("preset", "weights", "mask_kind", "layer", "head", *CONFIG)
MOST_NAMED, LONGEST = 3, 40
COUNTED = {"layer": N_("Layer"), "head": N_("Head")}


def offer(now: Now) -> None:
    """Say what differs from what the lesson has set, and offer to set it back; else nothing."""
    if not (parts := [_part(*each) for each in _changed(now)]):
        return
    text = _("Your settings differ from those of this step: {changes}.")
    st.caption(text.format(changes=listing(parts[:MOST_NAMED])))
    press(
        _("Restore"), "set_back", progress.set_back, icon="settings_backup_restore", type="tertiary"
    )


def _changed(now: Now) -> list[tuple[str, Any, Any]]:
    """Names with the value that the lesson has set, and the present one: of model and text."""
    step = progress.last_set(now.lesson, now.i)
    wanted, state = progress.settings_of(step), link.state()
    is_led = bool(link.value("room"))  # a class reads what its teacher has set, in any language
    of_text = ("text",) if "text" in wanted and not (step.own_words or is_led) else ()
    names = [name for name in (*OF_THE_MODEL, *of_text) if name in {"preset", *wanted, *state}]
    pairs = [
        (name, _or_first(name, value_in(wanted, name)), _or_first(name, link.value(name)))
        for name in names
    ]
    return [each for each in pairs if step.set and each[1] != each[2]]


def _or_first(name: str, found: Any) -> Any:
    return 0 if name in COUNTED and found is None else found


def _part(name: str, wanted: Any, found: Any) -> str:
    label, before, after = name, as_text(wanted)[:LONGEST], as_text(found)[:LONGEST]
    if name in COUNTED:
        label, before, after = _(COUNTED[name]), *(str(from_one(each)) for each in (wanted, found))
    if name == "preset":
        label, before, after = (
            _("Preset"),
            *(_(starts.start(each).title) for each in (wanted, found)),
        )
    text = _("{name} is {found} instead of {wanted}")
    return text.format(name=label, found=literal(after), wanted=literal(before))
