"""Frames of both models with the reader's words in them, ready to be drawn."""

import pandas as pd

from pages.ui import terms
from pages.ui.compare import measured, tables
from pages.ui.compare.sides import Pair
from pages.ui.cost import amounts
from pages.ui.cost import names as cost_names
from pages.ui.language import _
from pages.ui.tokens import label

LEAST_SHARE = 1e-5


def parameters(pair: Pair) -> pd.DataFrame:
    """Parameters by kind: label, a, b, said_a, said_b."""
    table = measured.by_kind(pair.a.config, pair.b.config)
    return _said(
        table.assign(label=[tables.kind(name) for name in table["name"]]), "{:,.0f}".format
    )


def operations(pair: Pair, n: int) -> pd.DataFrame:
    """FLOPs of one token by operation, the same columns."""
    table = measured.by_operation(pair.a.config, pair.b.config, n)
    labels = [cost_names.operation(name) for name in table["name"]]
    return _said(table.assign(label=labels), amounts.flops)


def expected(pair: Pair, place: int) -> pd.DataFrame:
    """The likeliest tokens of either, the same columns."""
    table = measured.expected(pair.a, pair.b, place).table
    labels = [label(pair.b, token_id) for token_id in table["token_id"]]
    found = table.assign(label=labels, a=table["p_a"], b=table["p_b"])
    return _said(found, _percent)


def _percent(share: float) -> str:
    """Three digits, and what is next to nothing is said to be so."""
    return f"{100 * share:.3g}%" if share >= LEAST_SHARE else f"< {LEAST_SHARE:.3%}"


def _said(table: pd.DataFrame, said) -> pd.DataFrame:
    return table.assign(
        said_a=[said(value) if value else tables.NOTHING for value in table["a"]],
        said_b=[said(value) if value else tables.NOTHING for value in table["b"]],
    )


def heads(pair: Pair, side: int, layer: int) -> pd.DataFrame:
    """One row a head of one side: head, label, and under the cursor its measures and distance."""
    table = measured.head_table(pair.both[side], layer)
    return table.assign(
        label=[_title(row) for row in table.itertuples()],
        hover=[_hover(pair, row, layer) for row in table.itertuples()],
    )


def _title(row) -> str:
    name = f" {terms.head_name(row.name)}" if row.name else ""
    return f"<b>{row.head}</b>{name}"


def _hover(pair: Pair, row, layer: int) -> str:
    text = _("head {head}: entropy {entropy:.2f} bits, mean distance {distance:.1f} tokens")
    said = text.format(head=row.head, entropy=row.entropy_bits, distance=row.distance_tokens)
    if not pair.reads_the_same or row.head >= pair.n_heads:
        return said
    text = _("{said}<br>{distance:.3f} from head {head} of the other")
    distance = measured.distances(pair)[layer, row.head]
    return text.format(said=said, distance=distance, head=row.head)
