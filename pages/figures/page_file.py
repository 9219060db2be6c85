"""A picture inside a file that opens without a network."""

import plotly.io

from pages.figures.theme import TITLE

ROOM = {"t": TITLE, "l": 60, "r": 20, "b": 50}


def as_html(spec: str, *, with_library: bool) -> str:
    """A figure, given as text, still alive; one of a file brings the library for all of them."""
    figure = plotly.io.from_json(spec, skip_invalid=True)
    figure.update_layout(template="plotly_white", dragmode=False, autosize=True)
    if not figure.layout.margin.to_plotly_json():
        figure.update_layout(margin=ROOM)
    options = {"displaylogo": False, "responsive": True}
    return figure.to_html(full_html=False, include_plotlyjs=with_library, config=options)
