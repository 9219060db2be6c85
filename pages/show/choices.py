"""What the reader chooses for a panel, and perhaps for others on its page."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pages.stage.stated import stated


@dataclass(frozen=True)
class Choices:
    """Draws controls for these fields of the link; `draw` gets the values that the page has."""

    fields: tuple[str, ...]
    draw: Callable[..., None]

    def __call__(self, *values: Any) -> None:
        """Draw them."""
        self.draw(*values, **stated(self.draw))


def chooses(*fields: str) -> Callable[[Callable[..., None]], Choices]:
    return partial(Choices, fields)
