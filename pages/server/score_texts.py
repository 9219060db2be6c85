"""Texts that smaller models are calibrated and scored on: those that ship, and readers' own.

A reader's own is found by a share of its hash, which no link gives away, while this server runs.
"""

import hashlib

from blocks.corpora.paragraphs import LANGUAGES, paragraph
from pages.server.once import once
from pages.server.shelf import Recent

MOST_KEPT, MOST_CHARACTERS, N_HASH = 64, 20_000, 12


@once
def _own() -> Recent[str, str]:
    """What readers brought: the one that was used longest ago makes room."""
    return Recent(MOST_KEPT * MOST_CHARACTERS, n_at_most=MOST_KEPT)


def keep(text: str) -> str:
    """Keep a reader's own text; returns its name."""
    text = text[:MOST_CHARACTERS]
    name = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:N_HASH]
    _own().use(name, text, len)
    return name


def find(name: str) -> str | None:
    """The text of this name; None where it is not here."""
    return paragraph(name) if name in LANGUAGES else _own().find(name)
