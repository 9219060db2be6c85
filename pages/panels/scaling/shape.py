"""Depth or width: the loss of shapes of equal cost."""

import pandas as pd

from blocks.scaling.depth import FLOPS, SIZE, Shaped
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, line
from pages.panels.scaling.charts import tried_axis
from pages.panels.scaling.shared import in_flops, size
from pages.show.parts import Note, Say, Shown
from pages.words.language import _

Found = tuple[Shaped, ...]


def times(found: Found) -> float:
    losses = [each.excess for each in found]
    return max(losses) / min(losses)


def says_shape(found: Found) -> str:
    """The best and the worst shape."""
    best, worst = (choose(found, key=lambda each: each.excess) for choose in (min, max))
    text = _(
        "All shapes cost {flops} FLOPs and have about {n} parameters. The best is {layers} × "
        "d_model {d_model}, {excess:.3f} nats above the entropy; the worst is {worst_layers} "
        "× d_model {worst_width}, {worst:.3f} above it, which is {times:.1f} times as much."
    )
    return text.format(
        flops=in_flops(FLOPS),
        n=size(SIZE),
        layers=best.n_layers,
        d_model=best.d_model,
        excess=best.excess,
        worst_layers=worst.n_layers,
        worst_width=worst.d_model,
        worst=worst.excess,
        times=times(found),
    )


def says_why(_found: Found) -> str:
    """What this text asks for."""
    return _(
        "Each token of this text depends only on the two before it, so one or two layers can "
        "learn all there is to know. Text that requires more steps of computation calls for "
        "more layers. Each shape uses the best of three learning rates."
    )


def shape_chart(found: Found) -> Chart:
    """The loss against the number of layers."""
    rows = pd.DataFrame(found).assign(width=[f"d_model {each.d_model}" for each in found])
    return Chart(
        _("Equal parameters and FLOPs: from wide to deep"),
        rows,
        tried_axis(_("n_layers (logarithmic)"), "n_layers", rows["n_layers"]),
        Axis(_("nats above the entropy"), from_0=True),
        [
            line(
                "excess",
                Look("", palette.PINNED, "circle", size=10),
                text="{width}",
                in_legend=False,
            )
        ],
        hover="{n_layers:.0f} × d_model {d_model:.0f}: {y:.4f}",
        legend=Legend.NONE,
        tall=340,
    )


SHAPE = (Say(says_shape), Shown(shape_chart, "shape_loss"), Note(says_why))
