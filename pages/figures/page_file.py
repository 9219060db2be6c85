"""A picture inside a file that opens without a network."""

import base64
import hashlib
import json
from string import Template

from plotly import io

from blocks.model.shipped import shipped
from pages.figures.theme import TITLE, template_named

ALIVE = shipped("alive.html")
ROOM = {"t": TITLE, "l": 60, "r": 20, "b": 50}


def component_as_html(markup: str, style: str, script: str, data: bytes) -> str:
    """A component that draws what it is sent, still alive; `script` exports `mount`."""
    inside = json.dumps(f"<style>{style}</style>{markup}").replace("</", r"<\/")
    alive = Template(ALIVE.read_text(encoding="utf-8"))
    return alive.substitute(
        place=f"A{hashlib.sha256(data).hexdigest()[:12]}",
        script=script,
        markup=inside,
        data=base64.b64encode(data).decode(),
    )


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
