"""What is said of positions, and whether it is true of each kind."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from blocks.inspection.position_claims import Claim, ClaimsFacts, ShiftFacts
from blocks.model.kinds import PositionKind
from pages.figures import marks, palette
from pages.figures.theme import EDGE, TITLE, Picture, Translate, faint, figure
from pages.figures.weights import outline
from pages.panels.positions import position_matrix_picture
from pages.panels.positions.position_matrix_picture import Names

ROW = 46
VERDICT_CODES = {True: 2, False: 1, None: 0}
SIGNS = {True: "✓", False: "✗", None: "–"}
GRID = (
    (0.0, faint(palette.BEFORE, 0.1)),
    (1 / 3, faint(palette.BEFORE, 0.1)),
    (1 / 3, faint(palette.FEED_FORWARD, 0.38)),
    (2 / 3, faint(palette.FEED_FORWARD, 0.38)),
    (2 / 3, faint(palette.NORM, 0.42)),
    (1.0, faint(palette.NORM, 0.42)),
)


def claim_name(claim: Claim, _: Translate) -> str:
    """What is said of a way to tell positions."""
    return {
        Claim.UNIQUE: _("No two positions are alike"),
        Claim.BOUNDED: _("All values lie in [−1, 1]"),
        Claim.SHIFT: _("Shifting positions is a linear map"),
        Claim.DISTANCE: _("Scores depend on distance only"),
        Claim.PERMUTATION: _("Order does not matter"),
    }[claim]


def _measure(claim: Claim, _: Translate) -> str:
    return {
        Claim.UNIQUE: _("smallest distance between two positions"),
        Claim.BOUNDED: _("largest |value|"),
        Claim.SHIFT: _("max |M·PE(p) − PE(p + k)|"),
        Claim.DISTANCE: _("score range at equal distance / largest |q|·|k|/√d_head"),
        Claim.PERMUTATION: _("change / largest output"),
    }[claim]


def number(value: float) -> str:
    """A measured number in few characters; an exact nought as such."""
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.0e}".replace("e-0", "e-")


def verdicts(
    facts: ClaimsFacts, names: Mapping[PositionKind, str], *, shown: PositionKind, _: Translate
) -> Picture:
    """Claims down, kinds across; a click returns the number of the kind.

    `names`: what all kinds are called, in their order; `shown`: the one that is outlined.
    """
    claims, kinds = list(Claim), list(names)
    cells = [[_cell(facts, kind, claim, names[kind], _) for kind in kinds] for claim in claims]
    n = len(claims)
    told = [_in_two_lines(claim_name(claim, _)) for claim in claims]
    return figure(
        [_grid(cells), _clickable(cells)],
        title=_("Claims put to the test"),
        height=TITLE + 30 + ROW * n,
        margin=(TITLE + 30, EDGE),
        xaxis={**_names(list(names.values())), "side": "top"},
        yaxis={**_names(told), "range": [n - 0.5, -0.5]},
        shapes=[outline(kinds.index(shown) - 0.5, -0.5, 1, n)],
    )


class Cell(NamedTuple):
    """Its colour, what stands in it, and what is said under the cursor."""

    code: int
    text: str
    hover: str


def _cell(facts: ClaimsFacts, kind: PositionKind, claim: Claim, name: str, _: Translate) -> Cell:
    if kind not in facts.verdicts:
        return Cell(VERDICT_CODES[None], "…", _("not measured yet"))
    verdict, begin = facts.of(kind, claim), f"{name}: {claim_name(claim, _)}"
    if verdict is None or verdict.measured is None:
        why = _("not applicable to this encoding, or too few positions")
        return Cell(VERDICT_CODES[None], SIGNS[None], f"{begin}<br>{why}")
    if verdict.overflows:
        why = _("overflows float32")
        return Cell(VERDICT_CODES[None], SIGNS[None], f"{begin}<br>{why}")
    sign = ">" if verdict.must_exceed else "≤"
    told = f"{_measure(claim, _)}: {number(verdict.measured)}"
    needed = _("true if {sign} {limit}").format(sign=sign, limit=number(verdict.limit))
    hover = f"{begin}<br>{told}<br>{needed}".replace("| <", "| &lt;")
    text = f"{SIGNS[verdict.holds]} {number(verdict.measured)}"
    return Cell(VERDICT_CODES[verdict.holds], text, hover)


def _grid(cells: Sequence[Sequence[Cell]]) -> dict[str, Any]:
    return marks.heat(
        [[cell.code for cell in row] for row in cells],
        zmin=0,
        zmax=2,
        colorscale=[list(stop) for stop in GRID],
        showscale=False,
        xgap=3,
        ygap=3,
        text=[[cell.text for cell in row] for row in cells],
        texttemplate="%{text}",
        textfont={"size": 11},
    )


def _clickable(cells: Sequence[Sequence[Cell]]) -> dict[str, Any]:
    """Unseen marks on the cells, which return the number of the kind."""
    places = [(row, kind) for row, each in enumerate(cells) for kind in range(len(each))]
    return marks.targets(
        [kind for _row, kind in places],
        [row for row, _kind in places],
        [[kind] for _row, kind in places],
        40,
        hovertext=[cell.hover for row in cells for cell in row],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }


def matrix(facts: ShiftFacts, *, _: Translate) -> Picture:
    """The matrix that moves positions on."""
    title = _("M: PE(p + {k}) = M · PE(p)").format(k=facts.shift)
    names = Names(title, _("feature of PE(p + k)"), _("feature of PE(p)"), _("entry"))
    return position_matrix_picture.square(
        facts.matrix, names, most=facts.largest, numbers=True, _=_
    )


def _in_two_lines(name: str) -> str:
    """Broken at the space nearest to the middle, so that cells keep room on a small screen."""
    spaces = [i for i, letter in enumerate(name) if letter == " "]
    if not spaces:
        return name
    middle = min(spaces, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}<br>{name[middle + 1 :]}"
