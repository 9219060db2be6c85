"""The series that ship: trained as they are written down, each step keeps what came before."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from blocks.inspection.settings import differing
from blocks.inspection.staircase import staircase_facts
from blocks.inspection.trained_lengths import lengths_facts
from blocks.model.kinds import PositionKind
from blocks.model.models import build
from blocks.training import lengths, staircase
from blocks.training.series import Series


def test_every_run_that_is_shown_ships_and_the_steps_go_down_as_the_seeds_differ():
    facts = staircase_facts()
    assert [stair.name for stair in facts.stairs] == [*staircase.STEPS]
    assert all(len(stair.losses) == len(facts.seeds) for stair in facts.stairs)
    assert sum(facts.gains.values()) == pytest.approx(facts.stairs[0].loss - facts.stairs[-1].loss)
    assert all(stair.text.startswith("of the implement") for stair in facts.stairs)
    assert facts.useless == ("feed_forward",)
    assert all(differing(a.config, b.config) for a, b in pairwise(facts.stairs))
    found = lengths_facts()
    assert {each.kind for each in found.kinds} == {*PositionKind}
    assert len(found.middles) * found.band == found.longest == found.model.max_seq_len
    assert all(each.rise >= 0 for each in found.kinds[-2:])


def test_a_bigram_reads_the_last_token_alone():
    config = staircase.stairs()["bigram"]
    logits = build(config)(torch.tensor([[1, 2, 3], [5, 4, 3]]))
    assert torch.equal(logits[0, -1], logits[1, -1])


def short(series: Series, *names: str) -> Series:
    recipe = series.recipe.replace(
        n_steps=2, warmup_steps=1, eval_every=2, n_eval_batches=1, batch_size=2
    )
    configs = {name: series.configs()[name] for name in names}
    return replace(series, configs=lambda: configs, recipe=recipe, seeds=(0,))


@pytest.mark.parametrize(
    ("series", "name", "n"),
    [(staircase.SERIES, "bigram", 1), (lengths.SERIES, "learned", 16)],
    ids=["staircase", "lengths"],
)
def test_a_run_that_is_written_is_read_again(series, name, n, tmp_path, monkeypatch):
    monkeypatch.setattr(lengths, "N_ROWS", 2)
    own = replace(short(series, name), file=tmp_path / "runs.json")
    own.write()
    ((losses,),) = own.learned().values()
    assert len(losses) == n and all(0 < loss < 30 for loss in losses)
    other = replace(own, recipe=own.recipe.replace(learning_rate=1e-3))
    assert other.learned() == {name: ()}
    assert len(own.texts()[name]) > 16 and other.texts() == {name: ""}
