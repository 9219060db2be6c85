"""A pass that is run again shows what the recorder shows, whoever runs it.

Where there is no CUDA the passes run uncaptured, by the same code.
"""

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
import torch
from drawn_configs import SEEDS, drawn, small
from toy import assert_near, scramble

from blocks import PRESETS, ModelConfig, Recording
from blocks.model import devices
from blocks.model.faults import ConfigError
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.models import Model
from blocks.model.positions import turns
from blocks.observe import replay, sweep
from blocks.observe.captured import (
    Again,
    ReadFromOutside,
    UncapturedError,
    can_capture,
)
from blocks.observe.filled import Filled, filled, filled_length
from blocks.observe.interventions import Intervention, heads_of, stacks
from blocks.observe.replay import Passes, Replay, is_gain
from blocks.observe.run import PATTERNS, Input, Run
from blocks.observe.sweep import batches, outputs_of_each
from blocks.observe.wiring import kept_stages

HAS_CUDA = torch.cuda.is_available()
DEVICE = "cuda" if HAS_CUDA else "cpu"
pytestmark = pytest.mark.gpu


def run_of(
    config: ModelConfig, kind: MaskKind = MaskKind.CAUSAL_PADDING, shift: int = 0, n: int = 6
) -> Run:
    tokens = ("a", "b", "c", "d", "e", "f")[:n]
    ids = tuple((i + shift) % 10 + 1 for i in range(len(tokens)))
    text = Input(tokens=tokens, token_ids=ids, n_padding=2) if kind.hides_padding else None
    text = text or Input(tokens=tokens, token_ids=ids)
    mask = MaskConfig(mask_kind=kind)
    return Run(config=config, input=text, mask=mask, device=DEVICE, seed=shift)


def text_of(run: Run, length: int = 0) -> Filled:
    return filled(run.values(), run.pass_mask(), length)


def replay_of(run: Run, model: Model, length: int = 0, **more: Any) -> Replay:
    kept = kept_stages(run.config)
    return Replay(model, text_of(run, length), keep=kept, later=PATTERNS, **more)


def assert_same(found: Recording, wanted: Recording) -> None:
    """The same names in the same order, and the same numbers."""
    assert found.stages == wanted.stages
    assert found.tensors.keys() == wanted.tensors.keys()
    assert found.patterns.keys() == wanted.patterns.keys()
    assert_near(found.output, wanted.output)
    assert_near(found.moments, wanted.moments)
    for path, tensor in wanted.tensors.items():
        assert_near(found.tensors[path], tensor)
    for path, pattern in wanted.patterns.items():
        assert_near(found.patterns[path].rows(), pattern.rows())


def off(config: ModelConfig) -> tuple[Intervention, ...]:
    """A head and a part of the last layer."""
    parts = [part for part in heads_of(config, stacks(config)[-1]) if is_gain(part)]
    return (*parts[1:2], *parts[-1:])


def check(config: ModelConfig, kind: MaskKind, *, gained: bool, length: int = 0) -> None:
    run, other = (run_of(config, kind, shift) for shift in (0, 3))
    model = scramble(run.build())
    again = replay_of(run, model, gained=gained, length=length)
    for each in (other, run):
        changed = replace(each, interventions=off(config) if gained else ())
        found = again(text_of(each, length), changed.interventions)
        assert_same(found, changed.record(model))
    assert_same(again(text_of(run, length)), run.record(model))  # all parts on again


def test_every_preset_and_mixer_shows_the_same_again():
    ways = cycle([(MaskKind.CAUSAL, True), (MaskKind.CAUSAL_PADDING, False), (MaskKind.NONE, True)])
    every = (*map(small, PRESETS.values()), *(drawn(seed) for seed in SEEDS))
    configs = [config for config in dict.fromkeys(every) if can_capture(config, "cuda")]
    assert len(configs) > len(SEEDS)
    for config, (kind, gained) in zip(configs, ways, strict=False):
        length = filled_length(config, run_of(config).values())
        assert length > 8 or config.architecture is Architecture.ENCODER_DECODER
        check(config.replace(dropout=0.0), kind, gained=gained, length=length)


CONFIG = small(PRESETS["smollm2-135m"])


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays where there is no CUDA too, uncaptured."""
    for module in (replay, sweep):
        monkeypatch.setattr(module, "can_capture", lambda *_: True)


def test_two_threads_never_mix():
    runs = [run_of(CONFIG, MaskKind.CAUSAL, shift, n=4 + shift % 3) for shift in range(6)]
    model = scramble(runs[0].build())
    again = replay_of(runs[0], model, length=16)
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(lambda run: again(text_of(run, 16)), runs * 3)]
    wanted = [run.record(model) for run in runs]
    for seen, run_wanted in zip(found, wanted * 3, strict=True):
        assert_same(seen, run_wanted)


@pytest.mark.usefixtures("everywhere")
def test_what_comes_twice_is_held_as_far_as_there_is_room():
    passes, runs = Passes(0), [run_of(CONFIG, MaskKind.CAUSAL, shift) for shift in range(3)]
    model = scramble(runs[0].build())
    assert not passes.held
    for run in runs:
        assert_same(passes.record(run, model), run.record(model))
    assert len(passes.held) == 1
    shorter = run_of(CONFIG, MaskKind.CAUSAL, n=4)
    assert_same(passes.record(shorter, model), shorter.record(model))
    assert len(passes.asked) == 1  # it is of the same graph
    changed = replace(runs[0], interventions=off(CONFIG))
    for _ in range(2):
        assert_same(passes.record(changed, model), changed.record(model))
    assert len(passes.held) == 1  # the other had to go
    del model
    gc.collect()
    assert not passes.held


@pytest.mark.usefixtures("everywhere")
def test_where_a_pass_cannot_be_held_the_recorder_runs(monkeypatch: pytest.MonkeyPatch):
    def no_memory(*_: Any) -> None:
        raise torch.OutOfMemoryError("no memory left\nat all")

    monkeypatch.setattr(replay, "captured", no_memory)
    passes, run = Passes(2**30), run_of(CONFIG, MaskKind.CAUSAL)
    model = scramble(run.build())
    for _ in range(3):
        assert_same(passes.record(run, model), run.record(model))
    assert [*passes.asked.values()] == ["no memory left"]


@pytest.mark.usefixtures("everywhere")
def test_a_sweep_by_replays_is_the_sweep(monkeypatch: pytest.MonkeyPatch):
    run = run_of(CONFIG, MaskKind.CAUSAL)
    model, parts = scramble(run.build()), heads_of(CONFIG)
    seen = run.record(model)
    assert [len(batch) for batch in batches(run, parts)] == [len(parts)]
    found = outputs_of_each(run, model, seen, parts, position=4)
    with pytest.raises(ConfigError, match="nearest"):
        outputs_of_each(run, model, seen, (replace(parts[0], layer=9),), position=4)
    monkeypatch.setattr(sweep, "can_capture", lambda *_: False)
    assert_near(found, outputs_of_each(run, model, seen, parts, position=4))


def test_what_a_pass_reads_from_outside_is_known():
    run = run_of(CONFIG, MaskKind.CAUSAL)
    model, x = scramble(run.build()), run.values()
    with torch.no_grad():
        model(x)
        with ReadFromOutside() as read:
            output = model(x)
    ids = {id(each) for each in read.tensors}
    speeds = model.layers[0].attention.rotate.speeds
    tables = turns(8, speeds, 1.0, x.device, torch.float32)
    assert ids >= {id(each) for each in (x, *tables, *model.parameters())}
    assert id(output) not in ids
    assert len(ids) <= 3 + len(list(model.parameters()))


@pytest.mark.skipif(not HAS_CUDA, reason="a graph needs CUDA")
def test_on_cuda_it_is_a_graph():
    run = run_of(CONFIG, MaskKind.CAUSAL)
    again = replay_of(run, run.build())
    assert again.again.is_graph


@pytest.mark.skipif(not HAS_CUDA, reason="a graph needs CUDA")
def test_a_capture_that_fails_leaves_a_device_that_captures():
    draws = torch.Generator(DEVICE).manual_seed(0)
    x = torch.zeros(3, device=DEVICE)

    def work() -> None:
        x.add_(1 + 0 * torch.rand(3, device=DEVICE, generator=draws))
        if is_broken and torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()  # nobody may wait for the device now

    is_broken, again = True, Again(x.device, draws=draws)
    again(work)
    again(work)
    with pytest.raises(UncapturedError):
        again(work)
    devices.free_memory()
    again(work)
    assert x.tolist() == [3, 3, 3] and not again.is_graph
    is_broken, other = False, Again(x.device, draws=draws)
    while not other.is_held:
        other(work)
    assert other.is_graph and x.tolist() == [6, 6, 6]
    torch.cuda.empty_cache()  # refused while any capture is thought to go on
