"""The models that ship with us do what their cards say."""

from typing import Any

import pytest
import torch

from blocks.model.randomness import generator
from blocks.training.shipped_models import POCKET
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import build_task
from blocks.weights.model_file import trained
from blocks.weights.pocket import FOLDER, pocket, pocket_names

AT_LEAST = {
    "stories-en-zh": 0.95,
    "stories-mtp": 0.9,
    "masked-words": 0.8,
    "induction": 0.9,
    "sort": 0.95,
    "translator": 0.99,
}


def test_what_ships_is_what_is_trained():
    assert set(pocket_names()) == POCKET.keys() == AT_LEAST.keys()


@pytest.mark.parametrize("name", POCKET)
def test_a_file_is_small_and_holds_its_recipe(name: str):
    assert (FOLDER / f"{name}.safetensors").stat().st_size < 3e6
    model, recipe = pocket(name), POCKET[name]
    assert model.config == recipe.spec.config
    assert TrainingSpec.from_plain(model.card.recipe) == recipe.spec
    assert dict(model.card.samples) == recipe.samples


@pytest.mark.parametrize("name", POCKET)
@pytest.mark.thinned
def test_its_score_is_what_the_card_says(name: str):
    file, task = pocket(name), build_task(POCKET[name].spec.task)
    model = trained(file.config, file.tensors)

    def logits_of(*read: Any) -> torch.Tensor:
        with torch.no_grad():
            return model(*read)

    score = task.score(logits_of, generator(1, "another score"))
    assert score > AT_LEAST[name] - 0.05
    assert abs(score - file.card.score) < 0.1
    assert file.card.score > AT_LEAST[name]
