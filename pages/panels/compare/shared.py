"""What the panels of Compare share: A and B, what is looked at in both, and numbers of both."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks.cost import two_models
from blocks.cost.fit import n_parameters
from blocks.cost.memory import run_fault
from blocks.cost.two_models import PairCounts
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.panels.compare import measures
from pages.server.settings import memory_budget
from pages.show import beside
from pages.show.words import parameter_count
from pages.stage import kept
from pages.state import labelled
from pages.state.labelled import Selection
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, literal, say_fault
from pages.words.terms import NOTHING

MOST_NAMED = 8
KINDS = {
    "embedding": N_("token embedding"),
    "position": N_("positional encoding"),
    "attention": N_("attention"),
    "mixer": N_("token mixer"),
    "cross_attention": N_("cross-attention"),
    "feed_forward": N_("feed-forward"),
    "router": N_("router"),
    "norm": N_("norms"),
    "pooler": N_("pooler"),
    "mtp": N_("MTP modules"),
    "output": N_("output"),
}


class Pair(NamedTuple):
    """A and B on the same text and seed, nothing changed inside; `name` is A's, `now` is B's."""

    name: str
    a: Run
    b: Run
    now: str

    @property
    def both(self) -> tuple[Run, Run]:
        return self.a, self.b

    @property
    def n_layers(self) -> int:
        """Layers that both have; of an encoder–decoder those of the encoder."""
        return min(run.config.n_layers for run in self.both)

    @property
    def n_heads(self) -> int:
        return min(run.config.n_heads for run in self.both)

    @property
    def without_attention(self) -> Run | None:
        """One of them that has no attention pattern, where there is such."""
        return next((run for run in self.both if not run.config.attends), None)

    @property
    def reads_the_same(self) -> bool:
        return self.a.input.labels == self.b.input.labels


def pair(run: Run) -> Pair | None:
    """What is kept as A beside the run of the page; None where nothing is kept."""
    entry = kept.a()
    if entry is None:
        return None
    return Pair(entry.name, beside.run_as_it_is(entry), run.untouched, kept.name_now())


def names(found: Pair) -> tuple[str, str]:
    return f"A · {found.name}", f"B · {found.now}"


def faults(found: Pair) -> tuple[tuple[str, str], ...]:
    """Which of the two cannot run on this device, and why, with the numbers."""
    sides = zip(names(found), found.both, strict=True)
    wrong = [(name, run_fault(run, memory_budget(run.device))) for name, run in sides]
    return tuple((name, say_fault(fault)) for name, fault in wrong if fault is not None)


def pinned(found: Pair, state: State) -> int:
    """The token that is outlined: the reader's or the last of the text, where both have it."""
    return min(labelled.pinned_token(run, state) for run in found.both)


def selection(found: Pair, state: State) -> Selection:
    layer = min(state.layer or 0, found.n_layers - 1)
    return Selection(layer, min(state.head or 0, found.n_heads - 1), pinned(found, state))


def counted_with(state: State) -> tuple[int, str]:
    """For texts of how many tokens is counted, and in what number format of the weights."""
    return state.context_len, state.weight_format


@lru_cache(maxsize=64)
def pair_counts(pair: Pair, n: int, weight_format: str) -> PairCounts:
    """What both are counted to be."""
    a, b = (measures.stored(run.weights, weight_format) for run in pair.both)
    return two_models.pair_counts(
        pair.a.config, pair.b.config, n=n, weight_format=weight_format, stored=(a, b)
    )


def kind(name: str) -> str:
    return _(KINDS[name])


def some_of(names: Sequence[str]) -> str:
    more = _(", and {n} more").format(n=len(names) - MOST_NAMED)
    return enumeration(names[:MOST_NAMED]) + (more if len(names) > MOST_NAMED else "")


def signed(change: float, said: Callable[[float], str]) -> str:
    return ("+" if change > 0 else "−") + said(abs(change)) if change else "0"


def times(ratio: float) -> str:
    return f"{readable(ratio)}\N{NO-BREAK SPACE}×"


class Row(NamedTuple):
    """A number of both: what it is, A's, B's, and how such a number is written.

    `is_between`: there is only one, which lies between them, and stands as B's.
    """

    label: str
    a: float
    b: float
    said: Callable[[float], str]
    is_between: bool = False


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Both, their ratio, and their difference, which is as long as they are."""
    found = [
        (
            row.label,
            row.said(row.a) if row.a else NOTHING,
            row.said(row.b) if row.b and not row.is_between else NOTHING,
            _ratio(row),
            signed(row.b - row.a, row.said),
        )
        for row in rows
    ]
    return pd.DataFrame(found, columns=[_("quantity"), "A", "B", _("B ÷ A"), _("B − A")])


def _ratio(row: Row) -> str:
    if not row.a or not row.b or not math.isfinite(row.b / row.a):
        return NOTHING
    return times(row.b / row.a)


def both_described(pair: Pair) -> list[tuple[str, str]]:
    return [(name, _model(run)) for name, run in zip(names(pair), pair.both, strict=True)]


def _model(run: Run) -> str:
    config, parameters = run.config, parameter_count(run.config)
    if config.architecture in (Architecture.ENCODER, Architecture.GPT):  # all blocks are alike
        text = _("{whole}, {n:,} in each block")
        parameters = text.format(whole=parameters, n=n_parameters(config.one_block()))
    return _("{kind}, {n_layers} × {d_model}, {heads}, {weights} · {parameters}").format(
        kind=terms.option(str(config.architecture)),
        n_layers=config.n_layers + config.n_decoder_layers,
        d_model=config.d_model,
        heads=terms.attention_kind(config),
        weights=_("trained weights") if run.weights else _("random weights"),
        parameters=parameters,
    )


def says_who_is_who(pair: Pair) -> str:
    return "  \n".join(f"**{literal(name)}** — {model}" for name, model in both_described(pair))


def caption(pair: Pair) -> str:
    return " | ".join(f"{name}: {model}" for name, model in both_described(pair))
