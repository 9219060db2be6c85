"""Configurations that the reader keeps, to set others beside them; all of them are in the link."""

from collections.abc import Sequence
from typing import Any

from pages.ui import link, starts
from pages.ui.compare.fields import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_KEPT,
    Kept,
    kept_of,
    text_of,
)
from pages.ui.fields import CONFIG
from pages.ui.language import _

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
    """Everything that is kept, in the order in which it was."""
    return kept_of(link.value("kept"))


def a() -> Kept | None:
    """The one that is A now; what the reader has set is B."""
    kept = all_kept()
    return kept[min(link.value("compared_with"), len(kept) - 1)] if kept else None


def keep() -> None:
    """Keep what is set now, and call it A."""
    add([Kept(_(starts.start(link.value("preset")).title), _query_now())])


def add(entries: Sequence[Kept]) -> None:
    """Keep these too, and call the last of them A; the oldest go where there are too many."""
    kept = list(all_kept())
    for entry in entries:
        taken = {each.name for each in kept}
        name = _free_name(entry.name.strip()[:LONGEST_NAME] or "–", taken)
        kept.append(entry._replace(name=name))
    kept = kept[-MOST_KEPT:]
    while len(kept) > 1 and len(text_of(tuple(kept))) > LONGEST_TEXT:
        kept = kept[1:]
    _write(tuple(kept), index=len(kept) - 1)


def choose(index: int) -> None:
    """Call this one A."""
    link.change("compared_with", index)


def swap() -> None:
    """What is kept as A becomes what is set, and the other way round."""
    kept, index = list(all_kept()), link.value("compared_with")
    if not kept:
        return
    index = min(index, len(kept) - 1)
    before, kept[index] = kept[index], Kept(kept[index].name, _query_now())
    link.become(values_with(before))
    _write(tuple(kept), index)


def take(index: int) -> None:
    """Set what is kept at this place; the input stays."""
    if index < len(kept := all_kept()):
        link.become(values_with(kept[index]))


def drop(index: int) -> None:
    """Keep it no longer."""
    kept = tuple(each for i, each in enumerate(all_kept()) if i != index)
    before = link.value("compared_with")
    _write(kept, max(0, before - (index < before)))


def rename(index: int, name: str) -> None:
    """Call it something else; two of one name cannot be."""
    kept = list(all_kept())
    if index < len(kept) and name.strip():
        others = {each.name for i, each in enumerate(kept) if i != index}
        kept[index] = kept[index]._replace(name=_free_name(name.strip()[:LONGEST_NAME], others))
        _write(tuple(kept), link.value("compared_with"))


def values_with(kept: Kept) -> dict[str, Any]:
    """The whole state with this configuration in it: the same text and seed as now."""
    now = {name: link.value(name) for name in ("text", "seed")}
    rest = {name: found for name, found in link.state().items() if name not in OF_A_MODEL}
    return link.mend({**rest, **now, **_values(kept.query)}).values


def _values(query: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Typed and checked; the preset is named even where a page begins with it."""
    ours = {name: text for name, text in query if name in OF_A_MODEL}
    preset = ours.get("preset", "")
    named = {"preset": preset} if starts.is_known(preset) else {}
    return named | link.read(ours).values


def _query_now() -> tuple[tuple[str, str], ...]:
    now = {name: text for name, text in link.as_query().items() if name in OF_A_MODEL}
    return tuple({**now, "preset": link.value("preset")}.items())


def _free_name(wanted: str, taken: set[str]) -> str:
    """The name itself, or the first with a number that is free."""
    if wanted not in taken:
        return wanted
    numbered = (f"{wanted[: LONGEST_NAME - 4]} {i}" for i in range(2, MOST_KEPT + 2))
    return next(name for name in numbered if name not in taken)


def _write(kept: tuple[Kept, ...], index: int) -> None:
    link.change("kept", text_of(kept))
    link.change("compared_with", index)
