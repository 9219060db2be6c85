"""A page as a list of questions: the panel that is open is computed, the others are not."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import streamlit as st

from blocks.observe.run import Run
from pages.lessons import card, following, lecturing, notes, own, presented, question, wall
from pages.page import declared, opening
from pages.page.declared import Panel as Panel
from pages.show import everything, page_file, share
from pages.show.choices import Choices
from pages.show.everything import is_all
from pages.show.export import take_run
from pages.show.seen import Node
from pages.show.share import ALL
from pages.stage import lecture, led, link, present, progress
from pages.stage.phone import is_phone
from pages.stage.stated import stated
from pages.words.language import _, literal


def show(panels: Sequence[Panel], *values: Any, files: Callable[..., None] | None = None) -> None:
    """The titles, the open panel, the way to the next one, and what can be taken away."""
    if is_all():
        _show_all(panels, values, files)
        return
    shown = panels.index(opened(panels))
    share.note_panel(panels[shown].name, _(panels[shown].title))
    lesson = progress.now()
    if lecture.is_collected():
        _collect(panels[shown], values)
        return
    everything.offer_of_lecture()
    if lesson and led.reads_notes():
        _notes(lesson, values)
    elif present.is_on() and lesson:
        _present_the_lesson(lesson, panels[shown], values)
    elif present.is_on():
        _present(panels, shown, values)
    elif lesson:
        _beside_a_lesson(lesson, panels, shown, values)
    else:
        own.note_what_is_gone()
        _note_no_such_panel(panels, shown)
        _titles(panels, shown)
        _open(panels[shown:], values, files or _declared_files(panels, shown, values))


def _declared_files(
    panels: Sequence[Panel], shown: int | None, values: Sequence[Any]
) -> Callable[..., None] | None:
    """What a panel, or (None) all of them declare to be saved, on a page about a run."""
    if not (values and isinstance(values[0], Run)):
        return None
    return declared.files(panels, panels if shown is None else panels[shown : shown + 1])


def _open(
    panels: Sequence[Panel], values: Sequence[Any], files: Callable[..., None] | None
) -> None:
    """The first of these panels, and the way to the next."""
    with st.container():
        seen = _on_paper(panels[0], values)
        with everything.seen_if_asked(seen):
            goes_on = _drawn(panels[0], values)
        with st.container(horizontal=True, horizontal_alignment="distribute", key="ways_on"):
            _way(_("Everything on this page"), ALL, icon=":material/unfold_more:", type="tertiary")
            for following in panels[1:2]:
                text = _("Next: {title}").format(title=_(following.title))
                _way(text, following.name, icon=":material/arrow_forward:", type="secondary")
        _taking_away(values, files, panels[0].name, seen)
    if goes_on:
        goes_on()


def _collect(panel: Panel, values: Sequence[Any]) -> None:
    """For the handout of a lecture; of a lesson, its text and its question too."""
    before = ""
    if lesson := progress.now():
        _now, run = _judged(lesson, values)
        asked = question.written(lesson.step.ask, run) if lesson.step.ask and run else ""
        before = f"{lesson.step.before}\n\n{asked}"
    everything.collect(partial(panel.draw_itself, values), panel.parts_of(values), before)


def _judged(lesson: progress.Now, values: Sequence[Any]) -> tuple[progress.Now, Run | None]:
    """Where the reader stands, with what comes of a guess, and the run that it is measured on."""
    run = values[0] if values and isinstance(values[0], Run) else None
    return (progress.judged(lesson, run) if run else lesson), run


def _present_the_lesson(lesson: progress.Now, shown: Panel, values: Sequence[Any]) -> None:
    if not progress.is_turned():
        following.watch(lesson)
        lecturing.keep_together()
        presented.draw(*_judged(lesson, values), partial(_alone, shown, values))


def _notes(lesson: progress.Now, values: Sequence[Any]) -> None:
    """What the leader of a class reads on a second device; no panel."""
    if not progress.is_turned():
        notes.draw(*_judged(lesson, values))


def _beside_a_lesson(
    lesson: progress.Now, panels: Sequence[Panel], shown: int, values: Sequence[Any]
) -> None:
    """The card of the lesson, and the panel that it shows or withholds."""
    if progress.is_turned():
        return
    lesson, run = _judged(lesson, values)
    following.watch(lesson)
    wide = 6 if lesson.asks_for_settings else 5  # beside the sidebar there is less room for both
    side, main = st.columns([wide, 15 - wide], gap="medium")
    with main:
        wall.draw(lesson, run)
        card.head(lesson, run, _(panels[shown].title) if lesson.step.show else "")
        task = st.container()
    with side:
        card.draw(lesson, run, task)
    with main:
        if lesson.is_withheld:
            return
        if lesson.step.show:
            _alone(panels[shown], values)
        else:
            _titles(panels, shown)
            _open(panels[shown:], values, None)


def opened(panels: Sequence[Panel]) -> Panel:
    """The panel that the link or a lesson names; where this page has none of it, the first."""
    lesson = progress.now()
    name = link.value("panel") or (lesson.step.show if lesson else "")
    named = [panel for panel in panels if panel.name == name]
    return named[0] if named else panels[0]


def _note_no_such_panel(panels: Sequence[Panel], shown: int) -> None:
    """Say what is shown where a link names a panel that this page has not."""
    if (name := link.value("panel")) and name != panels[shown].name:
        text = _("This page has no panel {name}. It shows *{title}* instead.")
        said = text.format(name=literal(name), title=_(panels[shown].title))
        st.info(said, icon=":material/link_off:")


def reads_input(panels: Sequence[Panel]) -> bool:
    """Whether what goes in is worth a line: not in a lesson whose panel shows nothing of it."""
    lesson = progress.now()
    is_told = lesson and lesson.step.show and not lesson.step.own_text
    return opened(panels).reads_input if is_told else is_of_this_run(panels)


def is_of_this_run(panels: Sequence[Panel]) -> bool:
    """Whether what the page runs is worth a line: not where the open panel shows nothing of it."""
    return is_all() or opened(panels).of_this_run


def fields(panels: Sequence[Panel]) -> tuple[str, ...]:
    """What the open panel answers to, after what a lesson asks to be moved.

    Nothing where it does not say, or where all are open.
    """
    if is_all() or not panels:
        return ()
    lesson = progress.now()
    asked = [name for name, _text in lesson.step.solution] if lesson else []
    return tuple(dict.fromkeys((*asked, *opened(panels).fields)))


def open_panel(name: str) -> None:
    """Lead to another panel of the page, where not all of them are open."""
    if not is_all():
        link.change("panel", name)
    link.redraw_everything()


def _present(panels: Sequence[Panel], shown: int, values: Sequence[Any]) -> None:
    """One panel and nothing beside it; what is chosen for it waits in the folded sidebar."""
    panel = panels[shown]
    model = _model() if panel.of_this_run and values and isinstance(values[0], Run) else ""
    names = tuple(each.name for each in panels)
    has_steps = panel.has_steps and not panel.lacks_attention(values)
    present.note_panels(names, panel.name, _(panel.title), model, has_steps=has_steps)
    lecturing.keep_together()
    _alone(panel, values)


def _model() -> str:
    title = opening.title(link.value("preset"))
    return _("{model} (changed)").format(model=title) if link.now().config_changes else title


def _alone(panel: Panel, values: Sequence[Any]) -> None:
    if goes_on := _drawn(panel, values):
        goes_on()


def _drawn(panel: Panel, values: Sequence[Any]) -> Callable[[], None] | None:
    """A panel after what is chosen for it; it may return what goes on."""
    if panel.choices and not panel.lacks_attention(values):
        with present.aside():
            panel.choices(*values)
    return panel.draw_itself(values)


def _titles(panels: Sequence[Panel], shown: int) -> None:
    """The questions, where there are several.

    All of them side by side, in as many rows as they need; on a phone, where these would push
    the picture off the screen, a list that shows the open one.
    """
    if len(panels) == 1:
        return
    titles = {panel.name: _(panel.title) for panel in panels}
    chosen: dict[str, Any] = {
        "options": list(titles),
        "format_func": titles.__getitem__,
        "label_visibility": "collapsed",
        **link.view("panel", panels[shown].name, (is_phone(), *titles.values())),
    }
    with st.container(key="panel"):
        if is_phone():
            st.selectbox(_("Question"), **chosen)
        else:
            st.pills(_("Question"), required=True, wrap=True, **chosen)


def _way(label: str, name: str, **look: Any) -> None:
    st.button(label, on_click=link.change, args=("panel", name), key=f"to_{name}", **look)


def _show_all(
    panels: Sequence[Panel], values: Sequence[Any], files: Callable[..., None] | None
) -> None:
    _way(_("One panel at a time"), "", icon=":material/unfold_less:", type="tertiary")
    there = [panel for panel in panels if not panel.lacks_attention(values)]
    for choices in _each_field_once(panel.choices for panel in there if panel.choices):
        choices(*values)
    goes_on = everything.in_turn(
        [(each.name, partial(each.draw_itself, values), _on_paper(each, values)) for each in panels]
    )
    if files := files or _declared_files(panels, None, values):
        st.subheader(_("Save the results"))
        _files(values, files, "", "")
    for each in goes_on:
        each()


def _on_paper(panel: Panel, values: Sequence[Any]) -> page_file.Panel:
    parts = panel.parts_of(values)
    return page_file.Panel(_(panel.title), Node(), parts, panel.reads_input)


def _each_field_once(choices: Iterable[Choices]) -> Iterator[Choices]:
    """The first that are for a field are so for the whole page."""
    drawn = set[str]()
    for each in dict.fromkeys(choices):
        if drawn.isdisjoint(each.fields):
            yield each
        drawn.update(each.fields)


def _taking_away(
    values: Sequence[Any], files: Callable[..., None] | None, name: str, seen: page_file.Panel
) -> None:
    """A handout of the panel, tables, pictures, configuration; made when the reader asks.

    A page about no run of the reader's has the handout alone.
    """
    if not files and progress.now():
        return
    fold = st.expander(
        _("Save the results"),
        icon=":material/download:",
        type="compact",
        key="take_away",
        on_change="rerun",
    )
    if fold.open:
        with fold:
            everything.handout([seen])
            if files:
                _files(values, files, name, seen.title)


def _files(values: Sequence[Any], files: Callable[..., None], name: str, title: str) -> None:
    files(*values, **stated(files))
    if values and isinstance(run := values[0], Run):
        take_run(run, name, title)
