"""No pass stops for the host: what a CUDA graph could not hold is refused here, without a GPU.

Tensors of the meta device stand for an accelerator's: they have no values, so what would wait for
one fails by itself; what is made of Python numbers or sent from the host fails here.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from drawn_configs import SEEDS, drawn, small
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from blocks import PRESETS, ModelConfig
from blocks.model.experts import MixtureOfExperts
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import KVCache
from blocks.model.masks import MaskConfig, MaskKind, build_mask
from blocks.model.models import GPT, Encoder, Model, _unfilled
from blocks.model.probe import listening, name_probes
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.observe.edits import Edits
from blocks.observe.interventions import InterventionKind, heads_of, replacements
from blocks.observe.recording import Recorder
from blocks.observe.replay import _Editing
from blocks.observe.run import PATTERNS
from blocks.observe.wiring import kept_stages
from blocks.text.decoding import Decoding
from blocks.text.sampling import SamplingConfig
from blocks.training.masters import Masters
from blocks.training.muon import Muon
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch
from blocks.training.tasks import TaskConfig, TaskKind
from blocks.training.update import Update

META = torch.device("meta")
N_TOKENS = 8
PADDED = MaskKind.CAUSAL_PADDING
SENT = {torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy}


class NothingMade(TorchFunctionMode):
    """Refuses tensors that are made of Python values."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in SENT:
            pytest.fail(f"{func.__name__} makes a tensor of Python values")
        return func(*args, **(kwargs or {}))


class NothingSent(TorchDispatchMode):
    """Refuses operations that read a tensor of the host, or bring one to another device."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        read = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if hosts := {x.device for x in [*read, *_tensors(out)]} - {META}:
            pytest.fail(f"{func} meets a tensor of {hosts}")
        return out


def _tensors(out: Any) -> Iterable[Tensor]:
    return (x for x in tree_leaves(out) if isinstance(x, Tensor))


def some_input(config: ModelConfig, n: int = N_TOKENS) -> Any:
    if config.architecture is Architecture.BLOCK:
        return torch.empty(1, n, config.d_model, device=META)
    ids = torch.empty(1, n, dtype=torch.long, device=META)
    return SourceTarget(ids, ids) if config.architecture is Architecture.ENCODER_DECODER else ids


def some_mask(config: ModelConfig, kind: MaskKind) -> Any:
    is_token = torch.empty(1, N_TOKENS, dtype=torch.bool, device=META)
    mask = build_mask(MaskConfig(mask_kind=kind), is_token)
    is_two = config.architecture is Architecture.ENCODER_DECODER
    return SourceTargetMask(target=mask) if is_two else mask


def run_all_ways(model: Model, config: ModelConfig) -> None:
    """Recorded as a page does, with every tensor, padded and changed, and token by token."""
    x, kept = some_input(config), kept_stages(config)
    changing = _Editing((), (), Edits(InterventionKind), summed=True)
    ways = [
        (Recorder(kept, {}, PATTERNS), MaskKind.CAUSAL),
        (Recorder(None, {}), PADDED),
        (changing, PADDED),
    ]
    for recorder, kind in ways:
        if kind is PADDED and not isinstance(x, tuple):  # what fills a text up is not counted
            recorder.moments.counted = torch.empty(N_TOKENS, dtype=torch.bool, device=META)
        with listening(recorder):
            model(x, some_mask(config, kind))
        assert len(recorder.moments.rows()) == len(recorder.stages)
    if isinstance(model, Encoder) and config.architecture is Architecture.GPT:
        cache = KVCache(config)
        for n in (N_TOKENS - 1, 1):
            model(some_input(config, n), cache=cache)
        write(model, cache)


def write(model: Encoder, cache: KVCache) -> None:
    """A token from tensors that stay, seen and drawn."""
    sampling = SamplingConfig(temperature=0.7, top_k=3, top_p=0.9)
    assert isinstance(model, GPT)
    room, random = 2 * N_TOKENS, torch.Generator()
    off = replacements(heads_of(model.config)[:1])
    how = {"room": room, "is_observed": True, "replace": off}
    written = Decoding(model, cache, 1, sampling, random, **how)
    written._chances = torch.empty(model.config.vocab_size, device=META)
    written.step()


def check(config: ModelConfig) -> None:
    model = _unfilled(config)
    name_probes(model)
    with torch.no_grad():
        run_all_ways(model, config)  # what is kept for later passes is sent in the first
        with NothingMade(), NothingSent():
            run_all_ways(model, config)


def unlike_presets() -> list[Any]:
    """Of presets that differ in sizes alone, one."""
    found = {small(config): name for name, config in PRESETS.items()}
    return [pytest.param(config, id=name) for config, name in found.items()]


@pytest.fixture(autouse=True)
def _experts_set_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which tokens an expert reads is a shape that the router decides: see its class."""
    monkeypatch.setattr(MixtureOfExperts, "run_experts", lambda self, x, *_: x)


def updated(config: ModelConfig) -> Callable[[], None]:
    """An update of all matrices; torch says of its own optimizers what can be captured."""
    model = _unfilled(config.replace(tie_embeddings=False))
    name_probes(model)
    recipe = Recipe(clip_norm=1.0, weight_decay=0.1)
    task = TaskConfig(kind=TaskKind.TEXT, seq_len=N_TOKENS)
    spec = TrainingSpec(config=config, task=task, recipe=recipe, device="meta")
    matrices = [each for each in model.parameters() if each.dim() == 2]
    optimizer = Muon(matrices)
    optimizer.param_groups[0]["lr"] = torch.empty((), device=META)
    update = Update(spec, Masters(model, model), [optimizer], None)
    ids = some_input(config)
    update._batch = Batch(ids, ids.target if isinstance(ids, SourceTarget) else ids)
    return update.work


@pytest.mark.parametrize("config", unlike_presets())
@pytest.mark.thinned
def test_no_preset_stops_for_the_host(config: ModelConfig):
    check(config)


def test_no_configuration_stops_for_the_host():
    for seed in SEEDS[::2]:
        check(drawn(seed).replace(dropout=0.0))


def test_no_update_stops_for_the_host():
    for config in (drawn(seed).replace(dropout=0.0) for seed in SEEDS[1::3]):
        if config.architecture is not Architecture.BLOCK:
            work = updated(config)
            work()
            with NothingMade(), NothingSent():
                work()
