"""Recording: in one thread, of one pass, and nothing else is touched."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode
from toy import BATCH, D_MODEL, N_HEADS, SEQ_LEN, assert_near, toy, toy_input

from blocks import Recording, build, record
from blocks.model.dropout import training_mode
from blocks.model.masks import causal
from blocks.model.positions import Rotary
from blocks.observe.flow import MOMENTS, moments

N_THREADS, N_ROUNDS = 8, 5
FLOAT32_BYTES = 4


def assert_same(one: Recording, other: Recording) -> None:
    assert one.stages == other.stages
    assert one.tensors.keys() == other.tensors.keys()
    assert all(torch.equal(one.tensors[path], other.tensors[path]) for path in one.tensors)
    assert torch.equal(one.moments, other.moments)
    assert torch.equal(one.output, other.output)


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_threads_that_share_a_model_see_only_their_own_pass(training: bool):
    model, mask = build(toy()), causal(SEQ_LEN)
    start = threading.Barrier(N_THREADS)

    def record_alone(seed: int) -> Recording:
        training_seed = seed if training else None
        return record(model, toy_input(seed), mask=mask, training_seed=training_seed)

    def record_together(seed: int) -> list[Recording]:
        start.wait(timeout=60)
        return [record_alone(seed) for _ in range(N_ROUNDS)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        together = list(pool.map(record_together, range(N_THREADS)))
    for seed, recordings in enumerate(together):
        alone = record_alone(seed)
        for recording in recordings:
            assert_same(recording, alone)


def test_a_pass_of_another_thread_is_not_recorded():
    model, inside = build(toy()), []

    def run_elsewhere(x: Tensor) -> Tensor:
        probe = model.layers[0].attention.pattern
        if not inside:
            inside.append(probe.is_observed)
            with ThreadPoolExecutor(1) as pool:
                inside.append(pool.submit(lambda: probe.is_observed).result())
                pool.submit(model, toy_input(seed=1)).result()
        return x

    replaced = record(model, toy_input(), replace={"layers.0.attention_out": run_elsewhere})
    assert inside == [True, False]
    assert_same(replaced, record(model, toy_input()))


def test_after_a_recording_nobody_listens():
    model = build(toy())
    record(model, toy_input())
    assert not model.layers[0].attention.pattern.is_observed
    with pytest.raises(RuntimeError):
        record(model, toy_input(), mask=torch.ones(3, 3, 3, dtype=torch.bool))
    assert not model.layers[0].attention.pattern.is_observed
    assert torch.is_grad_enabled()


def test_a_recording_does_not_change_what_passes():
    model, x = build(toy()), toy_input()
    before = x.clone()
    assert_near(record(model, x).output, model(x).detach())
    assert torch.equal(x, before)


def test_zeroing_a_write_leaves_the_stream_as_it_was():
    replace = {"layers.0.attention_out": torch.zeros_like}
    seen = record(build(toy(norm_placement="pre")), toy_input(), replace=replace)
    assert torch.equal(seen.tensor("resid_mid"), seen.tensor("resid_pre"))
    assert seen.tensor("attention_out").eq(0).all()


def test_replacing_a_pattern_changes_what_is_read():
    def uniform(pattern: Tensor) -> Tensor:
        return torch.full_like(pattern, 1 / SEQ_LEN)

    model, paths = build(toy()), ("v", "head_out")
    seen = record(model, toy_input(), keep=paths, replace={"layers.0.pattern": uniform})
    v, head_out = map(seen.tensor, paths)
    assert_near(head_out, v.mean(dim=-2, keepdim=True).expand_as(head_out))


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ((), set()),
        (("pattern",), {"layers.0.pattern"}),
        (("layers.0.pattern",), {"layers.0.pattern"}),
        ({"q", "layers.0.resid_mid"}, {"layers.0.q", "layers.0.resid_mid"}),
        (("input",), {"input"}),
    ],
    ids=["nothing", "a name", "a path", "a set", "a path without layer"],
)
def test_keep_is_by_name_or_by_path(keep, kept: set[str]):
    seen = record(build(toy()), toy_input(), keep=keep)
    assert seen.tensors.keys() == kept
    assert seen.moments.shape == (len(seen.stages), len(MOMENTS))


def test_everything_is_kept_by_default():
    seen = record(build(toy(activation="swiglu")), toy_input())
    inside = {"q", "k", "v", "scores", "pattern", "head_out", "gate_pre", "gate", "up"}
    inside |= {"hidden"}
    assert seen.tensors.keys() == {*seen.stages, *(f"layers.0.{name}" for name in inside)}
    assert seen.tensor("input") is seen.tensors["input"]
    assert seen.pattern(layer=0) is seen.tensors["layers.0.pattern"]
    assert seen.pattern().shape == (BATCH, N_HEADS, SEQ_LEN, SEQ_LEN)


def test_moments_are_those_of_what_passed():
    seen = record(build(toy()), toy_input())
    for path, row in zip(seen.stages, seen.moments, strict=True):
        assert torch.equal(row, moments(seen.tensor(path)))


def test_frames_have_a_row_a_stage_and_a_row_a_head():
    seen = record(build(toy()), toy_input())
    assert list(seen.flow()["stage"]) == [path.rpartition(".")[2] for path in seen.stages]
    assert list(seen.heads()["head"]) == list(range(N_HEADS))


def test_a_recording_is_timed():
    assert record(build(toy()), toy_input()).milliseconds > 0


def test_no_operation_of_a_pass_goes_through_python():
    def note_modes(x: Tensor) -> Tensor:
        modes.append(_get_current_dispatch_mode())
        return x

    modes: list[object] = []
    record(build(toy()), toy_input(), replace={"layers.0.q": note_modes})
    assert modes == [None]


def test_what_a_recording_keeps_is_counted_to_the_byte_and_shared_memory_once():
    keep, row = ("pattern", "resid_post", "resid_pre", "q"), D_MODEL * FLOAT32_BYTES
    seen = record(build(toy(n_layers=2)), toy_input(), keep=keep)
    streams = BATCH * SEQ_LEN * row * 3  # the second layer reads what the first leaves
    queries = 2 * BATCH * SEQ_LEN * row
    patterns = 2 * BATCH * N_HEADS * SEQ_LEN**2 * FLOAT32_BYTES
    assert seen.kept_bytes == streams + queries + patterns + seen.moments.nbytes


def test_a_stage_that_passes_twice_is_summed_up_once_and_told_twice():
    seen = record(build(toy(n_layers=2)), toy_input())
    rows = dict(zip(seen.stages, seen.moments, strict=True))
    assert torch.equal(rows["layers.0.resid_post"], rows["layers.1.resid_pre"])
    assert not torch.equal(rows["layers.1.resid_post"], rows["layers.1.resid_pre"])


@pytest.mark.usefixtures("process_state_kept")
def test_nothing_of_the_process_is_touched():
    model = build(toy(), seed=3, dtype=torch.bfloat16)
    x = toy_input().to(torch.bfloat16)
    record(model, x)
    record(model, x, training_seed=0)
    with training_mode(torch.Generator()):
        model(x)


def test_a_training_pass_is_repeatable_and_not_an_evaluation():
    model, x = build(toy(dropout=0.5)), toy_input()
    evaluation = record(model, x)
    one, same, other = (record(model, x, training_seed=seed) for seed in (0, 0, 1))
    assert_same(one, same)
    assert not torch.equal(one.output, other.output)
    assert not torch.equal(one.output, evaluation.output)
    assert torch.equal(record(model, x).output, evaluation.output)
    assert not any(module.training for module in model.modules())


def test_without_dropout_a_training_pass_is_an_evaluation():
    model, x = build(toy(dropout=0.0)), toy_input()
    assert_same(record(model, x), record(model, x, training_seed=0))


def test_evaluation_has_no_dropout():
    x = toy_input()
    some, none = (record(build(toy(dropout=dropout)), x).output for dropout in (0.5, 0.0))
    assert torch.equal(some, none)


def test_recorded_queries_are_turned():
    model = build(toy(position_kind="rope"))
    seen, attention = record(model, toy_input()), model.layers[0].attention
    q = attention.q_proj(seen.tensor("attention_norm")).detach()
    q = q.unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
    assert isinstance(attention.rotate, Rotary)
    assert_near(seen.tensor("q"), attention.rotate(q))
