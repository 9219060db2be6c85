"""Heads and tokens of two texts with the reader's words, ready to be drawn."""

from functools import lru_cache
from typing import Any

import pandas as pd

from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui.attention.words import head_called
from pages.ui.language import _, current_language
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.measured import Chosen, Pins

MOST_IN_A_STRIP = 32
KIND_TITLES = {
    AttentionKind.ENCODER: N_("Encoder self-attention: source to source"),
    AttentionKind.DECODER: N_("Decoder self-attention: target to target"),
    AttentionKind.CROSS: N_("Cross-attention: target to source"),
}
READ = {"source": N_("Source: what it attends to"), "target": N_("Target: what it attends to")}
READERS = {"source": N_("Source: what attends to it"), "target": N_("Target: what attends to it")}


def kind_title(kind: AttentionKind) -> str:
    """What its tiles are called."""
    return _(KIND_TITLES[kind])


def labelled_tiles(run: Run, kind: AttentionKind) -> pd.DataFrame:
    """One row a tile: `head` counts through all layers; label, hover."""
    return _labelled_tiles(run, kind, current_language())


@lru_cache(maxsize=32)
def _labelled_tiles(run: Run, kind: AttentionKind, language: str) -> pd.DataFrame:
    table = measured.all_heads(run, kind)
    text = _("{head}: entropy {entropy:.2f} bits, effectively {tokens:.1f} tokens")
    hovers = [
        text.format(
            head=head_called(int(row.layer), int(row.head)),
            entropy=row.entropy_bits,
            tokens=row.effective_tokens,
        )
        for row in table.itertuples()
    ]
    labels = [f"{row.layer + 1}·<b>{row.head}</b>" for row in table.itertuples()]
    return table.assign(head=range(len(table)), label=labels, hover=hovers)


def tile(run: Run, which: Chosen) -> int:
    """Where a head stands among the tiles of its attention."""
    return which.layer * run.config.n_heads + which.head


def share(names: tuple[str, ...], token: int) -> float:
    """Where a token stands in its text, 0 (first) to 1."""
    return (token + 0.5) / len(names)


def pinned_key_share(run: Run, kind: AttentionKind, pins: Pins) -> float | None:
    """Where the pinned source token stands among the keys that the target reads."""
    return share(run.input.labels, pins.source) if kind is AttentionKind.CROSS else None


def strips(run: Run, layer: int, head: int, text: str, pins: Pins) -> tuple[Any, Any]:
    """The fields of two `pages.figures.two_texts.Strip`: the source's and the target's."""
    titles = READ if text == "target" else READERS
    own = AttentionKind.DECODER if text == "target" else AttentionKind.ENCODER
    in_source = AttentionKind.CROSS if text == "target" else own
    in_target = own if text == "target" else AttentionKind.CROSS
    made = []
    for name, kind, labels, token in (
        ("source", in_source, run.input.labels, pins.source),
        ("target", in_target, run.target_or_start.labels, pins.target),
    ):
        found = measured.followed(run, kind, layer, head, text, pins)
        shown = measured.part(len(labels), token, MOST_IN_A_STRIP)
        is_here = name == text
        made.append(
            {
                "title": _(titles[name]),
                "tokens": labels[shown],
                "weights": found[shown],
                "pinned": token - shown.start if is_here else None,
                "first": shown.start,
            }
        )
    return made[0], made[1]


def strips_title(run: Run, layer: int, head: int, text: str, pins: Pins) -> str:
    """Which token is followed, and in which heads."""
    labels = run.input.labels if text == "source" else run.target_or_start.labels
    said = _("{token} in both texts · {head}")
    token = labels[pins.source if text == "source" else pins.target]
    return said.format(token=token, head=head_called(layer, head))
