"""What files call a thing is told in the reader's language."""

import re

import pytest

from blocks.training.shipped_models import POCKET
from pages.server import starts
from pages.words import language, terms


@pytest.mark.parametrize("name", POCKET)
def test_task_and_score_of_a_model_that_ships_are_told_in_chinese(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(language, "current_language", lambda: "zh")
    card = starts.model(name).card
    for value in (card.task, card.score_name):
        assert re.search(r"[\u4e00-\u9fff]", terms.option(value)), value
