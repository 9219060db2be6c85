"""Sentences of the page that compares, computed from both models."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from blocks import ModelConfig
from blocks.cost.fit import n_parameters
from blocks.cost.memory import run_fault
from blocks.inspection.settings import differing
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.panels.compare import trade_offs
from pages.ui import starts, terms
from pages.ui.compare import beside, kept
from pages.ui.labelled import pinned_token
from pages.ui.language import _, literal, say_fault
from pages.ui.link_fields.compare import COUNTED
from pages.ui.numbers import readable
from pages.ui.settings import memory_budget
from pages.ui.tables import show_whole
from pages.ui.terms import NOTHING
from pages.ui.words import parameter_count


class Pair(NamedTuple):
    """A and B on the same text and seed, nothing changed inside."""

    name: str
    a: Run
    b: Run

    @property
    def both(self) -> tuple[Run, Run]:
        """A, then B."""
        return self.a, self.b

    @property
    def n_layers(self) -> int:
        """Layers that both have; of an encoder–decoder those of the encoder."""
        return min(run.config.n_layers for run in self.both)

    @property
    def n_heads(self) -> int:
        """Heads that a layer of both has."""
        return min(run.config.n_heads for run in self.both)

    @property
    def reads_the_same(self) -> bool:
        """Whether both have the same tokens at the same places."""
        return self.a.input.labels == self.b.input.labels


def pair(run: Run) -> Pair | None:
    """What is kept as A beside the run of the page; None where nothing is kept."""
    entry = kept.a()
    return None if entry is None else Pair(entry.name, beside.run_as_it_is(entry), run.untouched)


def names(found: Pair) -> tuple[str, str]:
    """What both are called in pictures."""
    return f"A · {found.name}", _("B · now")


def faults(found: Pair) -> tuple[tuple[str, str], ...]:
    """Which of the two cannot run on this device, and why, with the numbers."""
    sides = zip(names(found), found.both, strict=True)
    wrong = [(name, run_fault(run, memory_budget())) for name, run in sides]
    return tuple((name, say_fault(fault)) for name, fault in wrong if fault is not None)


def pinned(found: Pair) -> int:
    """The token that is outlined: the reader's or the last of the text, where both have it."""
    return min(pinned_token(run) for run in found.both)


N_ROUNDS, N_LIKELIEST = 7, 6


def predicts_alike(pair: Pair) -> bool:
    """Whether what both expect can be compared: one architecture, one vocabulary, one text."""
    a, b = pair.both
    is_one_kind = a.config.architecture is b.config.architecture
    predicts = b.config.architecture in (Architecture.GPT, Architecture.ENCODER)
    return (
        is_one_kind
        and predicts
        and pair.reads_the_same
        and a.input.vocabulary == b.input.vocabulary
        and a.input.padded_ids == b.input.padded_ids
    )


class Row(NamedTuple):
    """A number of both: what it is, A's, B's, and how such a number is written.

    `is_between`: there is only one, which lies between them, and stands as B's.
    """

    label: str
    a: float
    b: float
    said: Callable[[float], str]
    is_between: bool = False


def settings_frame(pair: Pair) -> pd.DataFrame:
    """Only the settings that differ."""
    found = {**_of_runs(pair), **differing(pair.a.config, pair.b.config)}
    rows = [(name, terms.value(a), terms.value(b)) for name, (a, b) in found.items()]
    return pd.DataFrame(rows, columns=[_("setting"), "A", "B"])


def _of_runs(pair: Pair) -> dict[str, tuple[Any, Any]]:
    """What differs in how they are used: weights, mask, number format."""
    ours, theirs = (_used(run) for run in pair.both)
    return {
        name: (ours.get(name), theirs.get(name))
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    }


def _used(run: Run) -> dict[str, Any]:
    mask = run.mask
    title = starts.POCKET_TITLES.get(run.weights, run.weights)
    found = {
        "weights": _(title) if run.weights else _("random (from the seed)"),
        "dtype": run.dtype,
        "mask_kind": str(mask.mask_kind),
    }
    sizes = {"sliding_window": "window_size", "prefix": "prefix_len"}
    if name := sizes.get(str(mask.mask_kind)):
        found[name] = getattr(mask, name)
    return found


def counted_rows(pair: Pair, n: int, weight_format: str) -> list[Row]:
    """What is counted of both, where either has it; nothing is built."""
    a, b = (trade_offs.summary(run.config, n, weight_format) for run in pair.both)
    return [
        Row(
            trade_offs.title(name, n, weight_format),
            float(getattr(a, name)),
            float(getattr(b, name)),
            partial(trade_offs.said, name),
        )
        for name in COUNTED
        if getattr(a, name) or getattr(b, name)
    ]


def numbers_frame(rows: list[Row]) -> pd.DataFrame:
    """Both, their ratio, and their difference, which is as long as they are."""
    return pd.DataFrame(
        {
            _("quantity"): [row.label for row in rows],
            "A": [_said_table(row, row.a) for row in rows],
            "B": [NOTHING if row.is_between else _said_table(row, row.b) for row in rows],
            _("B ÷ A"): [_ratio(row) for row in rows],
            _("B − A"): [_change(row) for row in rows],
        }
    )


def _said_table(row: Row, value: float) -> str:
    return row.said(value) if value else NOTHING


def _change(row: Row) -> str:
    return signed(row.b - row.a, row.said)


def signed(change: float, said: Callable[[float], str]) -> str:
    """A change with its sign, as long as any other."""
    return ("+" if change > 0 else "−") + said(abs(change)) if change else "0"


def _ratio(row: Row) -> str:
    if not row.a or not row.b or not math.isfinite(row.b / row.a):
        return NOTHING
    return _times(row.b / row.a)


def _times(ratio: float) -> str:
    return f"{readable(ratio)}\N{NO-BREAK SPACE}×"


def numbers(rows: list[Row]) -> None:
    """Show the numbers as a table."""
    show_whole(numbers_frame(rows))


def _said(table: pd.DataFrame, said: Callable[[float], str]) -> pd.DataFrame:
    return table.assign(
        said_a=[said(value) if value else NOTHING for value in table["a"]],
        said_b=[said(value) if value else NOTHING for value in table["b"]],
    )


MOST_NAMED = 8


def who_is_who(pair: Pair) -> str:
    """Both in one line each."""
    said = (
        f"**{literal(name)}** — {_model(run)}"
        for name, run in zip(names(pair), pair.both, strict=True)
    )
    return "  \n".join(said)


def _model(run: Run) -> str:
    config = run.config
    text = _("{kind}, {n_layers} × {d_model}, {heads}, {weights} · {parameters}")
    return text.format(
        kind=terms.option(str(config.architecture)),
        n_layers=config.n_layers + config.n_decoder_layers,
        d_model=config.d_model,
        heads=terms.attention_kind(config),
        weights=_("trained weights") if run.weights else _("random weights"),
        parameters=_parameter_counts(config),
    )


def _parameter_counts(config: ModelConfig) -> str:
    """Of the whole, and of each block where all of them are alike."""
    whole = parameter_count(config)
    if config.architecture not in (Architecture.ENCODER, Architecture.GPT):
        return whole
    text = _("{whole}, {n:,} in each block")
    return text.format(whole=whole, n=n_parameters(config.one_block()))


def in_rows(table: pd.DataFrame) -> str:
    """Write the alt text of paired bars."""
    return "; ".join(f"{row.label}: A {row.said_a}, B {row.said_b}" for row in table.itertuples())


def caption(pair: Pair) -> str:
    """What was compared, for the page that is taken along."""
    return " | ".join(
        f"{name}: {_model(run)}" for name, run in zip(names(pair), pair.both, strict=True)
    )


def how_to_begin() -> str:
    """What to do where nothing is kept."""
    return _(
        "Nothing is kept yet. Set a model in the sidebar, press “Compare” at the top "
        "and “Keep as A”, then change something: the new setting is B. On every page "
        "with pictures A stands beside B; the differences are listed here."
    )
