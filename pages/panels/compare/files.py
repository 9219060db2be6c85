"""The list of what is kept as a file: out as TOML or CSV, and in again."""

import tomllib
from collections.abc import Sequence
from typing import Any
from unicodedata import category

import pandas as pd
import tomli_w

from blocks import ConfigError, Fault
from blocks.inspection.settings import settings_in_use
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.panels.compare import measures
from pages.server import starts
from pages.server.readers import UnreadableError, as_text
from pages.show import beside
from pages.stage import kept
from pages.state.fields import CONFIG, FIELDS
from pages.state.link_fields.compare import (
    COUNTED,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_KEPT,
    Kept,
    text_of,
)
from pages.state.values import State
from pages.words.language import literal, say_fault

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
    state = State(kept.values_with(entry))
    config = state.config.flat()
    beside = {name: state[name] for name in BESIDE if name in dict(entry.query)}
    return beside | {name: value for name, value in config.items() if value is not None}


def as_csv(entries: Sequence[Kept], n: int, weight_format: str) -> str:
    """One row a configuration: its name, every setting that does something, and its counts."""
    rows, counted = [], {"n": n, "weight_format": weight_format}
    for entry in entries:
        run = beside.run_as_it_is(entry)
        counts = vars(measures.summary(run.config, run.weights, n, weight_format))
        used = {"mask_kind": str(run.mask.mask_kind), "dtype": run.dtype, "weights": run.weights}
        fields = settings_in_use(run.config)
        rows.append({**counts, "name": _no_formula(entry.name), **used, **fields, **counted})
    table = pd.DataFrame(rows)
    settings = [name for name in table if name not in ("name", *COUNTED, *counted)]
    return table[["name", *settings, *COUNTED, *counted]].to_csv(index=False)


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
        raise UnreadableFileError(N_("The file contains more settings than a link can hold."))
    return entries


def _entry(name: str, table: Any) -> Kept:
    if not name.strip() or len(name) > LONGEST_NAME or any(map(_is_control, name)):
        text = N_(
            "{name} is not a valid name: use 1 to {most} characters and no control characters"
        )
        raise UnreadableFileError(text, name=name, most=LONGEST_NAME)
    if not isinstance(table, dict):
        text = N_("{name} is not a table: write each configuration as a table, such as [my name]")
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
    return Kept(name, tuple((key, as_text(value)) for key, value in query.items()))


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
        read = FIELDS[key].read(as_text(value))
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
        text = N_("{name}: specify a known preset or a known architecture")
        raise UnreadableFileError(text, name=name)
    return START_OF[Architecture(wanted)]
