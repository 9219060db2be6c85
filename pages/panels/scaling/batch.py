"""Batch size: updates and tokens to one loss, and the critical batch between them."""

from functools import lru_cache
from math import isfinite

import numpy as np
import pandas as pd

from blocks.model.faults import N_
from blocks.scaling.critical_batch import TARGET, Fit, Reached, fit_of
from blocks.scaling.plan import SEQ_LEN
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, dots, line
from pages.panels.scaling.charts import tried_axis
from pages.panels.scaling.shared import size
from pages.show.parts import Beside, Details, Say, Shown, Table
from pages.words.language import _, sentences

Found = tuple[Reached, ...]


@lru_cache(maxsize=16)
def fit(found: Found) -> Fit:
    return fit_of(found)


def noise_scale(found: Found) -> float:
    scales = [each.noise_scale for each in found if isfinite(each.updates)]
    return float(np.exp(np.mean(np.log(scales))))


def ratio(found: Found) -> float:
    return noise_scale(found) / fit(found).critical


def says_batch(found: Found) -> str:
    """The critical batch, by the trainings and by the gradients."""
    text = _(
        "Reaching a loss {target} nats above the entropy takes {many:.0f} updates with "
        "batches of {small} texts and {few:.0f} with batches of {large}. At the critical "
        "batch of {critical:.0f} texts, updates and tokens are both twice their minimum. "
        "Below it, a larger batch mainly saves updates; above it, it mainly costs tokens."
    )
    reached = [each for each in found if isfinite(each.updates)]
    said = text.format(
        target=TARGET,
        many=reached[0].updates,
        small=reached[0].batch_size,
        few=reached[-1].updates,
        large=reached[-1].batch_size,
        critical=fit(found).critical,
    )
    text = _(
        "The noise scale of the gradients alone averages {simple:.0f} texts over "
        "all runs, which is {ratio:.1f} times the critical batch."
    )
    return sentences(said, text.format(simple=noise_scale(found), ratio=ratio(found)))


def updates_chart(found: Found) -> Chart:
    """Updates to the loss, against the batch size."""
    title, fitted = _("Updates needed for the same loss"), _("fit: Sₘᵢₙ + Eₘᵢₙ / B")
    return _chart(found, title, _("updates (logarithmic)"), fitted, 0)


def tokens_chart(found: Found) -> Chart:
    """Tokens to the loss, against the batch size."""
    title, fitted = _("Tokens needed for the same loss"), _("fit: Sₘᵢₙ · B + Eₘᵢₙ, in tokens")
    return _chart(found, title, _("tokens (logarithmic)"), fitted, SEQ_LEN)


def _chart(found: Found, title: str, axis: str, fitted: str, tokens: int) -> Chart:
    """`tokens`: of a text, where updates are told in tokens."""
    rows = pd.DataFrame([each for each in found if isfinite(each.updates)])
    sizes = np.geomspace(rows["batch_size"].min(), rows["batch_size"].max(), 40)
    factor, of_curve = (tokens * rows["batch_size"], tokens * sizes) if tokens else (1, 1)
    rows = rows.assign(y=rows["updates"] * factor)
    curve = pd.DataFrame(
        {"batch_size": sizes, "y": [fit(found).updates(each) for each in sizes] * of_curve}
    )
    ends = (min(rows["y"].min(), curve["y"].min()), max(rows["y"].max(), curve["y"].max()))
    return Chart(
        title,
        rows,
        tried_axis(_("batch size, in texts (logarithmic)"), "batch_size", rows["batch_size"]),
        Axis(axis, ends, is_log=True, said=size),
        [
            line("y", Look(fitted, palette.ATTENTION), rows=curve),
            dots("y", Look(_("measured"), palette.PINNED, size=9)),
        ],
        hover="{batch_size:.0f}: {y:,.0f}",
        legend=Legend.FOOT,
        tall=330,
        levels=_levels(found),
    )


def _levels(found: Found) -> list[Level]:
    """The critical batch and the noise scale, the name of the smaller one to its left."""
    is_left = ratio(found) < 1
    critical, noise = fit(found).critical, noise_scale(found)
    return [
        Level(
            x=critical, name=_("critical batch"), color=palette.ATTENTION, is_named_left=not is_left
        ),
        Level(
            x=noise, name=_("noise scale"), color=palette.NORM, dash="dot", is_named_left=is_left
        ),
    ]


def batch_rows(found: Found) -> pd.DataFrame:
    """Every batch size."""
    return pd.DataFrame(
        {
            _("batch size, in texts"): [f"{each.batch_size}" for each in found],
            _("best learning rate"): [f"{each.rate:.2g}" for each in found],
            _("updates"): [f"{each.updates:.0f}" for each in found],
            _("tokens"): [size(each.updates * each.batch_size * SEQ_LEN) for each in found],
            _("noise scale (texts)"): [f"{each.noise_scale:.0f}" for each in found],
        }
    )


BATCH = (
    Say(says_batch),
    Beside(Shown(updates_chart, "batch_updates"), Shown(tokens_chart, "batch_tokens")),
    Details(N_("Every batch size"), Table(batch_rows, "batch_rows")),
)
