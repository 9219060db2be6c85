"""Test chart: how often each instrument is right on models whose answer is known."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.page import panel
from pages.page.frame import show_page
from pages.panels.instruments import chart, circuit, known, scores
from pages.show.inputs import current_run
from pages.stage import progress

TITLE = N_("Test chart: can I trust this picture?")

PANELS = (chart.PANEL, scores.PANEL, known.PANEL, circuit.PANEL)


def body() -> None:
    """Questions about all models of known truth; a lesson measures its answers at a run."""
    panel.show(PANELS, current_run(None) if progress.now() else None)


show_page(TITLE, body)
