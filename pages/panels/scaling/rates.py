"""Loss against the learning rate, for each width under both schemes."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks.model.faults import N_
from blocks.scaling.transfer import RATES, Scheme, Tried, best_rates
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots, line
from pages.panels.scaling.charts import ROOM
from pages.show.parts import Beside, OffScreen, Say, Shown, Table
from pages.words.language import _, sentences

NAMES = {Scheme.STANDARD: N_("standard"), Scheme.MUP: N_("muP")}
COLORS = {Scheme.STANDARD: palette.FEED_FORWARD, Scheme.MUP: palette.ATTENTION}
SHOWN = 1.0  # nats above the least loss


class RateFacts(NamedTuple):
    """The loss of each width at each rate that was tried."""

    found: tuple[Tried, ...]

    def best(self, scheme: Scheme) -> list[float]:
        return [*best_rates(self.found, scheme).values()]

    def moves(self, scheme: Scheme) -> float:
        return max(self.best(scheme)) / min(self.best(scheme))

    @property
    def is_at_an_end(self) -> bool:
        """Whether a best rate is the least or the largest that was tried."""
        best = {rate for scheme in Scheme for rate in self.best(scheme)}
        return not best.isdisjoint({RATES[0], RATES[-1]})

    def least(self, scheme: Scheme) -> float:
        """The loss of the widest model at its own best rate."""
        return min(self._of_widest(scheme).values())

    def price(self, scheme: Scheme) -> float:
        """Nats that the widest model loses at the best rate of the narrowest one."""
        return self._of_widest(scheme)[self.best(scheme)[0]] - self.least(scheme)

    def _of_widest(self, scheme: Scheme) -> dict[float, float]:
        widest = max(each.width for each in self.found)
        return {e.rate: e.loss for e in self.found if (e.scheme, e.width) == (scheme, widest)}

    @property
    def gained(self) -> float:
        """Nats by which muP at its best rate is ahead of the standard scheme, at the widest."""
        return self.least(Scheme.STANDARD) - self.least(Scheme.MUP)


rate_facts = lru_cache(maxsize=16)(RateFacts)


def says_rates(facts: RateFacts) -> str:
    """The best rate of each width under both schemes."""
    text = _(
        "From the narrowest to the widest model, the best learning rates are {apart} with the "
        "standard scheme and {mup_apart} under muP. The best rate of the narrowest model costs "
        "the widest one {price:.3f} nats with the standard scheme and {mup_price:.3f} under muP."
    )
    said = text.format(
        apart=_says_apart(facts.moves(Scheme.STANDARD)),
        mup_apart=_says_apart(facts.moves(Scheme.MUP)),
        price=facts.price(Scheme.STANDARD),
        mup_price=facts.price(Scheme.MUP),
    )
    end = _(
        "Where the best rate is the lowest or highest of those tried, a better one may lie "
        "beyond them."
    )
    spared = _("muP spares the search for a rate at large width, but lowers no loss here.")
    least = "" if facts.gained > 0 else spared
    return sentences(said, least, end if facts.is_at_an_end else "")


def rate_table(facts: RateFacts) -> pd.DataFrame:
    """A row a scheme: the best rates, and what the widest model comes to with two of them."""
    return pd.DataFrame(
        {
            _("scheme"): _(NAMES[each]),
            _("best rates, from the narrowest to the widest"): " · ".join(
                f"{rate:.2g}" for rate in facts.best(each)
            ),
            _("nats above the entropy, widest, at its own best rate"): f"{facts.least(each):.3f}",
            _("at the best rate of the narrowest"): f"{facts.least(each) + facts.price(each):.3f}",
        }
        for each in Scheme
    )


def _says_apart(times: float) -> str:
    return (
        _("all the same") if times == 1 else _("a factor of {times:.3g} apart").format(times=times)
    )


def rate_chart(facts: RateFacts, scheme: Scheme) -> Chart:
    """Loss against the rate, a curve a width; a star at the best of each."""
    rows = pd.DataFrame(facts.found)
    rows = rows[np.isfinite(rows["loss"])]
    rows = rows[rows["loss"] < rows["loss"].min() + SHOWN]
    of = rows[rows["scheme"] == scheme]
    curves = [found for _width, found in of.groupby("width")]
    colors = (palette.CROSS_ATTENTION, palette.ATTENTION, palette.FEED_FORWARD, palette.PINNED)
    ends = (float(rows["rate"].min()), float(rows["rate"].max()))
    return Chart(
        _("Loss and learning rate: {scheme}").format(scheme=_(NAMES[scheme])),
        of,
        Axis(_("learning rate (logarithmic)"), ends, of="rate", is_log=True, said="{:.2g}".format),
        Axis(_("nats above the entropy"), (0, float(rows["loss"].max()) * 1.05)),
        [
            *(
                line("loss", Look(f"d_model {each['width'].iloc[0]}", color, "circle"), rows=each)
                for color, each in zip(colors, curves, strict=False)
            ),
            *(
                dots(
                    "loss",
                    Look(_("best learning rate"), color, "star", size=15),
                    rows=each.nsmallest(1, "loss"),
                    in_legend=color == colors[0],
                )
                for color, each in zip(colors, curves, strict=False)
            ),
        ],
        hover="{rate:.2g}: {y:.4f}",
        legend=Legend.FOOT,
        tall=320,
    )


def standard_chart(facts: RateFacts) -> Chart:
    return rate_chart(facts, Scheme.STANDARD)


def mup_chart(facts: RateFacts) -> Chart:
    return rate_chart(facts, Scheme.MUP)


RATE_ITEMS = (
    Say(says_rates),
    Beside(
        Shown(standard_chart, "transfer_rates_standard", room=ROOM),
        Shown(mup_chart, "transfer_rates_mup", room=ROOM),
    ),
    OffScreen(Table(rate_table, "transfer_rate_table")),
)
