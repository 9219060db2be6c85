"""What differs between A and B, in settings and in numbers; nothing is built."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost import summary
from blocks.cost.two_models import PairCounts
from blocks.cost.units import bytes_text
from blocks.inspection import settings
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.figures.units import flops
from pages.panels.compare import measures, shared
from pages.panels.compare.shared import Pair, Row, kind
from pages.panels.cost.shared import cache_format, format_name, operation
from pages.server import starts
from pages.show.explain import explained, note
from pages.show.said import tell
from pages.show.tables import show_whole
from pages.state.link_fields.compare import COUNTED
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, sentences

SIZES = {"sliding_window": "window_size", "prefix": "prefix_len"}


def settings_that_differ(pair: Pair) -> dict[str, tuple[Any, Any]]:
    """How both are used, and what they are: where they differ, A's value and B's."""
    ours, theirs = (_used(run) for run in pair.both)
    used = {name: (ours.get(name), theirs.get(name)) for name in (*ours, *theirs)}
    used = {name: values for name, values in used.items() if values[0] != values[1]}
    return used | settings.differing(pair.a.config, pair.b.config)


def _used(run: Run) -> dict[str, Any]:
    """Weights, number format, mask."""
    title, kind = starts.POCKET_TITLES.get(run.weights, run.weights), str(run.mask.mask_kind)
    weights = _(title) if run.weights else _("random (from the seed)")
    found = {"weights": weights, "dtype": run.dtype, "mask_kind": kind}
    return found | ({SIZES[kind]: getattr(run.mask, SIZES[kind])} if kind in SIZES else {})


def says_settings(differing: list[str], moved_along: list[str]) -> str:
    """The settings that differ, counted; or that there is none."""
    if not differing:
        return _(
            "A and B are the same: change something in the sidebar to see the difference here."
        )
    text = _("Settings that differ ({n}): {names}")
    said = text.format(n=len(differing), names=shared.some_of(differing))
    if not moved_along:
        return said
    text = _("These change as a consequence: {names}.")
    return f"{said}  \n{text.format(names=enumeration(moved_along))}"


def says_counts(facts: PairCounts) -> str:
    """What B costs more or less than A, and which part makes the difference."""
    return sentences(_parameters(facts), _flops(facts), _cache(facts))


def _parameters(facts: PairCounts) -> str:
    a, b = facts.a.parameters, facts.b.parameters
    if a == b:
        return _("Both models have {n:,} parameters.").format(n=a)
    text = _(
        "B has {ratio} times the parameters of A ({change}); the largest change is in {part} "
        "({part_change})."
    )
    if readable(b / a) == "1":
        text = _(
            "A has {n:,} parameters, and B differs by {change}; the largest change is in "
            "{part} ({part_change})."
        )
    part, change = facts.parameter_change
    return text.format(
        n=a,
        ratio=readable(b / a),
        change=shared.signed(b - a, "{:,}".format),
        part=kind(part),
        part_change=shared.signed(round(change), "{:,}".format),
    )


def _flops(facts: PairCounts) -> str:
    if facts.same_flops:
        text = _("To read one token of a text of {n:,} tokens, both models need about {flops}.")
        return text.format(n=facts.n, flops=flops(facts.b.read_flops))
    text = _(
        "To read one token of a text of {n:,} tokens, B needs {ratio} times the FLOPs of A; "
        "the largest change is in {part} ({change})."
    )
    if group := facts.flops_group_change:
        part, change = kind(group[0]), group[1]
    else:
        names, change = facts.flops_change
        part = _(", ").join(map(operation, names))
    return text.format(
        n=facts.n, ratio=readable(facts.flops_ratio), part=part, change=shared.signed(change, flops)
    )


def _cache(facts: PairCounts) -> str:
    a, b = facts.a.cache_bytes, facts.b.cache_bytes
    number_format = cache_format(facts.weight_format)
    if not a or not b:
        return ""
    if a == b:
        text = _("Each token takes {n} of KV cache in both models ({number_format}).")
        return text.format(n=bytes_text(a), number_format=number_format)
    text = _(
        "In the KV cache ({number_format}), a token takes {a} in A and {b} in B, {ratio} "
        "times as much."
    )
    return text.format(
        number_format=number_format, a=bytes_text(a), b=bytes_text(b), ratio=readable(b / a)
    )


def settings_table(pair: Pair) -> pd.DataFrame:
    """Only the settings that differ."""
    found = settings_that_differ(pair).items()
    rows = [(name, terms.value(a), terms.value(b)) for name, (a, b) in found]
    return pd.DataFrame(rows, columns=[_("setting"), "A", "B"])


def numbers(facts: PairCounts) -> pd.DataFrame:
    """What is counted of both, where either has it."""
    pairs = ((name, getattr(facts.a, name), getattr(facts.b, name)) for name in COUNTED)
    return shared.table(
        Row(
            measures.title(name, facts.n, facts.weight_format),
            float(a),
            float(b),
            partial(measures.written, name),
        )
        for name, a, b in pairs
        if a or b
    )


def what_differs(pair: Pair, state: State) -> None:
    """What follows from the settings that differ, and which they are."""
    table, facts = settings_table(pair), shared.pair_counts(pair, *shared.counted_with(state))
    code = (settings.differing, summary.summarise)
    place = explained(("comparing", "flops"), code, key="differs")
    along = settings.moved_along(pair.a.config, pair.b.config)
    said = says_settings(list(table.iloc[:, 0]), list(along))
    with place:
        if not len(table):
            st.info(said, icon=":material/compare_arrows:")
        tell(says_counts(facts))
    show_whole(numbers(facts))
    text = _(
        "Counts are exact; no model is built. FLOPs count the matrix products for texts of "
        "{n:,} tokens; bytes are for weights in {weight_format}; 1 GB is 10⁹ bytes. Memory "
        "for inference is an estimate. –: not applicable."
    )
    note(text.format(n=facts.n, weight_format=format_name(facts.weight_format)))
    if len(table):
        st.info(said, icon=":material/compare_arrows:")
        show_whole(table)
