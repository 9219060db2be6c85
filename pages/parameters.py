"""What a model is made of: every parameter, by formula; what changes it; what is in it."""

import pages.page.entrance  # noqa: F401

from blocks.model.faults import N_
from pages.page import panel
from pages.page.frame import FIRST_COUNTED, counted_run, show_page, subtitle
from pages.panels.parameters import (
    breakdown,
    changes,
    code,
    config_file,
    conversion,
    file_ledger,
    ideas,
    published_models,
    weight_values,
)
from pages.show import words

TITLE = N_("Parameters")


def body() -> None:
    """The model that is counted, and the questions."""
    run = counted_run(panel.fields(PANELS))
    subtitle(words.counted(lambda each: words.parameter_count(each.config), run, words.shape))
    panel.show(PANELS, run)


PANELS = (
    breakdown.PANEL,
    changes.PANEL,
    changes.GROWTH,
    ideas.PANEL,
    published_models.PANEL,
    config_file.PANEL,
    weight_values.PANEL,
    file_ledger.PANEL,
    conversion.PANEL,
    code.PANEL,
)

show_page(TITLE, body, first_shown=FIRST_COUNTED)
