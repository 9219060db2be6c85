"""What a page that is drawn anew does not make anew, where nothing that it depends on changed."""

import pytest
from opened import control, opened

from blocks import ModelConfig
from pages.page import frame


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ModelConfig]:
    """The configurations that are made and checked."""
    found: list[ModelConfig] = []
    make = ModelConfig.__init__

    def noted(config: ModelConfig, **values: object) -> None:
        make(config, **values)
        found.append(config)

    monkeypatch.setattr(ModelConfig, "__init__", noted)
    return found


@pytest.mark.parametrize("page", ["block", "gpt"])
def test_a_page_makes_each_configuration_once(page: str, made: list[ModelConfig]):
    at = opened(f"pages/{page}.py", panel="parameters", norm_placement="post")
    made.clear()
    at.run()
    assert not made
    control(at, "n_heads").set_value(2).run()
    assert 0 < len(made) <= 16  # heads and placements are offered if they are legal


def test_the_pages_that_the_menu_leads_to_are_found_once():
    at = opened("pages/block.py", panel="parameters")
    before = frame._page.cache_info()
    at.run()
    after = frame._page.cache_info()
    assert after.misses == before.misses
    assert after.hits == before.hits + sum(map(len, frame.MENU))
