"""Positions as a table and as curves: one pair, all wavelengths, likeness by distance."""

from functools import lru_cache

import pandas as pd

from blocks.inspection import position_facts as facts_of
from blocks.inspection.position_facts import (
    DEEP_BIAS,
    KindFacts,
    LikenessFacts,
    PairFacts,
    TableFacts,
    columns_of,
)
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, band, dots, line
from pages.figures.counting import from_one
from pages.figures.theme import Picture, faint
from pages.panels.positions import position_matrix_picture, shared
from pages.panels.positions.position_matrix_picture import Names
from pages.words import terms
from pages.words.language import _, fill


@lru_cache(maxsize=32)
def kind_facts(run: Run, kind: PositionKind, n: int) -> KindFacts:
    """How fast its pairs turn, how far its heads see, or what its table is made of."""
    return facts_of.kind_facts(run, kind, n, shared.learned(run))


@lru_cache(maxsize=16)
def table_facts(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> TableFacts:
    """What a kind makes of `n` positions."""
    learned = shared.learned(run)
    return facts_of.table_facts(run, kind, n, learned, position=position, pair=pair)


@lru_cache(maxsize=32)
def pair_facts(run: Run, kind: PositionKind, n: int, position: int, pair: int) -> PairFacts:
    """What one pair (of ALiBi: one head) says at each position."""
    learned = shared.learned(run)
    return facts_of.pair_facts(run, kind, n, learned, position=position, pair=pair)


@lru_cache(maxsize=16)
def likeness_facts(run: Run, kind: PositionKind, n: int) -> LikenessFacts:
    return facts_of.likeness_facts(run, kind, n, shared.learned(run))


def draw_table(facts: TableFacts) -> Picture:
    """The table of a kind; a click returns [position, column]."""
    return position_matrix_picture.table(
        facts.values,
        facts.columns,
        _table_names(facts),
        most=facts.most,
        pinned=facts.position,
        chosen=facts.chosen,
        first=first_number(facts.kind),
        tokens=facts.labels,
        _=_,
    )


def _table_names(facts: TableFacts) -> Names:
    rows = _("position")
    match facts.kind:
        case PositionKind.ROPE:
            return Names(_("Cosine of each pair's angle"), rows, _("pair"), _("cosine"))
        case PositionKind.ALIBI:
            title = _("Bias added to the scores of the query at position {position}")
            return Names(fill(title, facts), _("key position"), _("head"), _("bias"))
    title = _("Values added to the embedding ({kind})").format(kind=terms.option(facts.kind))
    columns = _("feature")
    if facts.kind is PositionKind.SINUSOIDAL:
        columns = _("feature: sines (even) and cosines (odd)")
        if facts.sines_first:
            columns = _("feature: sines, then cosines")
    return Names(title, rows, columns, _("value"))


def first_number(kind: PositionKind) -> int:
    """The number of the first column: heads count from 1, pairs and features as in the formula."""
    return from_one(0) if kind is PositionKind.ALIBI else 0


def curves(facts: PairFacts) -> Chart:
    """One or two curves over the positions, with a mark at the pinned one."""
    title, y = fill(_("Feature pair {pair} across positions"), facts), _("value")
    names = [_("sine"), _("cosine")]
    if facts.kind is PositionKind.LEARNED:
        columns = columns_of(facts.kind, facts.pair)
        names = [_("feature {i}").format(i=column) for column in columns]
    if facts.kind is PositionKind.ALIBI:
        head = from_one(facts.pair)
        title, y = _("Bias of head {head} on each key").format(head=head), _("bias")
        names = [_("head {head}").format(head=head)]
    of, looks = ("first", "second"), (palette.EMBEDDING, palette.ATTENTION)
    x, here = _("position"), {"position": facts.position, "here": facts.here}
    pin = Look(color=palette.PINNED, size=9)
    shown = [line(*each) for each in zip(of, map(_curve, names, looks), strict=False)]
    return Chart(
        title,
        facts.curves,
        Axis(x, of="position"),
        Axis(y),
        [*shown, dots("here", pin, rows=pd.DataFrame(here), hover="", in_legend=False)],
        hover=f"{x} {{x}}<br>{{name}} {{y:.4f}}",
        levels=[Level(x=facts.position, color=palette.PINNED, dash="dot")],
    )


def _curve(name: str, color: str = palette.EMBEDDING) -> Look:
    return Look(name, color, width=2)


def scale(run: Run, kind: PositionKind, n: int, _position: int, chosen: int) -> Chart:
    """A length in positions for each pair or head, logarithmic; a click returns its number."""
    facts = kind_facts(run, kind, n)
    title, x, y = _("Wavelength of each pair"), _("pair"), _("positions per turn")
    if kind is PositionKind.ALIBI:
        title, x = _("How far each head attends"), _("head")
        y = _("tokens until a weight halves")
    rows = facts.lengths.assign(place=facts.lengths["number"] + first_number(kind))
    is_chosen = [number == chosen for number in rows["number"]]
    colors = [palette.PINNED if each else palette.EMBEDDING for each in is_chosen]
    ends = min(n, rows["length"].min()), max(n, rows["length"].max())
    return Chart(
        title,
        rows,
        Axis(x, of="place"),
        Axis(y, ends, is_log=True),
        [dots("length", Look(color=colors, size=[11 if each else 6 for each in is_chosen]))],
        hover=f"{x} {{x}}<br>{{length:,.3g}} · {y}",
        click=("number",),
        levels=[Level(n, name=_("{n} positions shown").format(n=n))],
    )


def spectrum(facts: KindFacts) -> Chart:
    """Share of each wave in a learned table, and the share that noise would give each."""
    x, y, even = _("wavelength in positions"), _("share of variance"), 1 / max(1, len(facts.waves))
    return Chart(
        _("Waves in the learned table"),
        facts.waves,
        Axis(x, of="wavelength", is_log=True, ticks=[2**i for i in range(1, 10)]),
        Axis(y, is_share=True, from_0=True),
        [line("share", Look(color=palette.EMBEDDING, symbol="circle", size=4, width=2))],
        hover=f"{x} {{x:.1f}}<br>{y} {{y:.1%}}",
        levels=[Level(even, name=_("dashed: noise"))],
    )


def likeness(facts: LikenessFacts) -> Chart:
    """The mean by distance within a band, and where there is a formula, that."""
    title, y = _("Similarity of two positions against distance"), _("cosine")
    mean = _("mean, smallest to largest")
    if facts.kind is PositionKind.ROPE:
        title, y = (
            _("Score of a vector with itself, by distance"),
            _("score relative to distance 0"),
        )
        mean = _("mean of 256 vectors, ± std")
    x, formula = (
        _("distance in positions"),
        Look(_("formula"), palette.BEFORE, dash="dot", width=1.5),
    )
    expected = [line("expected", formula, hover="")] if "expected" in facts.table else []
    return Chart(
        title,
        facts.table,
        Axis(x, of="distance"),
        Axis(y),
        [band("least", "most", palette.EMBEDDING), line("mean", _curve(mean)), *expected],
        hover=f"{x} {{x}}<br>{{y:.3f}}",
    )


def biases(run: Run, kind: PositionKind, n: int, _position: int, chosen: int) -> Chart:
    """What ALiBi adds at each distance, a line for each head, the chosen one in colour."""
    facts = likeness_facts(run, kind, n)
    far, slopes = float(facts.farthest), [*facts.slopes]
    one, head = slopes.pop(chosen), _("head {head}").format(head=from_one(chosen))
    ends = [
        (each, bias)
        for slope in slopes
        for each, bias in ((0, 0), (far, -slope * far), (None, None))
    ]
    others = pd.DataFrame(ends, columns=["distance", "bias"])
    gray = Look(_("other heads"), faint(palette.BEFORE, 0.7), width=1)
    x, y, deepest = _("distance in positions"), _("bias"), min(DEEP_BIAS, max(facts.slopes) * far)
    return Chart(
        _("Bias by distance, every head"),
        {"distance": range(n), "bias": [-one * i for i in range(n)]},
        Axis(x, of="distance"),
        Axis(y, (-1.03 * (deepest or 1.0), 0.4)),
        [
            line("bias", gray, rows=others, hover="", in_legend=bool(slopes)),
            line("bias", _curve(head)),
        ],
        hover=f"{x} {{x}}<br>{y} {{y:.3f}}",
    )


def draw_similarity(run: Run, kind: PositionKind, n: int, pinned: int) -> Picture:
    """Cosine of every two positions."""
    values = facts_of.similarity(run, kind, n, shared.learned(run)).float().numpy()
    position = _("position")
    names = Names(_("Similarity of all pairs of positions"), position, position, _("cosine"))
    return position_matrix_picture.square(values, names, pinned=pinned, _=_)
