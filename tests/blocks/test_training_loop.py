"""Training tells what it does, does what it tells, and ends with a reason."""

import dataclasses
import itertools
import math
from typing import Any

import pytest
import torch
from daily import some_daily
from torch.nn import functional as F  # noqa: N812
from toy import assert_near
from training_toy import ended, evaluations, losses, toy_spec

from blocks import ConfigError, build
from blocks.cost.peak_memory import TensorMemory
from blocks.model.dropout import training_mode
from blocks.model.faults import Fault
from blocks.model.randomness import generator
from blocks.training import masters, update
from blocks.training.events import Reason, Sample, SnapshotTaken, Step
from blocks.training.loop import Training, train
from blocks.training.loss import cross_entropy
from blocks.training.memory import estimate_training_memory, training_memory_fault
from blocks.training.optimizers import build_optimizers, set_rate_factor
from blocks.training.schedule import learning_rate, rate_factor
from blocks.training.snapshots import Snapshots
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import IGNORED, build_task

MEGABYTE, LOOSENESS = 2**20, 5


def written_out(spec: TrainingSpec) -> list[float]:
    """The same training as a plain loop: the losses before each update."""
    task, recipe = build_task(spec.task), spec.recipe
    model = build(spec.config, seed=spec.seed)
    optimizers = build_optimizers(model, recipe)
    seen = []
    for step in range(1, recipe.n_steps + 1):
        batch = task.batch(recipe.batch_size, generator(spec.seed, "batch", str(step)))
        with training_mode(generator(spec.seed, "dropout", str(step)), updates_statistics=True):
            logits = model(batch.token_ids)
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            batch.targets.flatten(),
            ignore_index=IGNORED,
            label_smoothing=recipe.label_smoothing,
        )
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm or math.inf)
        set_rate_factor(optimizers, rate_factor(recipe, step, spec.config.d_model))
        for optimizer in optimizers:
            optimizer.step()
        seen.append(loss.item())
    return seen


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "muon", "schedule": "trapezoid", "clip_norm": 0.0},
        {"optimizer": "sgd", "learning_rate": 0.1, "label_smoothing": 0.1, "clip_norm": 0.3},
        {"norm_kind": "batchnorm"},
        {"n_experts": 4, "optimizer": "muon", "expert_capacity": 1.0},
        {"n_experts": 4, "n_shared_experts": 1, "router_kind": "sigmoid", "n_dense_layers": 1},
    ],
    ids=str,
)
def test_the_losses_are_those_of_a_plain_loop(changes: dict[str, Any]):
    spec = toy_spec(**changes)
    assert losses([*train(spec)]) == pytest.approx(written_out(spec), rel=1e-4)


@pytest.mark.usefixtures("process_state_kept")
def test_equal_specs_give_equal_losses_and_other_seeds_others():
    first, second, other = (losses([*train(toy_spec(seed=seed))]) for seed in (0, 0, 1))
    assert first == second
    assert first != other


def test_a_model_learns():
    spec = toy_spec(n_steps=150, optimizer="muon", learning_rate=0.01, dropout=0.0, eval_every=150)
    first, last = evaluations([*train(spec)])
    assert last.held_out_loss < 0.5 * first.held_out_loss
    assert last.score >= first.score


def test_events_come_in_order_and_say_what_was_done():
    spec = toy_spec(n_steps=12)
    events = [*train(spec)]
    steps = [event for event in events if isinstance(event, Step)]
    assert [step.step for step in steps] == [*range(1, 13)]
    rates = [learning_rate(spec.recipe, step, spec.config.d_model) for step in range(1, 13)]
    assert [step.learning_rate for step in steps] == rates
    assert all(step.gradient_norm > 0 and step.tokens_per_second > 0 for step in steps)
    seconds = [step.seconds for step in steps]
    assert seconds == sorted(seconds)
    assert [each.step for each in evaluations(events)] == [0, 5, 10, 12]
    assert ended(events).reason is Reason.FINISHED


def test_a_gradient_norm_is_that_of_its_layers_and_the_rest():
    events = [*train(toy_spec(n_steps=1, warmup_steps=0))]
    first, last = evaluations(events)
    (step,) = (event for event in events if isinstance(event, Step))
    assert first.layer_gradient_norms == ()
    assert len(last.layer_gradient_norms) == 2
    assert 0 < math.hypot(*last.layer_gradient_norms) < step.gradient_norm


def test_the_same_questions_are_asked_each_time():
    frozen = toy_spec(learning_rate=0.0, dropout=0.5)
    asked = {(each.held_out_loss, each.score) for each in evaluations([*train(frozen)])}
    assert len(asked) == 1


def test_the_held_out_loss_is_the_mean_over_all_tokens_asked_for():
    training = Training(toy_spec())
    batches = training.examiner.batches
    token_ids = torch.cat([batch.token_ids for batch in batches])
    targets = torch.cat([batch.targets for batch in batches])
    expected = F.cross_entropy(training.model(token_ids).mT, targets, ignore_index=IGNORED)
    measured = training.examiner.held_out_loss(training.model)
    assert measured == pytest.approx(expected.item(), rel=1e-5)


def test_label_smoothing_and_ignored_targets_are_torchs():
    logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0)).bfloat16()
    targets = torch.tensor([[1, IGNORED, 2], [IGNORED, IGNORED, 4]])
    kept = targets != IGNORED
    expected = F.cross_entropy(logits[kept].float(), targets[kept], label_smoothing=0.1)
    assert_near(cross_entropy(logits, targets, label_smoothing=0.1), expected)


def test_a_sample_of_questions_is_answers():
    samples = [event for event in train(toy_spec()) if isinstance(event, Sample)]
    assert [each.step for each in samples] == [0, 5, 10]
    assert all(len(each.answers) > 3 and not each.text for each in samples)


def test_snapshots_are_taken_and_said():
    snapshots = Snapshots(MEGABYTE)
    training = Training(toy_spec(), snapshots=snapshots)
    said = [event.step for event in training.events() if isinstance(event, SnapshotTaken)]
    assert said == [0, 1, 2, 3, 4, 6, 8, 10]
    assert snapshots.steps == tuple(said)
    assert torch.equal(snapshots.at(10)[1]["embed.weight"], training.model.embed.weight)
    assert not torch.equal(snapshots.at(0)[1]["embed.weight"], training.model.embed.weight)


def test_bfloat16_trains_as_float32_does():
    events = [*train(toy_spec(dtype="bfloat16", optimizer="muon"))]
    assert ended(events).reason is Reason.FINISHED
    assert losses(events) == pytest.approx(losses([*train(toy_spec(optimizer="muon"))]), rel=0.01)


def test_steps_too_small_for_bfloat16_are_not_lost():
    spec = toy_spec(dtype="bfloat16", optimizer="sgd", learning_rate=1e-5, schedule="constant")
    training = Training(spec)
    before = training.checkpoint().weights
    assert ended([*training.events()]).reason is Reason.FINISHED
    after, run = training.checkpoint().weights, dict(training.model.named_parameters())
    for name, each in run.items():
        assert each.dtype is torch.bfloat16 and after[name].dtype is torch.float32
        assert torch.equal(each, after[name].bfloat16())
    moved = {name for name in run if not torch.equal(before[name], after[name])}
    seen = {name for name in moved if not torch.equal(run[name], before[name].bfloat16())}
    assert len(seen) < len(moved)


def test_a_stop_ends_after_the_current_step():
    training = Training(toy_spec())
    events = []
    for event in training.events():
        events.append(event)
        if isinstance(event, Step) and event.step == 3:
            training.stop()
    assert len(losses(events)) == 3
    assert ended(events).reason is Reason.STOPPED


BARE: dict[str, Any] = {"norm_kind": "none", "clip_norm": 0.0}


@pytest.mark.parametrize(
    ("optimizer", "rate", "norms"),
    [("adamw", 1e6, {}), ("muon", 1e6, BARE), ("sgd", 1e9, BARE)],
    ids=str,
)
def test_a_training_that_diverges_says_so_and_keeps_what_was_good(
    optimizer: str, rate: float, norms: dict[str, Any]
):
    rates = {"learning_rate": rate, "muon_learning_rate": rate}
    spec = toy_spec(optimizer=optimizer, n_steps=50, **norms, **rates)
    training = Training(spec)
    events = [*training.events()]
    end = ended(events)
    assert end.reason is Reason.DIVERGED
    assert end.fault is not None
    assert f"learning_rate {rate:g}" in str(end.fault)
    names = ["learning_rate", "muon_learning_rate"] if optimizer == "muon" else ["learning_rate"]
    assert end.fault.mend == dict.fromkeys(names, 0.1)
    assert training.last_good is not None
    assert training.last_good.step < training.step
    assert all(tensor.isfinite().all() for tensor in training.last_good.weights.values())


def no_memory_left(*_: object, **__: object) -> None:
    torch.empty(2**50, dtype=torch.uint8)


def broken(*_: object, **__: object) -> None:
    raise KeyError("a part is missing")


@pytest.mark.parametrize(
    ("failure", "reason", "said"),
    [
        (no_memory_left, Reason.OUT_OF_MEMORY, "ran out of memory"),
        (broken, Reason.FAILED, "a part is missing"),
    ],
)
def test_an_error_is_the_last_event(
    monkeypatch: pytest.MonkeyPatch, failure: Any, reason: Reason, said: str
):
    events = train(toy_spec())
    before = [*itertools.islice(events, 6)]
    monkeypatch.setattr(update, "cross_entropy", failure)
    after = [*events]
    assert losses(before)
    assert ended(after).reason is reason
    assert said in str(ended(after).fault)


@pytest.mark.parametrize(
    "changes",
    [{"architecture": "block"}, {"vocab_size": 3}, {"max_seq_len": 4, "position_kind": "learned"}],
)
def test_a_model_that_does_not_fit_the_task_is_refused_with_a_mend(changes: dict[str, Any]):
    spec = toy_spec(**changes)
    with pytest.raises(ConfigError) as error:
        train(spec)
    mends: dict[str, Any] = {}
    for fault in error.value.faults:
        mends |= fault.mend
    assert mends.keys() >= {next(iter(changes))}
    train(dataclasses.replace(spec, config=spec.config.replace(**mends)))


def training_fault(spec: TrainingSpec, budget: int) -> Fault:
    fault = training_memory_fault(spec, budget)
    assert fault is not None
    return fault


SIZES = [{}, {"d_model": 1024, "d_ff": 8192}, {"n_layers": 20}]


@pytest.mark.parametrize("changes", SIZES, ids=str)
@pytest.mark.parametrize("budget", [8 * MEGABYTE, 16 * MEGABYTE])
def test_beyond_the_budget_nothing_is_built_and_the_mend_fits(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int], budget: int
):
    spec = toy_spec(batch_size=512, **changes)
    monkeypatch.setattr(masters, "build", broken)
    with pytest.raises(ConfigError, match="use "):
        train(spec, budget=budget)
    mend = dict(training_fault(spec, budget).mend)
    recipe = spec.recipe.replace(batch_size=mend.pop("batch_size", 512))
    task = dataclasses.replace(spec.task, seq_len=mend.pop("seq_len", spec.task.seq_len))
    config, _ = spec.config.nearest(**mend)
    mended = dataclasses.replace(spec, config=config, task=task, recipe=recipe)
    assert training_memory_fault(mended, budget) is None


KEEPING = (
    {"dropout": 0.1, "n_heads": 8},
    {"dropout": 0.0, "activation": "swiglu", "position_kind": "alibi"},
    {"dropout": 0.0, "d_model": 128, "norm_placement": "sandwich"},
    {"dropout": 0.1, "n_experts": 4, "activation": "swiglu"},
)
OPTIMIZERS = ("adamw", "muon", "sgd")


@pytest.mark.parametrize(
    ("optimizer", "changes"),
    some_daily(
        itertools.product(OPTIMIZERS, KEEPING),
        daily=[*zip(itertools.cycle(OPTIMIZERS), KEEPING, strict=False)],
    ),
    ids=str,
)
def test_a_training_takes_no_more_than_estimated_and_not_much_less(
    optimizer: str, changes: dict[str, Any]
):
    sizes = {"d_model": 32, "batch_size": 16, "n_eval_batches": 1, "n_steps": 3, "eval_every": 3}
    spec = toy_spec(optimizer=optimizer, **sizes | changes)
    need = estimate_training_memory(
        spec.config, recipe=spec.recipe, seq_len=spec.task.seq_len, dtype=torch.float32
    ).total
    with TensorMemory() as memory:
        assert ended([*train(spec)]).reason is Reason.FINISHED
    assert need / LOOSENESS <= memory.peak_bytes <= need
