"""Who may see whom."""

from typing import Any

import numpy as np

from pages.figures.theme import EDGE, Picture, Translate, figure
from pages.figures.weights import weight_map


def mask_picture(codes: np.ndarray, *, _: Translate) -> Picture:
    """Who may see whom, small: allowed blue, forbidden grey; (query, key)."""
    n = len(codes)
    return figure(
        [weight_map(codes, _, showscale=False)],
        height=150,
        margin=(20, EDGE),
        xaxis=_bare_axis(_("key →"), n, side="top"),
        yaxis=_bare_axis(_("← query"), n, range=[n - 0.5, -0.5], scaleanchor="x"),
    )


def _bare_axis(title: str, cells: int, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 10}, "standoff": 0},
        "range": [-0.5, cells - 0.5],
        "showticklabels": False,
        "ticks": "",
        "constrain": "domain",
        "showgrid": False,
        "zeroline": False,
        **more,
    }
