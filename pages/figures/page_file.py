"""A picture inside a file that opens without a network."""

import json

from plotly import io

from pages.figures.theme import TITLE, template_named

ROOM = {"t": TITLE, "l": 60, "r": 20, "b": 50}


def as_html(spec: str, *, with_library: bool) -> str:
    """A figure, given as text, still alive; one of a file brings the library for all of them."""
    parts = json.loads(spec)
    on_paper = {"template": template_named("plotly_white"), "dragmode": False, "autosize": True}
    layout = {"margin": ROOM, **parts["layout"], **on_paper}
    options = {"displaylogo": False, "responsive": True}
    return str(
        io.to_html(
            {**parts, "layout": layout},
            config=options,
            include_plotlyjs=with_library,
            full_html=False,
            validate=False,
        )
    )
