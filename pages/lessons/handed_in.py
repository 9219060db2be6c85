"""What a learner takes away or hands in: each question, the guess, what was measured."""

import html
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import starmap
from types import MappingProxyType
from typing import Any

import streamlit as st

from blocks.lessons.answers import Answer
from blocks.lessons.lesson import Ask, AskKind
from blocks.lessons.shelf import HOMEWORK
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.figures.guess import Guessed
from pages.figures.numbers import readable
from pages.lessons import verdict
from pages.session.slot import Slot, shown_by
from pages.show import page_file, share
from pages.show.export import as_this_reader
from pages.stage import link, progress
from pages.stage.progress import Now
from pages.state.link_fields.lessons import FIELDS
from pages.words.language import _, current_language

Here = tuple[str, int]  # a lesson, a step of it
OPENED = Slot[tuple[Here, dict[str, Any]]]("lesson_opened", (("", 0), {}))
CHANGES = Slot[dict[Here, dict[str, Any]]]("lesson_changes", {})
# On the screen these count from 1.
COUNTED = {"layer": N_("layer {n}"), "head": N_("head {n}"), "token": N_("token {n}")}
LONGEST_TOLD = 2_000  # characters
EMPTY: Mapping[str, str] = MappingProxyType({})
OF_A_CLASS = ("room", "seat", "wall", "notes", "follow")
UNTOLD = ("lang", "hide", "panel", *FIELDS)  # no settings of a model, or told above


def note_changes(now: Now) -> None:
    """Keep what a learner sets in a step beyond what stood there when it was opened."""
    here = (now.lesson.id, now.i)
    state = {n: v for n, v in link.state().items() if n not in (*progress.KEPT, "panel")}
    if OPENED.get()[0] != here:
        OPENED.keep((here, state))
    before, changes = OPENED.get()[1], CHANGES.get()
    names = [n for n in sorted({*before, *state}) if before.get(n) != state.get(n)]
    changed = {**changes.get(here, {}), **{name: link.value(name) for name in names}}
    CHANGES.keep({**changes, here: changed})


def _changes(now: Now, i: int) -> str:
    changed = CHANGES.get().get((now.lesson.id, i), {})
    return ", ".join(starmap(_setting, changed.items()))


def _setting(name: str, value: Any) -> str:
    """One setting as the screen says it."""
    if name in COUNTED and value is not None:
        return _(COUNTED[name]).format(n=from_one(value))
    return f"{name} = {value}"


def is_asked_for(now: Now) -> bool:
    """Whether a teacher waits for the file: this is the end of homework."""
    return now.is_last and now.is_through and now.lesson.id.startswith(HOMEWORK)


def offer(now: Now) -> None:
    """The guesses of a lesson beside the truth, as one file that opens without a network.

    Of homework it also says whose it is, and how the number was found.
    """
    fields = {}
    if now.lesson.id.startswith(HOMEWORK):
        fields = {"by": _("Your name"), "how": _("How you got the number")}
    for name, label in fields.items():  # as they are typed: a click saves what stands there
        st.text_input(label, max_chars=LONGEST_TOLD, live=True, key=f"hand_in_{name}")

    def file() -> bytes:
        told = {label: shown_by(f"hand_in_{name}") for name, label in fields.items()}
        return written(now, datetime.now().astimezone(), told).encode("utf-8", "replace")

    st.download_button(
        _("Download guesses and measurements"),
        as_this_reader(file),
        file_name=f"blockscope-{now.lesson.id}.html",
        mime="text/html",
        icon=":material/download:",
        on_click=_confirm if fields else "ignore",
        type="tertiary",
        key="hand_in",
    )


def _confirm() -> None:
    st.toast(_("Saved. You can now hand in the file."), icon=":material/task_alt:")


def written(now: Now, made: datetime, told: Mapping[str, str] = EMPTY) -> str:
    """The file: HTML, nothing beside it. `told`: what the learner says, each under its label."""
    title = html.escape(now.lesson.title)
    head = f"<h1>{title}</h1><p class='caption'>{made:%Y-%m-%d %H:%M}</p>"
    rows = "".join((*starmap(_paragraph, told.items()), *_rows(now)))
    return page_file.whole(now.lesson.title, (head, rows, *_at_the_end()), current_language())


def _paragraph(label: str, text: str) -> str:
    return f"<p><strong>{html.escape(label)}</strong><br>{html.escape(text or '–')}</p>"


def _at_the_end() -> Iterator[str]:
    """What is set, and the link that opens it again; nothing of the class, nor of who was in it."""
    kept = {name: value for name, value in link.state().items() if name not in OF_A_CLASS}
    changed = ", ".join(starmap(_setting, ((n, v) for n, v in kept.items() if n not in UNTOLD)))
    heading = html.escape(_("Final settings"))
    yield f"<h2>{heading}</h2><p>{html.escape(changed)}</p>"
    with link.as_if(kept):
        address = html.escape(share.whole_link())
        yield f'<pre><a href="{address}">{address}</a></pre>'


def _said(ask: Ask, found: Answer | None) -> Iterator[str]:
    """What came of a guess; of a curve its points, since no picture stands beside it.

    None: of a guess that stands in the link alone, which this session has not judged.
    """
    if found is None:
        yield _(
            "This guess has not been checked in this session: open this step, then download again."
        )
        return
    if not found.was_guessed:
        yield _("The answer was shown; no guess was made.")
    if ask.kind is not AskKind.CURVE:
        yield verdict.said(Guessed(ask, found))
        return
    guesses = found.guess or (None,) * len(ask.xs)
    for x, guess, truth in zip(ask.xs, guesses, found.truth, strict=True):
        text = _("{x}: guessed {guess}, measured {truth}")
        if guess is None:
            text = _("{x}: measured {truth}")
        said = {"guess": "" if guess is None else readable(guess), "truth": readable(truth)}
        yield text.format(x=f"{ask.x_label} {x:g}".strip(), **said)


def _rows(now: Now) -> Iterator[str]:
    for i, step in enumerate(now.lesson.steps):
        found, changed = now.answers.get(i), _changes(now, i)
        rows = []
        if step.ask and (found or verdict.is_guess(step.ask, now.guesses.get(i))):
            rows += [f"<p>{html.escape(step.ask.question)}</p>"]
            said = (html.escape(each) for each in _said(step.ask, found))
            rows += [f"<p class='note'>{'<br>'.join(said)}</p>"]
        if changed:
            what = _("Changed: {what}").format(what=changed)
            rows += [f"<p>{html.escape(what)}</p>"]
        if rows:
            yield "".join((f"<h2>{html.escape(step.title)}</h2>", *rows))
