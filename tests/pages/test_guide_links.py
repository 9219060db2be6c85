"""What the guides say to open is there."""

import re

import pytest
from opened import ROOT
from test_sidebar import panels_of

GUIDES = [file.read_text("utf-8") for file in sorted((ROOT / "assets" / "docs").glob("*.md"))]
LINKS = sorted({*re.findall(r"`/(\w+)\?(?:[^`]*&)?panel=([\w-]+)", "".join(GUIDES))})


def test_links_are_found():
    assert len(LINKS) >= 30


@pytest.mark.parametrize(("page", "panel"), LINKS)
def test_a_link_of_a_guide_opens_a_panel(page: str, panel: str):
    assert panel in {each.name for each in panels_of(f"pages/{page}.py")}
