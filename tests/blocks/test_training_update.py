"""An update whose batch and rate are tensors that stay: equal to one that is given them anew.

Where there is no CUDA it runs uncaptured, by the same code.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from there import DEVICE, in_full
from toy import assert_near
from training_toy import TASK, losses, toy_spec

from blocks.model.randomness import generator
from blocks.observe import captured
from blocks.training import update
from blocks.training.loop import Training
from blocks.training.muon import Muon
from blocks.training.recipe import OptimizerKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskKind, build_task

pytestmark = pytest.mark.gpu
on_cuda = pytest.mark.skipif(DEVICE != "cuda", reason="a graph needs CUDA")


def trained(spec: TrainingSpec, *, held: bool) -> list[float]:
    """The losses of a training in tensors that stay, or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "can_capture", lambda *_: held)
        training = Training(replace(spec, device=DEVICE))
    return losses([*training.events()])


@in_full("optimizer", OptimizerKind)
def test_updates_in_tensors_that_stay_are_the_same(optimizer: str):
    dropout = 0.1 if DEVICE == "cpu" else 0.0  # on CUDA a graph draws what it drops
    spec = toy_spec(optimizer=optimizer, dropout=dropout, clip_norm=0.5, weight_decay=0.1)
    held, anew = (trained(spec, held=held) for held in (True, False))
    assert held == (anew if DEVICE == "cpu" else pytest.approx(anew, rel=1e-4))


def test_muon_takes_a_rate_of_the_device():
    weights = torch.randn(2, 6, 4, generator=generator(0, "test"))
    steps = []
    for rate in (0.02, torch.tensor(0.02)):
        matrices = [torch.nn.Parameter(each.clone()) for each in (*weights, weights[0].mT)]
        for each in matrices:
            each.grad = each.detach().sin()
        Muon(matrices, lr=rate, weight_decay=0.1).step()
        steps.append(matrices)
    for ours, theirs in zip(*steps, strict=True):
        assert_near(ours, theirs)


def test_all_batches_that_a_graph_may_read_have_one_shape():
    for kind in set(TaskKind) - {TaskKind.TRANSLATION}:
        task = build_task(replace(TASK, kind=kind, seq_len=kind.usual_seq_len))
        batches = [task.batch(2, generator(seed, "batch")) for seed in range(3)]
        assert len({each.targets.shape for each in batches}) == 1, kind


def test_a_graph_that_has_no_room_leaves_a_training_that_goes_on(monkeypatch: pytest.MonkeyPatch):
    class Refused(captured.Again):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            self.n = 0

        def __call__(self, work):
            self.n += 1
            if self.n == 3:
                for each in training.model.parameters():
                    each.grad = torch.full_like(each, torch.nan)  # as a capture leaves them
                raise captured.UncapturedError("CUDA out of memory")
            super().__call__(work)

    wanted = losses([*Training(toy_spec()).events()])
    monkeypatch.setattr(update, "Again", Refused)
    training = Training(toy_spec())
    assert losses([*training.events()]) == wanted


@on_cuda
def test_on_cuda_an_update_is_a_replay():
    training = Training(replace(toy_spec(dropout=0.0), device=DEVICE))
    for _ in range(4):
        training.update()
    assert training.to_update._again.is_graph


@on_cuda
def test_out_of_memory_in_a_capture_leaves_a_training_that_goes_on(monkeypatch):
    spec = toy_spec(dropout=0.0)
    wanted, work, calls = trained(spec, held=True), update.Update.work, []

    def full(self: update.Update) -> None:
        calls.append(torch.cuda.is_current_stream_capturing())
        if calls[-1]:
            torch.empty(2**50, device=DEVICE)
        work(self)

    monkeypatch.setattr(update.Update, "work", full)
    assert trained(spec, held=True) == pytest.approx(wanted, rel=1e-4)
    assert any(calls) and not calls[-1]


@on_cuda
def test_trainings_at_once_do_not_mix():
    specs = [toy_spec(seed=seed, optimizer="muon") for seed in range(3)]
    alone = [trained(spec, held=True) for spec in specs]
    with ThreadPoolExecutor(len(specs)) as pool:
        assert [*pool.map(lambda spec: trained(spec, held=True), specs)] == [
            pytest.approx(each, rel=1e-4) for each in alone
        ]
