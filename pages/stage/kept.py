"""Configurations that the reader keeps, to set others beside them; all of them are in the link."""

import re
from collections.abc import Sequence
from typing import Any

from blocks.model.faults import N_, Fault
from pages.server import starts
from pages.stage import link
from pages.state.fields import CONFIG
from pages.state.link_fields.compare import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_KEPT,
    Kept,
    kept_of,
    text_of,
)
from pages.words.language import LANGUAGES, current_language, in_language, literal, say_fault

GONE = N_("its model {preset} is not known here, so this configuration was left out")
MOST_NAMED = 3  # changed settings in a name
NUMBER = re.compile(r"( \d+)?$")
BETWEEN, MORE = " · ", " …"
ROOM = len(MORE) + len(" 12")
# What a configuration is, and what it is not: the input, the seed and what is looked at.
OF_A_MODEL = (
    "preset",
    "at_step",
    "weights",
    *CONFIG,
    "mask_kind",
    "window_size",
    "prefix_len",
    "painted",
    "dtype",
)


def all_kept() -> tuple[Kept, ...]:
    """Everything that is kept and known here, in the order in which it was.

    What is called by what it is, is so in the reader's language.
    """
    known = _known()
    taken = {each.name for each in known}
    return tuple(_in_readers_words(each, taken) for each in known)


def _known() -> tuple[Kept, ...]:
    return tuple(each for each in kept_of(link.value("kept")) if _is_known(each))


def _in_readers_words(entry: Kept, taken: set[str]) -> Kept:
    """Under its automatic name, if it has one and that is free."""
    if entry.name.startswith(name := automatic_name(entry.query)) or not _is_automatic(entry):
        return entry
    renamed = name + entry.name.removeprefix(NUMBER.sub("", entry.name))
    return entry if renamed in taken else entry._replace(name=renamed)


def index() -> int:
    """The place of A among those that are kept."""
    return min(link.value("compared_with"), max(0, len(all_kept()) - 1))


def a() -> Kept | None:
    """The one that is A now; what the reader has set is B."""
    kept = all_kept()
    return kept[index()] if kept else None


def keep() -> None:
    add([Kept("", _query_now())], becomes_a=True)


def keep_in_list() -> None:
    """Keep what is set now; A stays what it is."""
    add([Kept("", _query_now())])


def add(entries: Sequence[Kept], *, becomes_a: bool = False) -> None:
    """Keep these too; where there is no A, or so it is wanted, the last of them becomes it.

    The oldest but A go where there are too many. Who has no name is called by what it is.
    """
    kept, stays = list(all_kept()), None if becomes_a else a()
    for entry in entries:
        taken = {each.name for each in kept}
        wanted = entry.name.strip()[:LONGEST_NAME] or automatic_name(entry.query)
        kept.append(entry._replace(name=_free_name(wanted, taken)))
    stays = stays or kept[-1]
    while len(kept) > MOST_KEPT or (len(kept) > 1 and len(text_of(tuple(kept))) > LONGEST_TEXT):
        kept.remove(next(each for each in kept if each != stays))
    _write(tuple(kept), kept.index(stays))


def name_now() -> str:
    return automatic_name(_query_now())


def automatic_name(query: tuple[tuple[str, str], ...], language: str = "") -> str:
    """The preset and up to three settings that were changed in it, as far as there is room."""
    values = dict(query)
    preset = values.pop("preset", link.value("preset"))
    parts = [_part(name, values[name]) for name in OF_A_MODEL if name in values]
    title = in_language(starts.start(preset).title, language or current_language())
    named = [title[: LONGEST_NAME - ROOM]]
    for part in parts:
        if len(named) <= MOST_NAMED and len(BETWEEN.join((*named, part))) <= LONGEST_NAME - ROOM:
            named.append(part)
    return BETWEEN.join(named) + (MORE if len(named) <= len(parts) else "")


def _part(name: str, text: str) -> str:
    """One setting; an option of the configuration says by itself what it is."""
    is_option = name in CONFIG and text.isidentifier() and text not in ("none", "true", "false")
    return text if is_option else f"{name} {text}"


def mend() -> list[str]:
    """Bring what came by a link to what can be; returns a sentence for each change."""
    entries, place = kept_of(link.value("kept")), index()
    faults = {each.name: _faults(each) for each in entries}
    said = [f"{literal(name)}: {say_fault(fault)}" for name in faults for fault in faults[name]]
    if said:
        _write(tuple(as_it_is(each) if faults[each.name] else each for each in _known()), place)
    return said


def _faults(entry: Kept) -> tuple[Fault, ...]:
    if not _is_known(entry):
        return (Fault(GONE, {"preset": literal(dict(entry.query)["preset"])}),)
    read = link.read(_of_a_model(entry.query))
    return (*read.faults, *link.mend(read.values).faults)


def as_it_is(entry: Kept) -> Kept:
    with link.as_if(values_with(entry)):
        return entry._replace(query=_query_now())


def choose(place: int) -> None:
    link.change("compared_with", place)


def swap() -> None:
    """What is kept as A becomes what is set, and the other way round."""
    kept, place = list(all_kept()), index()
    if not kept:
        return
    before, query = kept[place], _query_now()
    others = {each.name for i, each in enumerate(kept) if i != place}
    is_own = not _is_automatic(before)
    name = before.name if is_own else _free_name(automatic_name(query), others)
    kept[place] = Kept(name, query)
    link.become(values_with(before))
    _write(tuple(kept), place)


def take(place: int) -> None:
    """Set what is kept at this place; the input stays."""
    if place < len(kept := all_kept()):
        link.become(values_with(kept[place]))


def drop(place: int) -> None:
    """Keep it no longer."""
    kept = tuple(each for i, each in enumerate(all_kept()) if i != place)
    before = index()
    _write(kept, max(0, before - (place < before)))


def rename(place: int, name: str) -> None:
    """Call it something else; two of one name cannot be."""
    kept = list(all_kept())
    if place < len(kept) and name.strip():
        others = {each.name for i, each in enumerate(kept) if i != place}
        kept[place] = kept[place]._replace(name=_free_name(name.strip()[:LONGEST_NAME], others))
        _write(tuple(kept), index())


def values_with(kept: Kept) -> dict[str, Any]:
    """The whole state with this configuration in it: the same text and seed as now."""
    now = {name: link.value(name) for name in ("text", "seed")}
    rest = {name: found for name, found in link.state().items() if name not in OF_A_MODEL}
    return link.mend({**rest, **now, **_values(kept.query)}).values


def _values(query: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Typed and checked; the preset is named even where a page begins with it."""
    ours = _of_a_model(query)
    return {name: ours[name] for name in ("preset",) if name in ours} | link.read(ours).values


def _of_a_model(query: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: text for name, text in query if name in OF_A_MODEL}


def _is_known(entry: Kept) -> bool:
    """Whether the model that it starts from is there; a page has one where none is named."""
    preset = dict(entry.query).get("preset")
    return preset is None or starts.is_known(preset)


def _query_now() -> tuple[tuple[str, str], ...]:
    now = {name: text for name, text in link.as_query().items() if name in OF_A_MODEL}
    return tuple({**now, "preset": link.value("preset")}.items())


def _is_automatic(entry: Kept) -> bool:
    """Whether it is called by what it is, with a number behind or not; in any language."""
    found = NUMBER.sub("", entry.name)
    names = (automatic_name(entry.query, language) for language in LANGUAGES)
    return any(name in (entry.name, found) for name in names)


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name itself, or the first with a number that is free."""
    if wanted not in taken:
        return wanted
    numbered = (f"{wanted[: LONGEST_NAME - ROOM]} {i}" for i in range(2, MOST_KEPT + 2))
    return next(name for name in numbered if name not in taken)


def _write(kept: tuple[Kept, ...], place_of_a: int) -> None:
    link.change("kept", text_of(kept))
    link.change("compared_with", place_of_a)
