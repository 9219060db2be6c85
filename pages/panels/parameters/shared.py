"""What the panels of Parameters share: names of kinds, numbers as they are read, the parts."""

import pandas as pd

from blocks.cost.breakdown import CountFacts, Kind
from blocks.model.faults import N_
from pages.words import terms
from pages.words.language import _
from pages.words.numbers import percent

UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
LARGEST_EXACT = 2**53  # beyond it a browser's numbers have gaps
KINDS = {
    Kind.EMBEDDING: N_("embedding"),
    Kind.POSITION: N_("positional encoding"),
    Kind.ATTENTION: N_("attention"),
    Kind.MIXER: N_("token mixer"),
    Kind.CROSS_ATTENTION: N_("cross-attention"),
    Kind.FEED_FORWARD: N_("feed-forward"),
    Kind.ROUTER: N_("router"),
    Kind.NORM: N_("norms"),
    Kind.POOLER: N_("pooler"),
    Kind.MTP: N_("MTP modules"),
    Kind.OUTPUT: N_("output"),
}


def kind_name(found: Kind | str) -> str:
    return _(KINDS[Kind(found)])


def short(count: float) -> str:
    """With three digits and a unit: 124 M, 6.74 B."""
    for unit, letter in UNITS:
        if abs(count) >= unit:
            return f"{count / unit:.3g} {letter}"
    return f"{count:,.0f}"


def signed(count: int) -> str:
    """Every digit, with its sign; none is 0."""
    return f"{count:+,}".replace("-", "−") if count else "0"


def part_rows(facts: CountFacts, kind: Kind | None = None) -> pd.DataFrame:
    """Every part (of one kind) with its formula."""
    rows = [part for part in facts.parts if kind in (None, part.kind)]
    return pd.DataFrame(
        {
            _("part"): [terms.part(row.name) for row in rows],
            _("kind"): [kind_name(row.kind) for row in rows],
            _("count"): _whole([row.count for row in rows]),
            _("share"): [percent(facts.share(row.count)) for row in rows],
            _("formula"): [row.formula for row in rows],
            _("in numbers"): [row.numbers for row in rows],
        }
    )


def _whole(counts: list[int]) -> list[int] | list[str]:
    return counts if max(counts, default=0) < LARGEST_EXACT else [f"{n:,}" for n in counts]
