"""One row a stage, at the same height in every picture of the flow, so that they read across."""

from typing import Any

import pandas as pd

from pages.figures.theme import ROOMY, TITLE_AND_LEGEND

ROW, BOTTOM = 66, 48


def stage_rows(stages: pd.DataFrame) -> dict[str, Any]:
    """Height and margin of a picture that has these rows, which may stand closer."""
    height = TITLE_AND_LEGEND + BOTTOM + int(ROW * (len(stages) + 0.2))
    return {"height": height, "margin": (TITLE_AND_LEGEND, BOTTOM), "meta": {ROOMY: True}}


def row_range(stages: pd.DataFrame) -> list[float]:
    """The range of its y axis: row 0 on top."""
    return [len(stages) - 0.3, -0.5]
