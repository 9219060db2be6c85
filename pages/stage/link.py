"""The link is the state.

What differs from the default is in the link, under the names of the configuration's fields and
in values that are never translated. Widgets are views of this state: each is shown the state's
value and writes what the reader does to it. `sync()` runs at the top of every page: a link that
the reader opened (or went back to) fills the state, otherwise the state fills the link, as it does
where only the body of the page reruns (`keep_in_step()`) or a section (`write()`).
What only the panels of other pages are set by is not in the link: it waits in the session.
"""

import time
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

import streamlit as st

from blocks import Fault, ModelConfig
from blocks.model.faults import N_
from pages.server import brought, starts
from pages.server.readers import UnreadableError, as_text
from pages.server.settings import MAX_CHARACTERS, TYPED_CHARACTERS
from pages.session.slot import Slot, shown_by
from pages.stage import moves
from pages.state.fields import CHANGES, CONFIG, FIELDS, is_of_page
from pages.state.link_fields.compare import FOLLOWERS as OF_A_TRADE_OFF
from pages.state.link_fields.cost import OF_SEVERAL_SECTIONS
from pages.state.link_fields.home import FOLLOWERS as OF_A_LANGUAGE
from pages.state.link_fields.interventions import FOLLOWERS as OF_TWO_ANSWERS
from pages.state.link_fields.phases import FOLLOWERS as OF_A_PANEL
from pages.state.link_fields.scaling import OF_SEVERAL_SECTIONS as OF_A_MODEL_TRAINED
from pages.state.link_fields.seq2seq import FOLLOWERS as OF_A_TARGET
from pages.state.link_fields.sweep import FOLLOWERS as OF_A_SWEEP
from pages.state.link_fields.training import FOLLOWERS as OF_A_TRAINING
from pages.state.values import State, default_in, value_in
from pages.words.language import LANGUAGE, _, browser_language, literal

Query = dict[str, str]
VALUES = Slot[dict[str, Any]]("values", {})  # those that differ from their defaults
PAGE, TOUCHED, REDRAW = Slot("page", ""), Slot("touched", False), Slot("redraw_everything", False)
SET_HERE = Slot[Set[str]]("set_here", frozenset())
REFUSED, TITLE = Slot("refused_preset", ""), Slot("title", "")  # the title of the page
ALL_SET, WRITTEN = Slot[Query]("all_set", {}), Slot[Query | None]("written", None)
WRITTEN_BEFORE = Slot[tuple[Query | None, float]]("written_before", (None, 0.0))  # and until when
HOME_SAYS = Slot[Query]("of_home", {})  # what Home says, until a text or a model is chosen anew
MENU = Slot[dict[str, Query]]("menu", {})
FAULTS_SAID = Slot[tuple[Query | None, tuple[Fault, ...]]]("faults_said", (None, ()))
CUT_FROM = Slot[dict[str, int]]("cut_from", {})
OPENED = Slot("is_opened", False)  # whether this run of the page has taken its state from a link
BEFORE_LESSON = Slot[Query]("before_lesson", {})  # what was set when the lesson was opened
# What the link of a lesson says though it be a default: its step's.
SAID_ANYWAY = Slot[tuple[str, ...]]("said_anyway", ())
HOME_PAGE, FIRST_ON_HOME = "app", "stories-en-zh"
TEXTS, A_MOMENT, N_NEAR = ("text", "other_text", "own_text"), 0.5, 3
LONG_TEXTS = Slot[dict[str, str]]("long_texts", {})  # whole, by what links carry of them
N_LONG_TEXTS = 16  # the last few
FOLLOWERS = {
    **OF_A_TRAINING,
    **OF_A_SWEEP,
    **OF_A_TARGET,
    **OF_A_TRADE_OFF,
    **OF_A_LANGUAGE,
    **OF_A_PANEL,
    "text": (*OF_A_TARGET["text"], *OF_TWO_ANSWERS["text"]),
    "prompt": ("token", "new_token"),
}
# What says nothing without the model that it changes: each page begins with another one.
OF_ONE_MODEL = {*CONFIG, *CHANGES, "weights", "at_step", "kept"}
CHANGED = N_("{name}={value} in the link cannot be used here: {used} is used instead")
DEFAULTED = N_("{name}={value} in the link cannot be used here: the default is used instead")
NO_SUCH_MODEL = N_("There is no model {value} here: {used} is shown. Did you mean {near}?")
FORGOTTEN = N_("The training run {name} is no longer available: another model is shown")
UNKNOWN = N_("{name} in the link is not a Blockscope setting and was ignored")


class Mended(NamedTuple):
    """State after impossible values were replaced, and what was wrong with them."""

    values: dict[str, Any]
    faults: tuple[Fault, ...]


def now() -> State:
    return State(state())


def value(name: str) -> Any:
    return value_in(state(), name)


def change(name: str, new: Any) -> None:
    """Set a field, as a widget does; a default is not kept, so that the link stays short."""
    values = dict(state())
    if name == "preset":
        values = _of_another_preset(values, new)
        REFUSED.keep("")
    for follower in FOLLOWERS.get(name, ()):
        values.pop(follower, None)
    if name == "text" or (name == "preset" and _is_trained(new)):
        HOME_SAYS.keep({})  # it goes Home too
    values.pop(name, None)
    if new != default_in(values, name):
        values[name] = new
    VALUES.keep(values)
    TOUCHED.keep(True)
    SET_HERE.keep({name, *SET_HERE.get()} - {*FOLLOWERS.get(name, ())})


def _is_trained(preset: str) -> bool:
    return starts.is_known(preset) and bool(starts.start(preset).weights)


def is_set_here(name: str) -> bool:
    """Whether the reader has set this field in this session, rather than a link."""
    return name in SET_HERE.get()


def become(new: Mapping[str, Any], *, set_here: Iterable[str] = ()) -> None:
    """Take over a whole state, as if its link had been opened; `set_here` by the reader's hand."""
    VALUES.keep(dict(new))
    REFUSED.keep("")
    TOUCHED.keep(True)
    SET_HERE.keep({*set_here, *SET_HERE.get()})


@contextmanager
def as_if(other: Mapping[str, Any]) -> Iterator[None]:
    """Read another state for a moment; the reader's own comes back, whatever happens."""
    own = state()
    VALUES.keep(dict(other))
    try:
        yield
    finally:
        VALUES.keep(own)


def restore(name: str) -> None:
    VALUES.keep({key: old for key, old in state().items() if key != name})
    TOUCHED.keep(True)


def _of_another_preset(values: Mapping[str, Any], new: str) -> dict[str, Any]:
    """What stays when another model is started from; each trained one has its own language."""
    is_trained = any(starts.start(name).weights for name in (value_in(values, "preset"), new))
    gone = {
        *CONFIG,
        *CHANGES,
        "mask_kind",
        "weights",
        "at_step",
        "prompt",
        *FOLLOWERS["text"],
        *(("text", "token") if is_trained else ()),
    }
    return {name: old for name, old in values.items() if name not in gone}


def reset() -> None:
    become({name: found for name, found in state().items() if name == "lang"})


def view(name: str, shown: Any, options: Hashable = None, *, first: int = 0) -> dict[str, Any]:
    """Key and callback that make a widget a view of a field, showing `shown` now.

    Where the options of a widget may change, name them: with others it is another widget. The
    browser may still speak of the old one, and its third option is not the third of the new.
    `first`: what a widget of numbers shows for 0.
    """
    key = name if options is None else _key_among(name, options)
    there = shown + first if first else shown
    moves.show(key, there)
    return {"key": key, "on_change": _widget_moved, "args": (name, key, shown, first)}


@lru_cache(maxsize=256)
def _key_among(name: str, options: Hashable) -> str:
    return f"{name}__{zlib.crc32(repr(options).encode()):x}"


def hidden_view(name: str, shown: Any, options: Hashable = None) -> dict[str, Any]:
    """Make a view of a widget in a menu: the browser builds it when the menu is first opened.

    It then takes what the last run told it, and its own default where that run told it nothing:
    so it is told in every run.
    """
    found = view(name, shown, options)
    Slot(found["key"], None).keep(shown)
    return found


def live_view(name: str, shown: str) -> dict[str, Any]:
    """Make a text field a view that keeps what is being typed.

    It has a key of its own, so that no widget of another page is taken for it.
    """
    key = f"{name}_live"
    moves.show(key, shown)
    return {"key": key, "on_change": _widget_moved, "args": (name, key, shown)}


def redraw_everything() -> None:
    REDRAW.keep(True)


def must_redraw() -> bool:
    """Whether a full rerun was requested; clears the request."""
    return REDRAW.take()


def _widget_moved(name: str, key: str, shown: Any, first: int = 0) -> None:
    """A fast second move brings along the old value of widgets that have changed since."""
    there = shown_by(key)
    moved_to = there - first if first else _as_long_as_may_be(name, there)
    take(name, key, moved_to, shown)


def take(name: str, key: str, moved_to: Any, shown: Any) -> None:
    """Set a field as the widget of this key was moved, where that is legal and not what it was."""
    TOUCHED.keep(True)
    if moved_to is not None and moved_to != shown and _is_legal(name, moved_to):
        before = state()
        change(name, moved_to)
        moves.note(key, shown_by(key), before, state())
        if name in OF_SEVERAL_SECTIONS | OF_A_MODEL_TRAINED or value("lesson"):
            redraw_everything()


def _as_long_as_may_be(name: str, found: Any) -> Any:
    """A text as a session holds it; where it is cut, the reader is told."""
    if name not in TEXTS or len(found) <= TYPED_CHARACTERS:
        return found
    text = _("The text was cut to its first {n:,} characters, the most that can be read here.")
    st.toast(text.format(n=TYPED_CHARACTERS), icon=":material/content_cut:")
    kept = found[:TYPED_CHARACTERS]
    _note_cut(name, found, kept)
    return kept


def _note_cut(name: str, found: str, kept: Any) -> None:
    """Keep how long a text was of which only the beginning is kept."""
    if name in TEXTS:
        CUT_FROM.keep({kept: len(found)})


def n_characters(text: str) -> int:
    """How many a text had as it was typed, of which the first alone may be kept."""
    return CUT_FROM.get().get(text, len(text))


def _is_legal(name: str, found: Any) -> bool:
    """A select box whose options are gone hands over its label instead of a value."""
    try:
        return type(FIELDS[name].read(as_text(found))) is type(found)
    except UnreadableError as error:
        return name in TEXTS and error.nearest is not None


def sync(page: str, completed: Callable[[Query], Query] = dict) -> tuple[Fault, ...]:
    """Bring link and state together; returns what in the link could not be.

    `page`: the name of the file, without its ending. `completed`: what a link stands for that was
    opened.
    """
    _take_in_moves()
    # On another page the link is read anew: what it leaves out can mean another model there.
    is_elsewhere = page != PAGE.get()
    PAGE.keep(page)
    if is_elsewhere:
        moves.forget_shown()
    query = st.query_params.to_dict()
    if is_elsewhere and query == MENU.get().get(page):
        query = _led_to(page, ALL_SET.get())
    MENU.keep({})
    is_known = query == WRITTEN.get() or _is_just_left(query)
    is_opened = (is_elsewhere or not is_known) and not TOUCHED.get()
    OPENED.keep(is_opened)
    if not is_opened:
        return _settled(state())
    if not is_elsewhere:  # a browser leaves its address where a link leads within the page
        st.query_params.from_dict(query)
    found = completed(_set_elsewhere(page, query) | query)
    values, unread = read(found)
    _refuse_unless(values, found.get("preset", ""))
    return _settled(values, unread)


def refused() -> str:
    """The name of a model that a reader brought, which the link names and which cannot run here.

    No other takes its place, as it would where a link names a model that never was.
    """
    return REFUSED.get()


def _refuse_unless(values: Mapping[str, Any], preset: str) -> None:
    """Note a model that was brought where these values have none of that name."""
    is_lost = brought.is_name(preset) and values.get("preset") != preset
    REFUSED.keep(preset if is_lost else "")


def page() -> str:
    """The page that is drawn: the name of its file, without its ending."""
    return PAGE.get()


def keep_in_step() -> tuple[Fault, ...]:
    """Bring the link to the state where only the body of a page reruns; what could not be."""
    _take_in_moves()
    return _settled(state())


def _take_in_moves() -> None:
    VALUES.keep(moves.without_echoes(state(), moves.noted()))
    moves.begin()


def _settled(values: Mapping[str, Any], unread: tuple[Fault, ...] = ()) -> tuple[Fault, ...]:
    if refused() and brought.is_sound(refused()):  # it has come meanwhile
        values = {**values, "preset": refused()}
    mended = mend(values)
    _refuse_unless(mended.values, refused() or values.get("preset", ""))
    VALUES.keep(mended.values)
    LANGUAGE.keep(value("lang") or browser_language())
    must_redraw()
    write()
    return _until_something_is_changed((*unread, *mended.faults))


def _until_something_is_changed(faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    """A page that goes on by itself still says what in its link could not be."""
    written = WRITTEN.get()
    if not faults:
        said_of, said = FAULTS_SAID.get()
        faults = said if said_of == written else ()
    FAULTS_SAID.keep((written, faults))
    return faults


def _is_just_left(query: Mapping[str, str]) -> bool:
    """Whether the browser still sends the link of a moment ago, as a fast second move does.

    Going back to it takes a reader longer.
    """
    before, left_at = WRITTEN_BEFORE.get()
    return query == before and time.monotonic() - left_at < A_MOMENT


def write() -> None:
    """Put the state into the address bar, if it is not there."""
    all_set, written = as_query(), WRITTEN.get()
    query = _of_page(page(), all_set)
    if page() == HOME_PAGE:
        HOME_SAYS.keep(query)
    if st.query_params.to_dict() != query:
        st.query_params.from_dict(query)
    if written != query:
        WRITTEN_BEFORE.keep((written, time.monotonic()))
    WRITTEN.keep(query)
    ALL_SET.keep(all_set)
    TOUCHED.keep(False)


def _set_elsewhere(page: str, query: Mapping[str, str]) -> dict[str, str]:
    """What was set on other pages, and stays when a link to this one is opened.

    What follows another value goes with it. A lesson begins as its link says, and after it stands
    what stood before it.
    """
    before = ALL_SET.get()
    if "lesson" in query:
        return {}
    if "lesson" in before:
        before = BEFORE_LESSON.get()
    changed = {name for name in FOLLOWERS if before.get(name) != query.get(name)}
    gone = {follower for name in changed if is_of_page(name, page) for follower in FOLLOWERS[name]}
    kept = {name: text for name, text in before.items() if name not in gone}
    return {name: text for name, text in kept.items() if not is_of_page(name, page)}


def as_query() -> dict[str, str]:
    """What differs from the defaults, as plain text; of what model, where another page needs it."""
    query = {name: as_carried(name, value) for name, value in state().items()}
    if "lesson" in query:
        defaults = {name: value(name) for name in SAID_ANYWAY.get()}
        query = {n: as_text(v) for n, v in defaults.items() if v is not None} | query
    if refused():
        return {**query, "preset": refused()}
    if OF_ONE_MODEL.isdisjoint(query):
        return query
    return {"preset": value("preset"), **query}


def as_carried(name: str, found: Any) -> str:
    """A value as a link carries it: a long text by its beginning, which finds the whole here."""
    text = as_text(found)
    if name not in TEXTS or len(text) <= MAX_CHARACTERS:
        return text
    beginning, kept = text[:MAX_CHARACTERS], dict(LONG_TEXTS.get())
    kept.pop(beginning, None)
    LONG_TEXTS.keep({**dict([*kept.items()][1 - N_LONG_TEXTS :]), beginning: text})
    return beginning


def here() -> dict[str, str]:
    """The link of this page: what of all that is set says something on it."""
    return _of_page(page(), as_query())


def menu(paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """The links of the menu that lead to other pages, by their paths.

    They stay as they were drawn while a section reruns alone: who follows one takes along what was
    set there too.
    """
    pages, query = {path: PurePath(path).stem for path in paths}, as_query()
    links = {path: _of_page(page, _led_to(page, query)) for path, page in pages.items()}
    MENU.keep({pages[path]: found for path, found in links.items()})
    return links


def _led_to(page: str, query: Query) -> Query:
    """What the menu takes along to a page: all that is set, but to Home what Home itself had.

    Questions and lessons lead to pages with models and texts of their own.
    """
    if page == HOME_PAGE and "lesson" not in query and (own := HOME_SAYS.get()):
        query = own | {name: query[name] for name in ("lang",) if name in query}
    return _without_panel(query)


def elsewhere(path: str, query: Query | None = None) -> Query:
    """The link to a page with what is set for it, but for the panel that is open on this one.

    `query`: what will be set, where that is not what is.
    """
    query = as_query() if query is None else query
    return _without_panel(_of_page(PurePath(path).stem, query))


def _of_page(page: str, query: dict[str, str]) -> dict[str, str]:
    """What a page says of all that is set; a lesson goes over several, and its link says all.

    Home always says which model runs: it may open with another elsewhere.
    """
    if "lesson" in query:
        return query
    of_home = {"preset": FIRST_ON_HOME} if page == HOME_PAGE else {}
    return of_home | {name: text for name, text in query.items() if is_of_page(name, page)}


def _without_panel(query: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in query.items() if name != "panel"}


def read(query: Mapping[str, str]) -> Mended:
    """Typed, checked values out of any link at all; defaults are left out."""
    values: dict[str, Any] = {}
    faults = [Fault(UNKNOWN, {"name": _shown(name)}) for name in query if name not in FIELDS]
    long_texts = LONG_TEXTS.get()
    for name in (name for name in FIELDS if name in query):
        text = long_texts.get(query[name], query[name]) if name in TEXTS else query[name]
        try:
            values[name] = FIELDS[name].read(text)
        except UnreadableError as error:
            if error.nearest is not None:
                values[name] = error.nearest
                _note_cut(name, query[name], error.nearest)
            faults.append(_unreadable(name, query[name], value_in(values, name)))
    return Mended(_without_defaults(values), tuple(faults))


def _unreadable(name: str, text: str, used: Any) -> Fault:
    if name == "preset" and brought.is_name(text) and (fault := brought.lacking(text)):
        return fault
    if name == "preset" and (near := near_presets(text)):
        values = {"value": _shown(text), "used": _shown(str(used)), "near": ", ".join(near)}
        return Fault(NO_SUCH_MODEL, values)
    if used is None or used == "":
        return Fault(DEFAULTED, {"name": name, "value": _shown(text)})
    return Fault(CHANGED, {"name": name, "value": _shown(text), "used": _shown(str(used))})


def near_presets(text: str) -> list[str]:
    """Names of models that a name may have meant, the nearest first."""
    return get_close_matches(text.lower(), starts.names_to_count(), n=N_NEAR)


def mend(values: Mapping[str, Any]) -> Mended:
    """Bring the configuration to the nearest that can be built."""
    if not starts.is_known(value_in(values, "preset")):
        rest = {name: found for name, found in values.items() if name != "preset"}
        known = mend(rest)
        return Mended(known.values, (_forgotten(values["preset"]), *known.faults))
    changes = {name: found for name, found in values.items() if name in CONFIG}
    config, faults = _nearest(starts.start(value_in(values, "preset")).config, (*changes.items(),))
    mended = {name: config.plain(name) for fault in faults for name in fault.mend}
    return Mended(_without_defaults({**values, **mended}), faults)


def _forgotten(preset: str) -> Fault:
    fault = brought.lacking(preset) if brought.is_name(preset) else None
    return fault or Fault(FORGOTTEN, {"name": _shown(preset)})


def _without_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: found for name, found in values.items() if found != default_in(values, name)}


def config() -> ModelConfig:
    return now().config


@lru_cache(maxsize=256)
def _nearest(
    config: ModelConfig, changes: tuple[tuple[str, Any], ...]
) -> tuple[ModelConfig, tuple[Fault, ...]]:
    """Found once: every rerun asks for it, of what is set."""
    return config.nearest(**dict(changes))


def state() -> dict[str, Any]:
    """What differs from the defaults in this session; not to be changed."""
    return VALUES.get()


def _shown(text: str, most: int = 40) -> str:
    return literal(text if len(text) <= most else text[:most] + "…")
