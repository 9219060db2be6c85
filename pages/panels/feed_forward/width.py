"""The feed-forward layer at widths from 1 to 8 times d_model."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.inspection import ratios
from blocks.inspection.ratios import Width, WidthFacts
from blocks.model import devices
from blocks.observe.run import Run
from pages.panels.feed_forward import shared, width_picture
from pages.ui import cached
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import must_have, section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps
from pages.ui.tables import show_table


def affordable_ratios(run: Run) -> tuple[int, ...]:
    """The ratios whose layer fits into the memory of this server."""
    return _affordable(run.config, run.dtype, memory_budget(run.device))


@lru_cache(maxsize=64)
def _affordable(config: ModelConfig, dtype: str, budget: int) -> tuple[int, ...]:
    return ratios.affordable_ratios(config, devices.DTYPES[dtype], budget)


def bytes_of_widest(run: Run) -> int:
    """What the layer takes at the largest of them."""
    widest = ratios.at_ratio(run.config, max(affordable_ratios(run)))
    return ratios.bytes_to_build(widest, devices.DTYPES[run.dtype])


@lru_cache(maxsize=128)
def at_ratio(run: Run, layer: int, ratio: int) -> Width:
    """Cost by formula, and a real run of the layer at this ratio with weights from the seed."""
    seen = shared.see(run, layer)
    with cached.turn(run.device):
        return ratios.measure_width(seen, ratio)


@lru_cache(maxsize=64)
def width_facts(run: Run, layer: int, n_ratios: int) -> WidthFacts:
    """The first of the affordable ratios."""
    wanted = affordable_ratios(run)[:n_ratios]
    widths = tuple(at_ratio(run, layer, ratio) for ratio in wanted)
    return ratios.width_facts(shared.see(run, layer), widths)


def says_width(facts: WidthFacts) -> str:
    """What the widest costs and does beside the narrowest."""
    first, last = facts.widths[0], facts.widths[-1]
    text = _(
        "As d_ff goes from {low:.0f} to {high:.0f} times d_model, parameters and FLOPs grow "
        "{cost:.1f}-fold ({few:,} to {many:,} parameters, {ops:,} to {more:,} FLOPs per "
        "token). The output's RMS goes from {small:.3f} to {large:.3f}; this run's own "
        "layer, with {weights}, adds an output of RMS {own:.3f} to a stream of RMS "
        "{stream:.3f}."
    )
    return text.format(
        low=first.ratio,
        high=last.ratio,
        cost=facts.growth,
        few=first.parameters,
        many=last.parameters,
        ops=first.flops,
        more=last.flops,
        small=first.write_rms,
        large=last.write_rms,
        weights=shared.weights(facts.seed if facts.is_random else None),
        own=facts.own_write,
        stream=last.stream_rms,
    )


def says_how(facts: WidthFacts) -> str:
    """What was run, and what is compared with what."""
    text = _(
        "FLOPs are exact: 2 · d_model · d_ff per matrix and token. At each ratio the layer "
        "itself ran on its real input, in evaluation mode, with random weights (seed "
        "{seed}), since trained weights fit only one width."
    )
    return text.format(seed=facts.seed)


def width_table(facts: WidthFacts) -> None:
    """The sweep, exactly."""
    names = ["d_ff / d_model", _("parameters"), _("FLOPs per token"), _("RMS of the output")]
    names.append(_("RMS of the stream"))
    table = pd.DataFrame(list(facts.widths)).set_axis(names, axis=1)
    show_table(table.round(4), key="ratio_table", counts=names[1:3])


@section
def other_widths(run: Run) -> None:
    """What the width costs, by formula, and what the layer then writes, by running it."""
    layer = shared.selection(run).layer
    code = (ratios.count_wide, ratios.flops_per_token, ratios.at_width)
    place = explained(("feed_forward", "parameters"), code, key="ratio")
    wanted = affordable_ratios(run)
    if len(wanted) < len(ratios.RATIOS):
        text = _("Ratios above {most} need more memory than this server allows and are left out.")
        note(text.format(most=max(wanted, default=0)))
    if wanted:
        must_have(bytes_of_widest(run), run.device)
    steps = [lambda ratio=ratio: at_ratio(run, layer, ratio) for ratio in wanted]
    done = in_steps(steps, what=("ratios", run, layer), key="ratios")
    if not done.found:
        return
    shown = run, layer, len(done.found)
    with place:
        say(says_width, *shown, facts=width_facts)
    pictures = (width_picture.cost, width_picture.written)
    for column, draw in zip(st.columns(2), pictures, strict=True):
        with column:
            show(draw, *shown, facts=width_facts, key=f"ratio_{draw.__name__}")
    facts = width_facts(*shown)
    note(says_how(facts))
    width_table(facts)
