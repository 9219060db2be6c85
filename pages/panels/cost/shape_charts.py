"""Loss at equal cost, and what sizes and tokens people chose, as charts."""

from typing import Any

import pandas as pd

from blocks.cost.loss_front import FrontFacts, PeopleFacts
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots, line
from pages.panels.cost.training import tokens
from pages.words.language import _

SHOWN = 0.4  # nats above the least loss


def front(facts: FrontFacts) -> Chart:
    """Loss of each size at equal cost, without and with use."""
    rows, most = facts.rows, facts.start["loss"] + SHOWN
    seen = rows[rows["loss"] < most].assign(
        loss_served=lambda found: found["loss_served"].where(found["loss_served"] < most)
    )
    best = pd.DataFrame([facts.best])
    start, here = pd.DataFrame([facts.start]), pd.DataFrame([facts.here])
    return Chart(
        _("Loss at equal cost, by {law}").format(law=facts.law.title),
        seen,
        _size_axis(seen["n"].min(), seen["n"].max(), _("parameters N (logarithmic)")),
        Axis(_("expected loss, nats per token")),
        [
            line("loss", Look(_("training only"), palette.RESIDUAL)),
            line("loss_served", Look(_("training and use"), palette.ATTENTION, dash="dash")),
            dots(
                "loss",
                Look(_("best for training only"), palette.RESIDUAL, "circle", size=11),
                rows=start,
            ),
            dots("loss", Look(_("the GPT above"), palette.PINNED, "diamond", size=11), rows=here),
            dots(
                "loss_served",
                Look(_("best for training and use"), palette.PINNED, "star", size=13),
                rows=best,
            ),
        ],
        hover="N = {n:,.0f}: {y:.3f}",
        legend=Legend.FOOT,
        tall=300,
    )


def _size_axis(least: float, most: float, title: str, **more: Any) -> Axis:
    return Axis(title, (least, most), of="n", is_log=True, said=lambda n: tokens(round(n)), **more)


def people(facts: PeopleFacts) -> Chart:
    """Sizes and tokens that people chose, and where 20 tokens a parameter lie."""
    found, here = facts.rows, facts.found
    own = pd.DataFrame(
        {"title": [_("this budget")], "n": [here.n_parameters], "tokens": [here.n_tokens]}
    )
    ends = min(own["n"][0], found["n"].min()) / 2, max(own["n"][0], found["n"].max()) * 2
    rule = pd.DataFrame({"title": "", "n": ends}).assign(tokens=lambda rows: 20 * rows["n"])
    equal = rule.assign(tokens=here.cost.exact / 6 / rule["n"])
    all_tokens = pd.concat([found["tokens"], own["tokens"], rule["tokens"]])
    return Chart(
        _("Sizes chosen in practice"),
        found,
        _size_axis(*ends, _("active parameters N (logarithmic)")),
        Axis(
            _("training tokens D (logarithmic)"),
            (all_tokens.min() / 2, all_tokens.max() * 2),
            is_log=True,
            said=lambda count: tokens(round(count)),
        ),
        [
            line(
                "tokens", Look(_("20 tokens per parameter"), palette.BEFORE, dash="dash"), rows=rule
            ),
            line(
                "tokens", Look(_("same 6·N·D as here"), palette.ATTENTION, dash="dot"), rows=equal
            ),
            dots(
                "tokens",
                Look(_("published models"), palette.FEED_FORWARD, "circle"),
                text="{named}",
            ),
            dots("tokens", Look(_("this budget"), palette.PINNED, "star", size=14), rows=own),
        ],
        hover="{title}: N = {n:,.0f}, D = {tokens:,.0f}",
        legend=Legend.FOOT,
        tall=300,
    )
