"""Hand what is set to those who ask for it by the name `state`."""

from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any

from pages.stage import link
from pages.state.values import State

STATE = "state"


def stated(function: Callable[..., Any]) -> dict[str, State]:
    """The argument `state` of a function, as it is now, where the function has one."""
    return {STATE: link.now()} if STATE in _parameters(function) else {}


def n_values(function: Callable[..., Any]) -> int:
    names = _parameters(function)
    return len(names) - (STATE in names)


@lru_cache(maxsize=512)
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(signature(function).parameters)
