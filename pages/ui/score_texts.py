"""Texts that smaller models are calibrated and scored on: those that ship, and readers' own.

A reader's own is found by a share of its hash, which no link gives away, while this server runs.
"""

import hashlib
import threading
from collections import OrderedDict

from blocks.corpora.paragraphs import LANGUAGES, paragraph
from pages.ui.once import once

MOST_KEPT, MOST_CHARACTERS, N_HASH = 64, 20_000, 12


class Texts:
    """What readers brought, the newest last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()

    def keep(self, name: str, text: str) -> None:
        """The one that was used longest ago makes room."""
        with self._lock:
            self._kept[name] = text
            self._kept.move_to_end(name)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def find(self, name: str) -> str | None:
        """The text of this name; None where it is forgotten."""
        with self._lock:
            return self._kept.get(name)


@once
def _texts() -> Texts:
    return Texts()


def keep(text: str) -> str:
    """Keep a reader's own text; returns its name."""
    text = text[:MOST_CHARACTERS]
    name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:N_HASH]
    _texts().keep(name, text)
    return name


def find(name: str) -> str | None:
    """The text of this name; None where it is not here."""
    return paragraph(name) if name in LANGUAGES else _texts().find(name)
