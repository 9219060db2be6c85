"""A GPT that may read the token it is asked for, beside one that may not."""

import json
import math

import pytest
import torch
from training_toy import toy_spec

from blocks import ConfigError, build
from blocks.corpora.stories import Language
from blocks.model.randomness import generator
from blocks.training import recorded as files
from blocks.training import shipped_runs
from blocks.training.loop import Training
from blocks.training.loss import cross_entropy
from blocks.training.peeking import (
    LOOK_EVERY,
    N_UPDATES,
    PROMPTS,
    Learned,
    Look,
    compared,
    learned,
    learner,
    peeking_spec,
    writing_loss,
)
from blocks.training.racer import Racer
from blocks.training.recorded import recorded
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task

EN = Language.ENGLISH


def task(**changes):
    return build_task(TaskConfig(kind=TaskKind.STORIES, seq_len=16, **changes))


def reads_later_tokens(batch) -> bool:
    """Whether another last token changes what an untrained model says of the first."""
    spec = peeking_spec(EN, sees_ahead=False)
    model = build(spec.config, seed=0)
    ids = batch.token_ids.clone()
    ids[:, -1] += 1
    with torch.no_grad():
        before, after = (model(each, *batch.read[1:])[:, 0] for each in (batch.token_ids, ids))
    return not torch.equal(before, after)


def test_the_two_tasks_differ_in_nothing_but_what_may_be_read():
    masked, peeking = (task(sees_ahead=each) for each in (False, True))
    one, other = (each.batch(2, generator(0, "batch")) for each in (masked, peeking))
    assert torch.equal(one.token_ids, other.token_ids)
    assert torch.equal(one.targets, other.targets)
    assert not reads_later_tokens(one) and reads_later_tokens(other)
    assert reads_later_tokens(peeking.held_out(2, generator(0, "held_out")))


@pytest.mark.parametrize("kind", [TaskKind.SORT, TaskKind.MASKED_WORDS, TaskKind.INDUCTION])
def test_only_next_tokens_can_be_seen_ahead(kind: TaskKind):
    with pytest.raises(ConfigError) as caught:
        TaskConfig(kind=kind, seq_len=16, sees_ahead=True)
    (fault,) = caught.value.faults
    assert fault.mend == {"sees_ahead": False}


def test_a_spec_comes_back_from_plain_values():
    spec = peeking_spec(EN, sees_ahead=True, seed=3)
    assert TrainingSpec.from_plain(json.loads(json.dumps(spec.plain()))) == spec


def test_a_file_from_before_is_causal():
    values = peeking_spec(EN, sees_ahead=False).plain()
    del values["task"]["sees_ahead"]
    assert not TrainingSpec.from_plain(values).task.sees_ahead


def test_asking_in_parts_is_asking_at_once():
    spec = toy_spec(n_steps=4, eval_every=2)
    at_once, in_parts = (Racer(spec, lambda _t, found: found.held_out_loss) for _ in range(2))
    assert in_parts.losses(1) == at_once.losses(4)[:1]
    assert in_parts.looks(1) == at_once.looks(4)[:1]
    assert len(at_once.looks(4)) == 3 and in_parts.looks(4) == at_once.looks(4)


def test_one_that_copies_has_nothing_to_copy_where_it_writes():
    told = build_task(peeking_spec(EN, sees_ahead=True).task)

    def copies(ids: torch.Tensor) -> torch.Tensor:
        """All its belief in the token that stands next; of the last it knows nothing."""
        logits = torch.zeros(*ids.shape, told.vocab_size)
        logits[:, :-1].scatter_(2, ids[:, 1:, None], 50.0)
        return logits

    batch = told.held_out(4, generator(0, "held_out"))
    assert cross_entropy(copies(batch.token_ids)[:, :-1], batch.targets[:, :-1]) < 1e-6
    writing = writing_loss(copies, told, generator(0, "writing"))
    assert writing == pytest.approx(math.log(told.vocab_size))


def test_memory_is_estimated_before_anything_is_allocated():
    with pytest.raises(ConfigError):
        learner(peeking_spec(EN, sees_ahead=True), budget=1000)


def test_what_one_says_about_the_other():
    def went(*losses: float, writes: float) -> Learned:
        looks = tuple(Look(step, writes, 0.5, "") for step in (0, 20))
        return Learned(losses, looks)

    found = compared(went(3, 2, 1, writes=1), went(3, 0, writes=2), 26)
    assert found.n_updates == 2 and found.masked_loss == 2.5 and found.peeking_loss == 1.5
    assert found.masked.step == 0 and not found.is_cheating
    assert compared(went(1, writes=1), went(0.1, writes=2), 26).is_cheating
    assert not compared(went(1, writes=2), went(0.1, writes=1), 26).is_cheating


@pytest.mark.parametrize("language", PROMPTS)
def test_recorded_runs_are_of_today_and_say_why_the_mask_exists(language: Language):
    both = [recorded(peeking_spec(language, sees_ahead=each)) for each in (False, True)]
    assert all(len(each.losses) == N_UPDATES for each in both)
    assert [look.step for look in both[0].looks] == [*range(0, N_UPDATES + 1, LOOK_EVERY)]
    found = compared(*both, 26)
    assert found.is_cheating and found.masked.grammatical > found.peeking.grammatical + 0.5
    assert {each.looks[-1].text[:3] for each in both} == {PROMPTS[language].strip()[:3]}


def test_every_recorded_run_is_one_that_is_made_today():
    specs = shipped_runs.specs()
    rows = json.loads(files.FILE.read_text("utf-8"))
    assert [TrainingSpec.from_plain(row["spec"]) for row in rows] == [*specs]
    assert recorded(TrainingSpec(**{**vars(specs[0]), "seed": 99})) is None


@pytest.mark.parametrize("number", [1, 4])
def test_a_recorded_loss_is_what_the_loop_gives(number: int):
    spec = shipped_runs.specs()[number]
    loss = Training(spec).update()
    assert loss == pytest.approx(recorded(spec).losses[0], rel=1e-4)


def test_a_run_comes_back_from_the_file():
    spec = peeking_spec(EN, sees_ahead=False)
    found = Learned((1.23456,), (Look(0, 2.34567, 0.5, "从前"),))
    row = json.loads(json.dumps(files.plain(spec, found)))
    assert files._read(row) == Learned((1.2346,), (Look(0, 2.3457, 0.5, "从前"),))


def test_what_it_writes_starts_with_the_prompt():
    spec = peeking_spec(Language.CHINESE, sees_ahead=True)
    (first,) = learned(learner(spec), 0).looks
    assert first.step == 0 and first.text.startswith("从前，")
