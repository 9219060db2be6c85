"""How wide? The feed-forward layer at widths from 1 to 8 times d_model."""

from functools import lru_cache, partial

import pandas as pd

from blocks import ModelConfig
from blocks.inspection import ratios
from blocks.inspection.ratios import Width, WidthFacts
from blocks.model import devices
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, bars, dots, line
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.server import cached
from pages.server.settings import memory_budget
from pages.show.parts import Beside, Note, Say, Shown, Steps, Table
from pages.words.language import _, fill

FAR = 10  # times: more than that, and the axis is logarithmic


def affordable_ratios(run: Run) -> tuple[int, ...]:
    return _affordable(run.config, run.dtype, memory_budget(run.device))


@lru_cache(maxsize=64)
def _affordable(config: ModelConfig, dtype: str, budget: int) -> tuple[int, ...]:
    return ratios.affordable_ratios(config, devices.DTYPES[dtype], budget)


def bytes_of_widest(run: Run) -> int:
    widest = ratios.at_ratio(run.config, max(affordable_ratios(run), default=1))
    return ratios.bytes_to_build(widest, devices.DTYPES[run.dtype]) if affordable_ratios(run) else 0


@lru_cache(maxsize=128)
def at_ratio(run: Run, layer: int, ratio: int) -> Width:
    """Cost by formula, and a real run of the layer at this ratio with weights from the seed."""
    seen = shared.see(run, layer)
    with cached.turn(run.device):
        return ratios.measure_width(seen, ratio)


@lru_cache(maxsize=64)
def width_facts(run: Run, layer: int, n_ratios: int) -> WidthFacts:
    widths = tuple(at_ratio(run, layer, ratio) for ratio in affordable_ratios(run)[:n_ratios])
    return ratios.width_facts(shared.see(run, layer), widths)


def steps(run: Run, layer: int) -> list[partial[Width]]:
    return [partial(at_ratio, run, layer, ratio) for ratio in affordable_ratios(run)]


def says_left_out(wanted: tuple[int, ...]) -> str | None:
    """Which ratios this server has no room for."""
    text = _("Ratios above {most} need more memory than this server allows and are left out.")
    most = wanted[-1] if wanted else 0
    return text.format(most=most) if len(wanted) < len(ratios.RATIOS) else None


def says_width(facts: WidthFacts) -> str:
    """What the widest costs and does beside the narrowest."""
    text = _(
        "As d_ff goes from {a.ratio:.0f} to {z.ratio:.0f} times d_model, parameters and FLOPs grow "
        "{growth:.1f}-fold ({a.parameters:,} to {z.parameters:,} parameters, {a.flops:,} to "
        "{z.flops:,} FLOPs per token). The output's RMS goes from {a.write_rms:.3f} to "
        "{z.write_rms:.3f}; this run's own layer, with {weights}, adds an output of RMS "
        "{own_write:.3f} to a stream of RMS {z.stream_rms:.3f}."
    )
    weights = shared.weights(facts.seed if facts.is_random else None)
    return fill(text, facts, a=facts.widths[0], z=facts.widths[-1], weights=weights)


def says_how(facts: WidthFacts) -> str:
    """What was run, and what is compared with what."""
    text = _(
        "FLOPs are exact: 2 · d_model · d_ff per matrix and token. At each ratio the layer "
        "itself ran on its real input, in evaluation mode, with random weights (seed "
        "{seed}), since trained weights fit only one width."
    )
    return fill(text, facts)


def width_table(facts: WidthFacts) -> pd.DataFrame:
    """The sweep, exactly."""
    names = ["d_ff / d_model", _("parameters"), _("FLOPs per token"), _("RMS of the output")]
    table = pd.DataFrame(list(facts.widths))
    return table.set_axis([*names, _("RMS of the stream")], axis=1).round(4)


def cost(facts: WidthFacts) -> Chart:
    """Parameters of the layer and FLOPs for a token; both exact."""
    return Chart(
        _("Cost by width"),
        facts.widths,
        _ratio_axis(facts.own_ratio),
        Axis(_("count"), from_0=True),
        [
            bars("parameters", Look(_("parameters"))),
            line("flops", Look(_("FLOPs per token"), palette.LEARNED, "circle")),
        ],
        hover="{y:,}",
        levels=[Level(x=facts.own_ratio)],
    )


def written(facts: WidthFacts) -> Chart:
    """RMS of what the layer writes at each ratio, and of what this run's own layer wrote."""
    own = Width(facts.own_ratio, 0, 0, facts.own_write, 0)  # type: ignore[arg-type]
    values = [each.write_rms for each in (*facts.widths, own)]
    least, most = min(values), max(values)
    is_wide = 0 < FAR * least < most
    return Chart(
        _("RMS of the output"),
        facts.widths,
        _ratio_axis(facts.own_ratio),
        Axis(
            _("RMS of feed_forward_out"),
            (least, most) if is_wide else None,
            is_log=is_wide,
            from_0=True,
        ),
        [
            line("write_rms", Look(_("random weights"), symbol="circle")),
            dots("write_rms", Look(_("this run"), palette.PINNED, "star", size=14), rows=[own]),
        ],
        hover="{y:.4f}",
        levels=[Level(x=facts.own_ratio)],
    )


def _ratio_axis(own: float) -> Axis:
    title = _("d_ff / d_model (this run: {ratio:g})").format(ratio=round(own, 2))
    ends = min(0.4, own - 0.3), max(8.6, own + 0.3)
    return Axis(title, ends, of="ratio", ticks=ratios.RATIOS)


PANEL = Panel(
    "width",
    N_("How wide?"),
    choices=shared.layer_and_expert,
    fields=("d_ff", "d_model", "activation"),
    concepts=("feed_forward", "parameters"),
    code=(ratios.count_wide, ratios.flops_per_token, ratios.at_width),
    at=shared.of_a_layer,
    needs=bytes_of_widest,
    facts=width_facts,
    shows=(
        Note(says_left_out, facts=affordable_ratios),
        Steps(
            steps,
            Say(says_width),
            Beside(Shown(cost, "ratio_cost"), Shown(written, "ratio_written")),
            Note(says_how),
            Table(width_table, "ratio_table", counts=(1, 2)),
            key="ratios",
        ),
    ),
)
