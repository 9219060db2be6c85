"""Scaling lab: laws of losses, fitted to models trained here, and held against larger ones."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.page import panel
from pages.page.frame import FIRST_COUNTED, counted_run, show_page
from pages.panels.scaling import entropy, own_runs, predict, trades, transfer, valleys
from pages.show.everything import is_all
from pages.stage import link, progress

TITLE = N_("Scaling lab: what does more compute buy?")

PANELS = (valleys.PANEL, predict.PANEL, entropy.PANEL, trades.PANEL, transfer.PANEL, own_runs.PANEL)


def body() -> None:
    """The questions; the model of the page counts where it is to be trained."""
    fields, state = panel.fields(PANELS), link.now()
    is_trained = state.check_coordinates or state.search_rates or bool(progress.now())
    is_read = (bool(fields) and is_trained) or is_all()
    panel.show(PANELS, counted_run(fields, is_read=is_read))


show_page(TITLE, body, first_shown=FIRST_COUNTED)
