"""A recipe is checked at birth; the known ones are as published."""

import dataclasses
import math
from typing import Any

import pytest

from blocks import ConfigError
from blocks.training.recipe import BOUNDS, DEFAULTS, RECIPE_TABLE, RECIPES, OptimizerKind, Recipe

WRONG_VALUES = {
    "n_steps": 0,
    "batch_size": -1,
    "learning_rate": math.nan,
    "muon_learning_rate": math.inf,
    "beta1": 1.0,
    "beta2": "0.9",
    "momentum": -0.1,
    "weight_decay": None,
    "warmup_steps": 1.5,
    "final_share": 2,
    "label_smoothing": 1,
    "n_eval_batches": True,
    "optimizer": "lion",
    "schedule": 3,
    "dtype": "float8",
}
COLD = Recipe(warmup_steps=0)


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_a_wrong_value_is_a_fault_whose_mend_is_legal(name: str):
    with pytest.raises(ConfigError) as error:
        COLD.replace(**{name: WRONG_VALUES[name]})
    (fault,) = error.value.faults
    assert name in str(fault)
    assert "use" in str(fault)
    mended = COLD.replace(**fault.mend)
    assert COLD.nearest(**{name: WRONG_VALUES[name]}) == (mended, error.value.faults)


def test_every_fault_is_listed():
    with pytest.raises(ConfigError) as error:
        Recipe().replace(**WRONG_VALUES)
    assert {name for fault in error.value.faults for name in fault.mend} == WRONG_VALUES.keys()


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_legal_and_beyond_them_is_not(name: str):
    least, most = (type(DEFAULTS[name])(bound) for bound in BOUNDS[name])
    same = {"warmup_steps": 0} if name == "n_steps" else {"n_steps": 1_000_000}
    assert getattr(Recipe().replace(**same | {name: least}), name) == least
    assert getattr(Recipe().replace(**same | {name: most}), name) == most
    for beyond, bound in ((least - 1, least), (most + 1, most)):
        with pytest.raises(ConfigError) as error:
            Recipe().replace(**same | {name: beyond})
        assert error.value.faults[0].mend == {name: bound}


def test_a_warm_up_longer_than_the_run_is_mended_unless_it_is_the_papers():
    recipe, faults = RECIPES["baseline"].nearest(n_steps=50)
    assert (recipe.n_steps, recipe.warmup_steps) == (50, 5)
    assert "warmup_steps (100)" in str(faults[0])
    assert RECIPES["paper"].nearest(n_steps=50)[1] == ()


def test_an_unknown_field_has_no_mend():
    with pytest.raises(ConfigError, match="speed"):
        Recipe().nearest(speed=3)


def test_plain_values_make_the_same_recipe():
    for recipe in RECIPES.values():
        assert Recipe().replace(**recipe.flat()) == recipe
        assert {type(value) for value in recipe.flat().values()} <= {int, float, str}
    assert Recipe().replace(optimizer="muon").optimizer is OptimizerKind.MUON


def test_a_recipe_is_a_key_and_does_not_change():
    assert len({Recipe(), Recipe(), RECIPES["fast"]}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe().n_steps = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "published"),
    [
        (
            "baseline",  # nanoGPT's train_shakespeare_char.py, as its README runs it on a CPU
            {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1}
            | {"warmup_steps": 100, "final_share": 0.1, "batch_size": 12, "n_steps": 2000},
        ),
        (
            "paper",  # Vaswani et al. 2017, section 5.3 and 5.4
            {"beta1": 0.9, "beta2": 0.98, "warmup_steps": 4000, "label_smoothing": 0.1},
        ),
    ],
)
def test_a_known_recipe_is_as_published(name: str, published: dict[str, Any]):
    assert RECIPES[name].flat().items() >= published.items()
    assert all(named.title and named.source for named in RECIPE_TABLE.values())


@pytest.mark.parametrize("n_steps", [1, 10, 67, 200, 2000, 99_999])
@pytest.mark.parametrize("n_eval_batches", [1, 20, 500])
def test_automatic_evaluations_are_even_few_and_cheap(n_steps: int, n_eval_batches: int):
    recipe = COLD.replace(n_steps=n_steps, n_eval_batches=n_eval_batches)
    between = recipe.steps_between_evaluations
    n_evaluations = math.ceil(n_steps / between)
    assert min(5, n_steps) <= n_evaluations <= 21
    assert n_evaluations <= 5 or n_eval_batches / 3 <= 0.11 * between
    assert between - n_steps % between <= between / 2 or n_steps % between == 0
    assert recipe.replace(eval_every=7).steps_between_evaluations == 7
