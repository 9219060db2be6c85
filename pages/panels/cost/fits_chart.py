"""How memory grows with the length of the text, and which device it outgrows where."""

from collections.abc import Sequence

from blocks.cost.device_fit import FitFacts
from blocks.cost.units import bytes_text
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, dots, line
from pages.panels.cost import shared
from pages.panels.cost.memory import NEEDS
from pages.panels.cost.memory_picture import COLORS
from pages.words.language import _

APART = 2.5  # sizes whose names do not touch, on a projector too
DASHES = {"activations": "dash", "cache": "dot"}


def draw_growth(facts: FitFacts) -> Chart:
    """A line for the total and for each part against n; devices across."""
    table, n = facts.growth, facts.shape.n
    fixed = _("weights, gradients, states") if facts.is_training else _("weights")
    names = {"weights": fixed, "activations": _(NEEDS["activations"])}
    names |= {"cache": _(NEEDS["cache"])} if facts.has_cache else {}
    lines = [
        line(part, Look(name, COLORS[part], width=2, dash=DASHES.get(part, "")))
        for part, name in names.items()
    ]
    own = table[table["n"] == n]
    here = Look(_("your n = {n:,}").format(n=n), palette.PINNED, "circle-open", size=12)
    title = _("Memory against sequence length")
    if facts.n_devices > 1:
        title = _("Memory per device against sequence length")
    values = table[[*names, "total"]].to_numpy()
    return Chart(
        title,
        table,
        Axis(
            _("n · tokens (logarithmic)"),
            (table["n"].min(), table["n"].max()),
            of="n",
            is_log=True,
            ticks=(64, 1024, 16_384, 262_144),
            said="{:,}".format,
        ),
        Axis(
            _("bytes (logarithmic)"),
            (values[values > 0].min(), values.max()),
            is_log=True,
            said=bytes_text,
        ),
        [
            *lines,
            line("total", Look(_("total"), palette.PINNED, width=3)),
            dots("total", here, rows=own),
        ],
        hover="n = {n:,}: {y:.4~s}B",
        tall=320,
        levels=[
            Level(y=size, name=shared.device(name, facts.here), dash="dot")
            for name, size in apart(facts.lines)
        ],
    )


def apart(lines: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Devices whose names do not stand on each other, from the smallest on."""
    found: list[tuple[str, int]] = []
    for name, size in sorted(lines, key=lambda line: line[1]):
        if not found or size >= APART * found[-1][1]:
            found.append((name, size))
    return found
