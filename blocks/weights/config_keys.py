"""The keys of a config.json, each asked for by type; what is wrong with them is collected."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from blocks.model.faults import N_, Fault, nearest_names
from blocks.model.kinds import Activation
from blocks.model.legal import is_of
from blocks.model.options import LARGEST_SIZE, factors

MOST_LISTED = 120  # characters of a value that a sentence may name


class Keys:
    """The keys of a file, each asked for by type; what is wrong is collected.

    `usual`: what those that are left out are in this family, whatever default is asked with.
    """

    def __init__(self, values: Mapping[str, Any], usual: Mapping[str, Any] = MappingProxyType({})):
        self.values = values
        self.usual = usual
        self.faults: dict[tuple[str, str], Fault] = {}
        self.assumed: dict[str, str] = {}

    def size(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number. Without a `default` the file must have it; null is as good as absent."""
        found, default = self.values.get(name), self.usual.get(name, default)
        if found is None and default is not None:
            self._assume(name, default)
            return default
        if found is None:
            self._say(N_("The file has no {name}, which is needed to count the parameters"), name)
        elif type(found) is not int:
            self._say(N_("{name} must be a whole number, but is {value}"), name)
        elif not least <= found <= LARGEST_SIZE:
            bounds = {"least": least, "most": f"{LARGEST_SIZE:,}"}
            self._say(
                N_("{name} is {value}, but sizes here must be from {least} to {most}"),
                name,
                **bounds,
            )
        else:
            return found
        return max(1, least)

    def optional(self, name: str) -> int | None:
        """A whole number, or None where the file has null, or nothing and the family none."""
        found = self.values.get(name, self.usual.get(name))
        return None if found is None else self.size(name)

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        found = self.values.get(name)
        if found is None:
            return float(self.usual.get(name, default))
        if is_of(float, found):
            return float(found)
        is_large = type(found) in (int, float)
        text = N_("{name} is {value}, larger than any number allowed here")
        self._say(text if is_large else N_("{name} must be a number, but is {value}"), name)
        return default

    def factors(self, name: str) -> str:
        """A list of numbers above 0, as a configuration writes it; empty where there is none."""
        found = self.values.get(name) or []
        are_numbers = isinstance(found, list) and all(is_of(float, each) for each in found)
        text = ",".join(str(float(each)) for each in found) if are_numbers else ""
        if not are_numbers or factors(text) is None:
            self._say(N_("{name} must be a list of numbers above 0, but is {value}"), name)
        return text

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        found, default = self.values.get(name), self.usual.get(name, default)
        if found is None:
            self._assume(name, default)
            return default
        if type(found) is not bool:
            self._say(N_("{name} must be true or false, but is {value}"), name)
        return found is True

    def choice(self, name: str, options: Mapping[str, Activation], default: str) -> Activation:
        """Read one of several allowed words."""
        found, default = self.values.get(name), self.usual.get(name, default)
        if found is None:
            self._assume(name, default)
            found = default
        if type(found) is str and found in options:
            return options[found]
        known = nearest_names(found, options, len(options))
        self._say(N_("{name} is {value}; known values: {known}"), name, known=known)
        return next(iter(options.values()))

    def part(self, name: str) -> "Keys":
        """The keys of an object inside the file, none where it has no such object."""
        found = self.values.get(name)
        if found is not None and type(found) is not dict:
            self._say(N_("{name} must be an object, but is {value}"), name)
        inner = Keys(found if type(found) is dict else {})
        inner.faults = self.faults
        return inner

    def must_be(self, name: str, *allowed: Any) -> None:
        """Refuse another value than these; the first is what absence means, if nothing else is."""
        found = self.values.get(name, self.usual.get(name, allowed[0]))
        if not any(found == value and type(found) is type(value) for value in allowed):
            text = N_("{name} is {value}, which is not supported here; supported: {known}")
            known = [brief(value, MOST_LISTED) for value in allowed]
            self._say(text, name, known=" / ".join(known))

    def equal(self, name: str, other: str) -> None:
        """Refuse two sizes that a configuration has only once."""
        if self.values.get(name) != self.values.get(other):
            text = N_("{name} is {value} and {other} is {theirs}: here they must be equal")
            self._say(text, name, other=other, theirs=brief(self.values.get(other)))

    def refuse(self, name: str, text: str, **more: object) -> None:
        """Say of a key what is wrong with it; `text` may name it and its value."""
        self._say(text, name, **more)

    def _assume(self, name: str, default: object) -> None:
        self.assumed[name] = json.dumps(default)

    def _say(self, text: str, name: str, **more: object) -> None:
        found = self.values.get(name, self.usual.get(name))
        said = {"name": name, "value": brief(found), **more}
        self.faults[text, name] = Fault(text, said)


def brief(value: object, most: int = 40) -> str:
    """A value as the file writes it, however long it is."""
    try:
        return cut(json.dumps(value, ensure_ascii=False), most)
    except ValueError:  # more digits than Python writes out
        return "…"


def cut(text: str, most: int = 40) -> str:
    """The beginning of a text that is too long for a sentence."""
    return text if len(text) <= most else text[:most] + "…"
