"""A pass that is run again shows what the recorder shows, whoever runs it.

Where there is no CUDA the passes run uncaptured, by the same code.
"""

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
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
from blocks.observe.captured import Again, ReadFromOutside, UncapturedError, can_capture
from blocks.observe.filled import Filled, filled, filled_length
from blocks.observe.interventions import (
    Intervention,
    InterventionKind,
    heads_of,
    n_layers,
    part_choices,
    stacks,
)
from blocks.observe.recording import record
from blocks.observe.replay import Passes, Replay
from blocks.observe.run import PATTERNS, Input, Run
from blocks.observe.sweep import batches, outputs_of_each
from blocks.observe.wiring import kept_stages

HAS_CUDA = torch.cuda.is_available()
DEVICE = "cuda" if HAS_CUDA else "cpu"
pytestmark = pytest.mark.gpu


def run_of(
    config: ModelConfig, kind: MaskKind = MaskKind.CAUSAL_PADDING, shift: int = 0, n: int = 6
) -> Run:
    tokens = tuple("abcdefghijklmnop"[:n])
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


near = partial(assert_near, tolerance=1e-4)


def assert_same(found: Recording, wanted: Recording) -> None:
    """The same names in the same order, and the same numbers up to the rounding of all layers."""
    assert found.stages == wanted.stages
    assert found.tensors.keys() == wanted.tensors.keys()
    assert found.patterns.keys() == wanted.patterns.keys()
    near(found.output, wanted.output)
    near(found.moments, wanted.moments)
    for path, tensor in wanted.tensors.items():
        near(found.tensors[path], tensor)
    for path, pattern in wanted.patterns.items():
        near(found.patterns[path].rows(), pattern.rows())


ZERO, MEAN, PATCH = InterventionKind
Kinds = tuple[InterventionKind, ...]


def changes(config: ModelConfig, *kinds: InterventionKind) -> tuple[Intervention, ...]:
    """A head, a part at one token, and the stream behind them, of the last layer."""
    stack = stacks(config)[-1]
    parts = [part for part in part_choices(config, stack) if not part.is_cross]
    layer, kind = n_layers(config, stack) - 1, cycle(kinds or (ZERO,))
    return tuple(
        Intervention(
            part=part,
            layer=layer,
            stack=stack,
            kind=next(kind),
            head=1 if part.is_head else None,
            token=None if part.is_head or stack else 2,
        )
        for part in parts
    )


def changed(run: Run, *kinds: InterventionKind) -> Run:
    """The run with such changes; a patch comes from a text that is shorter."""
    other = run_of(run.config, MaskKind.CAUSAL, shift=5, n=4).input
    return replace(run, interventions=changes(run.config, *kinds) if kinds else (), other=other)


def check(config: ModelConfig, kind: MaskKind, kinds: Kinds, length: int = 0) -> None:
    run, other = (run_of(config, kind, shift) for shift in (0, 3))
    model = scramble(run.build())
    again = replay_of(run, model, kinds=kinds, length=length)
    for each in (changed(other, *kinds), changed(run, *kinds)):
        found = again(text_of(each, length), each.interventions, each.record_other(model))
        assert_same(found, each.record(model))
    assert_same(again(text_of(run, length)), run.record(model))  # nothing is changed any more


def test_every_preset_and_mixer_shows_the_same_again():
    masks = (MaskKind.CAUSAL, MaskKind.CAUSAL_PADDING, MaskKind.NONE)
    ways = cycle(zip(cycle(masks), ((ZERO,), (), (MEAN, PATCH), (ZERO, MEAN), (PATCH,))))
    every = (*map(small, PRESETS.values()), *(drawn(seed) for seed in SEEDS))
    configs = [config for config in dict.fromkeys(every) if can_capture(config, "cuda")]
    assert len(configs) > len(SEEDS)
    for config, (kind, kinds) in zip(configs, ways, strict=False):
        length = filled_length(config, run_of(config).values())
        assert length > 8 or config.architecture is Architecture.ENCODER_DECODER
        check(config.replace(dropout=0.0), kind, kinds, length)


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
    off = changed(runs[0], ZERO)
    for _ in range(2):
        assert_same(passes.record(off, model), off.record(model))
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
def test_another_place_or_window_is_other_data_of_one_pass():
    """A text as long as its graph, so that it shows the very same numbers."""
    passes = Passes(2**30)
    runs = [run_of(CONFIG, MaskKind.CAUSAL, shift, n=16) for shift in range(3)]
    model = scramble(runs[0].build())
    for i, run in enumerate(runs):
        place = {"layer": i % 2, "token": None if i == 0 else i}
        moved = [replace(each, **place) for each in changes(CONFIG, ZERO, PATCH)]
        mask = MaskConfig(mask_kind=MaskKind.SLIDING_WINDOW, window_size=3 + i)
        each = replace(run, interventions=tuple(moved), other=runs[i - 1].input, mask=mask)
        for _ in range(2):
            seen, wanted = passes.record(each, model), each.record(model)
            assert torch.equal(seen.output, wanted.output)
            assert_same(seen, wanted)
    assert len(passes.held) == 2  # of the text, and of the other


@pytest.mark.usefixtures("everywhere")
def test_a_mean_of_what_another_change_made_is_left_to_the_recorder():
    passes, run = Passes(2**30), run_of(CONFIG, MaskKind.CAUSAL)
    model, part = scramble(run.build()), changes(CONFIG, ZERO)[1]
    both = replace(run, interventions=(part, replace(part, kind=MEAN, token=None)))
    for _ in range(2):
        assert_same(passes.record(both, model), both.record(model))
    assert not passes.asked


@pytest.mark.parametrize("kind", InterventionKind)
@pytest.mark.usefixtures("everywhere")
def test_a_sweep_by_replays_is_the_sweep(kind: InterventionKind, monkeypatch: pytest.MonkeyPatch):
    run = run_of(CONFIG, MaskKind.CAUSAL)
    model, parts = scramble(run.build()), [replace(each, kind=kind) for each in heads_of(CONFIG)]
    read = run_of(CONFIG, MaskKind.CAUSAL, shift=4, n=4)
    other = record(model, read.values(), mask=read.pass_mask())
    seen = run.record(model)
    assert [len(batch) for batch in batches(run, parts)] == [len(parts)]
    found = outputs_of_each(run, model, seen, parts, 4, other=other)
    with pytest.raises(ConfigError, match="nearest"):
        outputs_of_each(run, model, seen, (replace(parts[0], layer=9),), 4, other=other)
    monkeypatch.setattr(sweep, "can_capture", lambda *_: False)
    assert_near(found, outputs_of_each(run, model, seen, parts, 4, other=other))


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
