"""All that is kept: the list, and the trade-off scatter."""

import tomllib
from collections.abc import Sequence
from functools import partial
from typing import Any
from unicodedata import category

import pandas as pd
import streamlit as st
import tomli_w

from blocks import ConfigError, Fault
from blocks.cost import pareto
from blocks.inspection.settings import settings_in_use
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.compare import kept_picture, shared, trade_offs
from pages.panels.compare.trade_offs import Axes, Candidate
from pages.panels.cost import shared as cost_shared
from pages.ui import link, starts
from pages.ui.chart import show
from pages.ui.compare import beside, kept
from pages.ui.controls import choose, pick, switch
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.fields import CONFIG, FIELDS
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal, say_fault
from pages.ui.link_fields.compare import (
    COUNTED,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_KEPT,
    Kept,
    text_of,
)
from pages.ui.readers import UnreadableError

LARGEST_FILE = 200_000  # bytes


# What a table names beside the configuration: where it starts from, and how it is used.
BESIDE = tuple(name for name in kept.OF_A_MODEL if name not in CONFIG)


START_OF = {
    Architecture.BLOCK: "course",
    Architecture.ENCODER: "transformer-base",
    Architecture.GPT: "gpt2-small",
    Architecture.ENCODER_DECODER: "vaswani-base",
}


class UnreadableFileError(Exception):
    """A file that cannot be kept, with what is wrong in it; `why` is a sentence of ours."""

    def __init__(self, text: str, **values: Any):
        super().__init__(text)
        shown = {name: _shown(value) for name, value in values.items() if name != "why"}
        shown |= {"why": values["why"]} if "why" in values else {}
        self.fault = Fault(text, shown)


def _shown(value: Any, most: int = 60) -> Any:
    """Text of the file inside a sentence of ours; a number of ours as it is."""
    if type(value) is int:
        return value
    text = str(value)
    return literal(text if len(text) <= most else text[: most - 1] + "…")


def _why(error: Exception) -> str:
    """A parser's words, cut where they are long, and where in the file it stopped."""
    said, at, position = str(error).rpartition(" (at ")
    return f"{_shown(said, 120)}{at}{position}" if at else _shown(error, 120)


def as_toml(entries: Sequence[Kept]) -> str:
    """One table a configuration, named as it is; fields that follow others are left out."""
    return tomli_w.dumps({entry.name: _table(entry) for entry in entries})


def _table(entry: Kept) -> dict[str, Any]:
    with link.as_if(kept.values_with(entry)):
        config = link.config().flat()
        beside = {name: link.value(name) for name in BESIDE if name in dict(entry.query)}
    return beside | {name: value for name, value in config.items() if value is not None}


def as_csv(entries: Sequence[Kept], n: int, weight_format: str) -> str:
    """One row a configuration: its name, every setting that does something, and its counts."""
    rows, counted = [], {"n": n, "weight_format": weight_format}
    for entry in entries:
        run = beside.run_as_it_is(entry)
        counts = vars(trade_offs.summary(run.config, n, weight_format))
        used = {"mask_kind": str(run.mask.mask_kind), "dtype": run.dtype, "weights": run.weights}
        fields = settings_in_use(run.config)
        rows.append({**counts, "name": _no_formula(entry.name), **used, **fields, **counted})
    table = pd.DataFrame(rows)
    first = [
        "name",
        *(name for name in table if name not in ("name", *COUNTED, *counted)),
    ]
    return table[[*first, *COUNTED, *counted]].to_csv(index=False)


def _no_formula(name: str) -> str:
    """A name that a spreadsheet takes for text, whatever it begins with."""
    return f"'{name}" if name[:1] in "=+-@\t\r" else name


def from_toml(found: bytes) -> list[Kept]:
    """The configurations in a file. Raises `UnreadableFileError` with a sentence."""
    if len(found) > LARGEST_FILE:
        raise UnreadableFileError(N_("The file is larger than {n:,} bytes."), n=LARGEST_FILE)
    try:
        tables = tomllib.loads(found.decode())
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(N_("This is not a TOML file: {why}"), why=_why(error)) from None
    if not tables or len(tables) > MOST_KEPT:
        text = N_("The file has {n} configurations: 1 to {most} can be kept.")
        raise UnreadableFileError(text, n=len(tables), most=MOST_KEPT)
    entries = [_entry(name, table) for name, table in tables.items()]
    if len(text_of(tuple(entries))) > LONGEST_TEXT:
        raise UnreadableFileError(N_("These are more settings than a link can carry."))
    return entries


def _entry(name: str, table: Any) -> Kept:
    if not name.strip() or len(name) > LONGEST_NAME or any(map(_is_control, name)):
        text = N_("{name} is not a valid name: use 1 to {most} characters, no control characters")
        raise UnreadableFileError(text, name=name, most=LONGEST_NAME)
    if not isinstance(table, dict):
        text = N_("{name} is not a table: each configuration is one, as [my name]")
        raise UnreadableFileError(text, name=name)
    for key in table:
        if key not in (*CONFIG, *BESIDE, "architecture"):
            raise UnreadableFileError(N_("{name}: {key} is not a setting"), name=name, key=key)
    values = {key: _value(name, key, value) for key, value in table.items()}
    preset = _start(name, values)
    config = starts.start(preset).config
    changes = {key: values[key] for key in CONFIG if key in values}
    try:
        config.replace(**changes)
    except ConfigError as error:
        text = N_("{name}: {why}")
        raise UnreadableFileError(text, name=name, why=say_fault(error.faults[0])) from None
    same = config.flat()
    differing = {key: value for key, value in changes.items() if value != same[key]}
    used = {key: values[key] for key in BESIDE if key in values}
    query = {**differing, **used, "preset": preset}
    return Kept(name, tuple((key, _as_text(value)) for key, value in query.items()))


def _is_control(character: str) -> bool:
    return category(character) == "Cc" and not character.isspace()


def _value(name: str, key: str, value: Any) -> Any:
    """As a link would have it, and of the type that the file says."""
    text = N_("{name}: {key} cannot be {value}")
    wrong = UnreadableFileError(text, name=name, key=key, value=value)
    if key == "preset" or key == "architecture":
        if not isinstance(value, str):
            raise wrong
        return value
    try:
        read = FIELDS[key].read(_as_text(value))
    except UnreadableError:
        raise wrong from None
    is_number = type(read) is float and type(value) is int
    if type(read) is not type(value) and not is_number:
        raise wrong
    return read


def _start(name: str, values: dict[str, Any]) -> str:
    """The preset that it names; where it is not known here, one of the same architecture."""
    preset, wanted = values.get("preset", ""), values.get("architecture")
    if starts.is_known(preset) and wanted in (None, starts.start(preset).config.architecture):
        return preset
    if wanted not in [*START_OF]:
        text = N_("{name}: unknown preset and architecture")
        raise UnreadableFileError(text, name=name)
    return START_OF[Architecture(wanted)]


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


UPLOAD = "kept_file"


def rows(n: int) -> None:
    """One line a configuration."""
    chosen = kept.index()
    for i, entry in enumerate(kept.all_kept()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"kept_row_{i}"):
            _name(i, entry)
            st.markdown(_counts(entry, n), width="stretch")
            _buttons(i, is_a=i == chosen)


def _name(i: int, entry: Kept) -> None:
    key = f"kept_name_{i}"
    st.session_state[key] = entry.name
    label = _("Name of configuration {n}").format(n=i + 1)
    st.text_input(
        label,
        max_chars=LONGEST_NAME,
        key=key,
        on_change=_renamed,
        args=(i, key),
        label_visibility="collapsed",
        width=230,
    )


def _renamed(i: int, key: str) -> None:
    kept.rename(i, st.session_state[key])


def _counts(entry: Kept, n: int) -> str:
    run = beside.run_as_it_is(entry)
    found = trade_offs.summary(run.config, n, trade_offs.weight_format())
    text = _("{total:,} parameters · {memory} of weights in {weight_format}")
    return text.format(
        total=found.parameters,
        memory=cost_shared.in_bytes(found.weight_bytes),
        weight_format=trade_offs.weight_format(),
    )


def _buttons(i: int, *, is_a: bool) -> None:
    st.button(
        _("is A") if is_a else _("set as A"),
        key=f"kept_a_{i}",
        on_click=kept.choose,
        args=(i,),
        disabled=is_a,
    )
    st.button(_("set as B"), key=f"kept_b_{i}", on_click=kept.take, args=(i,))
    st.button(
        _("Remove"), icon=":material/delete:", key=f"kept_drop_{i}", on_click=kept.drop, args=(i,)
    )


def keep_and_swap() -> None:
    """What can be done with A and B from this page."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Keep B in the list"),
            icon=":material/bookmark_add:",
            on_click=kept.keep_in_list,
            key="keep_b",
            disabled=len(kept.all_kept()) >= MOST_KEPT,
        )
        st.button(
            _("Swap A and B"), icon=":material/swap_horiz:", on_click=kept.swap, key="swap_here"
        )


def files_out(n: int) -> None:
    """The whole list, to take along."""
    entries = kept.all_kept()
    with st.container(horizontal=True):
        download("kept.csv", lambda: as_csv(entries, n, trade_offs.weight_format()), "text/csv")
        download("kept.toml", lambda: as_toml(entries), "application/toml")


def file_in() -> None:
    """A list that was taken along, back again; what is wrong with a file is said."""
    st.file_uploader(
        _("A list saved as TOML"),
        type="toml",
        key=UPLOAD,
        on_change=_uploaded,
        max_upload_size=1,
    )
    fault = st.session_state.pop("kept_file_fault", None)
    if fault is not None:
        st.error(say_fault(fault), icon=":material/block:")


def _uploaded() -> None:
    found = st.session_state[UPLOAD]
    if found is None:
        return
    try:
        kept.add(from_toml(found.getvalue()))
    except UnreadableFileError as error:
        st.session_state["kept_file_fault"] = error.fault


def axis_choice(axis: str, label: str) -> None:
    """What stands on an axis, and where on it is better."""
    pick(
        f"tradeoff_{axis}",
        label,
        trade_offs.MEASURES,
        label_of=lambda name: _(trade_offs.MEASURES[name]),
    )
    choose(f"tradeoff_{axis}_better", _("This axis"), DIRECTIONS, label_of=direction)


DIRECTIONS = {"less": N_("less is better"), "more": N_("more is better")}


def direction(name: str) -> str:
    """Where on an axis is better."""
    return _(DIRECTIONS[name])


def take(customdata: list[Any]) -> None:
    """A dot was clicked: set it as B, on the whole page."""
    kind, _colon, place = str(customdata[0]).partition(":")
    if kind == "kept":
        kept.take(int(place))
    elif kind == "preset":
        link.change("preset", place)
    link.redraw_everything()


def front_sentence(found: tuple[trade_offs.Candidate, ...], axes: trade_offs.Axes, n: int) -> str:
    """Which lie on the front, what beats B, and how many have no such number."""
    table = trade_offs.points(found, axes, n)
    if table.empty:
        return _("No configuration has both numbers.")
    front = table[table["on_front"]].sort_values("x")
    names = [literal(name) for name in front["name"]]
    more = "" if len(names) <= shared.MOST_NAMED else " …"
    text = _("{n} of {all} lie on the front: {names}.")
    said = text.format(
        n=len(front), all=len(table), names=enumeration(names[: shared.MOST_NAMED]) + more
    )
    return " ".join(filter(None, (said, _of_b(table, axes), _left_out(found, table))))


def _of_b(table: pd.DataFrame, axes: trade_offs.Axes) -> str:
    own = table[table["kind"] == "b"]
    if own.empty or bool(own["on_front"].iloc[0]):
        return ""
    x, y = float(own["x"].iloc[0]), float(own["y"].iloc[0])
    as_good_x = table["x"] >= x if axes.x_more else table["x"] <= x
    as_good_y = table["y"] >= y if axes.y_more else table["y"] <= y
    beats = table[as_good_x & as_good_y & table["on_front"] & (table["kind"] != "b")]
    text = _("B is dominated: {name} is no worse on either axis and better on one.")
    return text.format(name=literal(beats["name"].iloc[0]))


def _left_out(found: tuple[trade_offs.Candidate, ...], table: pd.DataFrame) -> str:
    n = len(found) - len(table)
    if not n:
        return ""
    text = _("{n} are not drawn: the number does not apply to them (an encoder has no cache).")
    return text.format(n=n)


def front_alt(found: tuple[trade_offs.Candidate, ...], axes: trade_offs.Axes, n: int) -> str:
    """Write the alt text of the dots."""
    text = _("{x} and {y}, one dot per configuration. {sentence}")
    return text.format(
        x=trade_offs.title(axes.x, n, axes.weight_format),
        y=trade_offs.title(axes.y, n, axes.weight_format),
        sentence=front_sentence(found, axes, n),
    )


def front_note() -> str:
    """How to read the dots."""
    return _(
        "Filled: on the Pareto front, where no other is as good on both axes and better "
        "on one. Hollow: dominated. Both axes are logarithmic. Names are shown where "
        "there is room, under the cursor always. Click a dot to set it as B."
    )


def list_note(n: int) -> str:
    """How many are kept, and where."""
    text = _("{n} of {most} kept, all in the link of this page.")
    return text.format(n=n, most=MOST_KEPT)


@section
def what_one_pays(run: Run, n: int) -> None:
    """Every configuration on two axes, and the front."""
    code = (pareto.pareto_front,)
    place = explained(("pareto_front",), code, key="trade_off")
    left, right = st.columns(2)
    with left:
        axis_choice("x", _("x axis"))
    with right:
        axis_choice("y", _("y axis"))
    switch("with_presets", _("Published and trained models too"))
    shown = trade_offs.candidates(run), trade_offs.axes(), n
    place.info(front_sentence(*shown), icon=":material/lightbulb:")
    if trade_offs.points(*shown).empty:
        return
    show(draw_front, *shown, key="trade_off_dots", alt=front_alt, on_click=take)
    note(front_note())


def draw_front(found: tuple[Candidate, ...], axes: Axes, n: int) -> Picture:
    """The dots and the stairs."""
    title = partial(trade_offs.title, n=n, weight_format=axes.weight_format)
    return kept_picture.scatter(
        trade_offs.points(found, axes, n),
        titles=(title(axes.x), title(axes.y)),
        more_is_better=(axes.x_more, axes.y_more),
        _=_,
    )


def what_is_kept(n: int) -> None:
    """Names, which is A, what is B; files out and in."""
    place = explained(("comparing",), key="kept_list")
    if kept.all_kept():
        place.caption(list_note(len(kept.all_kept())))
        rows(n)
        keep_and_swap()
        files_out(n)
    else:
        place.caption(
            _("Nothing is kept yet: “Compare” at the top of any page keeps the current setting.")
        )
    with st.expander(_("Import a saved list"), icon=":material/upload:"):
        file_in()
