"""What the README says to open is there."""

import re

import pytest
from opened import ROOT
from test_sidebar import panels_of

LINKS = re.findall(r"`/(\w+)\?panel=([\w-]+)`", (ROOT / "README.md").read_text(encoding="utf-8"))


def test_links_are_found():
    assert len(LINKS) >= 10


@pytest.mark.parametrize(("page", "panel"), LINKS)
def test_a_link_of_the_readme_opens_a_panel(page: str, panel: str):
    assert panel in {each.name for each in panels_of(f"pages/{page}.py")}
