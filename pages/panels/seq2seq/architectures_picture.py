"""Three architectures: drawn, who sees whom in each, and what a task costs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from blocks.inspection.architectures import ArchitectureFacts
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from pages.figures import marks, palette
from pages.figures.theme import HIDDEN_AXIS, TITLE, Picture, Translate, faint, figure
from pages.figures.token_axis import label_room, token_ticks
from pages.figures.weights import weight_map

WIDE, TALL, GAP, BOX = 10.0, 9.5, 0.35, 1.05
DRAWN, LABELS = 300, 16


NAMES = {
    Architecture.ENCODER: N_("Encoder-only"),
    Architecture.GPT: N_("Decoder-only"),
    Architecture.ENCODER_DECODER: N_("Encoder–decoder"),
}


class Stack(NamedTuple):
    """A stack of equal layers: what goes in, its parts from below (label, role), what comes out."""

    reads: str
    parts: Sequence[tuple[str, str]]
    n_layers: int
    writes: str


def stacks(facts: ArchitectureFacts, _: Translate) -> list[Stack]:
    """What is drawn."""
    both = (_("bidirectional self-attention"), "attention")
    masked = (_("masked self-attention"), "attention")
    cross = (_("cross-attention"), "cross_attention")
    wide = [] if facts.attention_only else [(_("feed-forward"), "feed_forward")]
    next_token = _("logits of the next token")
    match facts.kind:
        case Architecture.ENCODER:
            all_tokens = _("logits at every token")
            return [Stack(_("source"), (both, *wide), facts.n_layers, all_tokens)]
        case Architecture.GPT:
            text = _("source, then target")
            return [Stack(text, (masked, *wide), facts.n_layers, next_token)]
        case _:
            parts = (masked, cross, *wide)
            return [
                Stack(_("source"), (both, *wide), facts.n_layers, ""),
                Stack(_("target so far"), parts, facts.n_decoder_layers, next_token),
            ]


def drawing(facts: ArchitectureFacts, *, _: Translate) -> Picture:
    """One stack or two; of two the first one's output is read by cross-attention of the second."""
    found, width = stacks(facts, _), 4.2
    centers = [WIDE / 2] if len(found) == 1 else [2.4, 7.6]
    shapes, notes = [], []
    for center, stack in zip(centers, found, strict=True):
        drawn = _stack(stack, center, width, _)
        shapes += drawn[0]
        notes += drawn[1]
    if len(found) == 2:
        shapes += _handed_over(found, centers, width)
    return figure(
        [marks.dots([0], [0], marker={"opacity": 0})],
        title=_(NAMES[facts.kind]),
        height=TITLE + DRAWN,
        margin=(TITLE, 4),
        xaxis={**HIDDEN_AXIS, "range": [0, WIDE]},
        yaxis={**HIDDEN_AXIS, "range": [0, TALL]},
        hovermode=False,
        shapes=shapes,
        annotations=notes,
    )


FIRST_LAYER, HANDED = 3.1, 0.6


def _part_bottom(i: int) -> float:
    return FIRST_LAYER + GAP + i * (BOX + GAP)


def _top(stack: Stack) -> float:
    return _part_bottom(len(stack.parts))


def _stack(
    stack: Stack, center: float, width: float, _: Translate
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    left, right = center - width / 2, center + width / 2
    top = _top(stack)
    boxes = [_box(left, 1.3, right, 2.3, palette.EMBEDDING)]
    notes = [_text(center, 0.55, stack.reads), _text(center, 1.8, _("embedding"))]
    line = {"color": palette.BEFORE, "width": 1.2, "dash": "dot"}
    frame = {"x0": left - 0.25, "x1": right + 0.25, "y0": FIRST_LAYER, "y1": top}
    boxes.append({"type": "rect", "line": line, **frame})
    for i, (label, role) in enumerate(stack.parts):
        bottom = _part_bottom(i)
        boxes.append(_box(left, bottom, right, bottom + BOX, palette.PART_COLORS[role]))
        notes.append(_text(center, bottom + BOX / 2, label))
    notes.append(_text(right + 0.15, top + 0.32, f"× {stack.n_layers}", xanchor="right"))
    notes.append(_text(center, top + 1.35, stack.writes))
    joints = [(0.85, 1.3), (2.3, _part_bottom(0))]
    joints += [(_part_bottom(i) + BOX, _part_bottom(i + 1)) for i in range(len(stack.parts) - 1)]
    joints.append((top - GAP, top + (0.95 if stack.writes else HANDED)))
    return [*boxes, *(_line(center, y0, center, y1) for y0, y1 in joints)], notes


def _handed_over(
    stacks: Sequence[Stack], centers: Sequence[float], width: float
) -> list[dict[str, Any]]:
    """From above the first stack to the part of the second that reads it."""
    roles = [role for _label, role in stacks[1].parts]
    y = _part_bottom(roles.index("cross_attention")) + BOX / 2
    start, end = centers[0], centers[1] - width / 2
    middle, top = (centers[0] + width / 2 + end) / 2, _top(stacks[0]) + HANDED
    path = f"M {start},{top} H {middle} V {y} H {end}"
    line = {"color": palette.CROSS_ATTENTION, "width": 3}
    return [{"type": "path", "path": path, "line": line}]


def _box(x0: float, y0: float, x1: float, y1: float, color: str) -> dict[str, Any]:
    place = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    line = {"color": color, "width": 1.5}
    return {"type": "rect", **place, "fillcolor": faint(color, 0.22), "line": line}


def _line(x0: float, y0: float, x1: float, y1: float) -> dict[str, Any]:
    place = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    return {"type": "line", **place, "line": {"color": palette.RESIDUAL, "width": 2}}


def _text(x: float, y: float, text: str, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "font": {"size": 10}, **more}


def sees(facts: ArchitectureFacts, *, _: Translate) -> Picture:
    """Who may see whom: a row each that reads, a column each that is read."""
    n, room = len(facts.codes), label_room(facts.labels)
    ends = [-0.5, n - 0.5]
    line = {"color": palette.RESIDUAL, "width": 1.5}
    split = facts.n_source - 0.5
    is_split = n > facts.n_source
    shapes = [
        {"type": "line", "x0": split, "x1": split, "y0": -0.5, "y1": n - 0.5, "line": line},
        {"type": "line", "x0": -0.5, "x1": n - 0.5, "y0": split, "y1": split, "line": line},
    ]
    ticks = {**token_ticks(facts.labels, LABELS), "tickfont": {"size": 10}}
    gap = 1 if n <= 2 * LABELS else 0
    return figure(
        [weight_map(facts.codes, _, showscale=False, xgap=gap, ygap=gap)],
        title=_("Who attends to whom"),
        height=TITLE + room + 280,
        margin=(TITLE + room, 24),
        xaxis={**ticks, "side": "top", "tickangle": -55, "range": ends, "automargin": False},
        yaxis={**ticks, "range": ends[::-1]},
        shapes=shapes if is_split else [],
        annotations=[
            {
                "x": 0.5,
                "xref": "paper",
                "y": 0,
                "yref": "paper",
                "yanchor": "top",
                "text": _("rows: queries; columns: keys"),
            }
        ],
    )
