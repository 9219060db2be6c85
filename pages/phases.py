"""Phase changes: what is learned late, on one clock, branched and taken out again."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.page import panel
from pages.page.frame import show_page
from pages.panels.phases import branch, circle, dictionary, grokking, induction, superposition
from pages.show.inputs import current_run
from pages.stage import progress

TITLE = N_("Phase changes: what is learned late")

PANELS = (
    grokking.PANEL,
    circle.PANEL,
    induction.PANEL,
    superposition.PANEL,
    dictionary.PANEL,
    branch.PANEL,
)


def body() -> None:
    """Questions about trainings of their own; a lesson measures its answers at a run."""
    panel.show(PANELS, current_run(None) if progress.now() else None)


show_page(TITLE, body)
