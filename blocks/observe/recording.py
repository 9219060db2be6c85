"""Recording what passes a model's probes in one run."""

import reprlib
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd
import torch
from torch import Tensor, nn

from blocks.model import devices
from blocks.model.attention import ALL, Pattern, query_blocks
from blocks.model.dropout import training_mode
from blocks.model.faults import N_, ConfigError, Fault, UnknownNameError, unknown_fault
from blocks.model.model_input import check_input
from blocks.model.probe import Probe, Replacement, Stage, listening
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.observe import flow, heads
from blocks.observe.names import own_name


class Recorder:
    """Listens to the probes during one pass."""

    def __init__(
        self,
        keep: Collection[str] | None,
        replace: Mapping[str, Replacement],
        later: Collection[str] = (),
    ):
        self.keep = keep
        self.replace = replace
        self.later = later
        self.patterns: dict[str, Pattern] = {}
        self.passed: set[str] = set()
        self.stages: list[str] = []
        self.moments = flow.StageMoments()
        self.tensors: dict[str, Tensor] = {}

    def wants(self, probe: Probe) -> bool:
        """Whether this probe's tensor is kept or replaced."""
        return self.keeps(probe.path) or probe.path in self.replace

    def keeps(self, path: str) -> bool:
        """Whether this path is kept: named whole, or by its last word, or all are.

        Weights that something is put in the place of are kept as they are: nothing makes them.
        """
        if self.keep is None or _is_named(path, self.keep):
            return True
        return _is_named(path, self.later) and self._is_changed(path)

    def offered(self, probe: Probe, later: Callable[[], Pattern]) -> None:
        """Keep what makes the weights of this path, where they are wanted later."""
        if _is_named(probe.path, self.later) and not self.keeps(probe.path):
            self.patterns[probe.path] = later()

    def _is_changed(self, path: str) -> bool:
        return path in self.replace or path.replace("pattern", "scores") in self.replace

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Record a value and return the one to pass on."""
        self.passed.add(probe.path)
        if probe.path in self.replace:
            x = self.replace[probe.path](x)
        if isinstance(probe, Stage):
            self.stages.append(probe.path)
            self.moments.add(x)
        if self.keeps(probe.path):
            self.tensors[probe.path] = x
        return x

    def check_passed(self, names: Collection[str], known: Mapping[str, str]) -> None:
        """Raise `ConfigError` for each of these names that no probe has that passed.

        `known`: the paths of probes by all names that a caller may use for them.
        """
        missed = [name for name in names if known.get(name, name) not in self.passed]
        if missed:
            choices = known.keys() | self.passed
            raise ConfigError(_missed_fault(name, choices) for name in missed)

    def check_named(self, names: Collection[str], model: object) -> None:
        """Raise `ConfigError` for each of these names that is neither a probe nor its last word.

        The parts of the model are gone through only where not all of them have passed.
        """
        passed = _with_last_words(self.passed)
        if unmet := [name for name in names if name not in passed]:
            choices = passed | _with_last_words(_probe_paths(model))
            if missed := [name for name in unmet if name not in choices]:
                raise ConfigError(unknown_fault(NO_PROBE, name, choices) for name in missed)


def _with_last_words(paths: Collection[str]) -> set[str]:
    return {*paths, *(path.rpartition(".")[2] for path in paths)}


def probed(model: object, names: Collection[str]) -> set[str]:
    """Those of the names that probes of this model have, for `keep`."""
    return _with_last_words(_probe_paths(model)) & {*names}


def _is_named(path: str, names: Collection[str]) -> bool:
    return path in names or path.rpartition(".")[2] in names


def _missed_fault(name: str, names: Collection[str]) -> Fault:
    if name in names:
        text = N_("This pass did not go through {name}, so nothing was replaced: leave it out")
        return Fault(text, {"name": name})
    return unknown_fault(NO_PROBE, name, names)


def _unrecorded_fault(path: str, kept: Collection[str]) -> Fault:
    if not kept:
        text = N_('This recording kept no tensors: record again with keep=["{name}"]')
        return Fault(text, {"name": path})
    text = N_("{name} is not in this recording: the nearest names are {names}")
    return unknown_fault(text, path, kept)


NO_PROBE = N_("Nothing here is called {name}: the nearest names are {names}")
NO_MAPPING = N_(
    "replace must map names of probes to functions, but this is {value}: use replacements(…) "
    "from blocks.observe.interventions"
)


def _no_probes_fault(model: object) -> Fault:
    text = N_("{model} has no probes: use blocks.attach to look into a module of your own")
    return Fault(text, {"model": type(model).__name__})


def _check_probes(model: object) -> None:
    """Refuse a module without any before it is run; what else can be called may have some."""
    if isinstance(model, nn.Module) and not any(isinstance(x, Probe) for x in model.modules()):
        raise ConfigError([_no_probes_fault(model)])


def _probe_paths(model: object) -> dict[str, str]:
    """Of a module of ours, or of a method of it: the path of each probe, by itself."""
    module = getattr(model, "__self__", model)
    parts = module.modules() if isinstance(module, nn.Module) else ()
    return {part.path: part.path for part in parts if isinstance(part, Probe)}


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """What one pass showed. Tensors stay on the device; frames cross in one transfer.

    `stages`: paths in the order in which they passed; `moments`: one row per stage, columns
    `flow.MOMENTS`; `tensors`: what was kept, by path; `milliseconds`: measured; `patterns`: what
    makes the attention weights that are asked for later, by path; `is_replayed`: the device did it
    as one graph, without Python.
    """

    stages: tuple[str, ...]
    moments: Tensor
    tensors: Mapping[str, Tensor]
    output: Tensor
    milliseconds: float
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    is_replayed: bool = False

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.output.shape))
        kept = f"{len(self.stages)} stages, {len(self.tensors)} tensors kept"
        return f"Recording({kept}, output {shape}, {self.milliseconds:.1f} ms)"

    @cached_property
    def kept_bytes(self) -> int:
        """Memory that the recording holds, exactly: what two tensors share counts once."""
        made_of = [(each.q, each.k, each.mask) for each in self.patterns.values()]
        also = (tensor for each in made_of for tensor in each if tensor is not None)
        held = (*self.tensors.values(), self.moments, self.output, *also)
        storages = (tensor.untyped_storage() for tensor in held)
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())

    def tensor(self, name: str, layer: int = 0, *, stack: str = "") -> Tensor:
        """What passed the probe `name`, whole path or name within a layer.

        `stack` is the half of an encoder–decoder: encoder or decoder. Raises `ConfigError`, which
        is a KeyError too, where nothing of that name was kept.
        """
        path = self._path(name, layer, stack)
        if path in self.patterns:
            return self.patterns[path].rows()
        if path not in self.tensors:
            kept = (*self.tensors, *self.patterns)
            raise UnknownNameError([_unrecorded_fault(path, kept)])
        return self.tensors[path]

    def pattern(
        self,
        layer: int = 0,
        *,
        stack: str = "",
        heads: slice = ALL,
        queries: slice = ALL,
        name: str = "pattern",
    ) -> Tensor:
        """Attention pattern of a layer: (batch, n_heads, query, key), or some of it.

        Of a long text, ask for the heads and queries that are looked at: what was not kept whole is
        made for them alone. `name`: cross_pattern of a decoder that reads a source.
        """
        if made := self.patterns.get(self._path(name, layer, stack)):
            return made.rows(heads, queries)
        whole = self.tensor(name, layer, stack=stack)
        return whole if heads == queries == ALL else whole[:, heads, queries]

    def pattern_shape(
        self, layer: int = 0, *, stack: str = "", name: str = "pattern"
    ) -> tuple[int, int, int, int]:
        """(batch, n_heads, query, key), without making it."""
        if made := self.patterns.get(self._path(name, layer, stack)):
            return made.shape
        batch, n_heads, n_queries, n_keys = self.tensor(name, layer, stack=stack).shape
        return batch, n_heads, n_queries, n_keys

    def _path(self, name: str, layer: int, stack: str) -> str:
        half, name = f"{stack}." if stack else "", own_name(name)
        is_whole = name in self.tensors or name in self.patterns
        return name if is_whole else f"{half}layers.{layer}.{name}"

    def flow(self) -> pd.DataFrame:
        """One row per stage: layer, stage, mean, std, min, max, rms, outlier_share.

        Of an encoder–decoder the column `stack` says first in which half.
        """
        return flow.frame(self.stages, self.moments)

    def heads(
        self, mask: Tensor | None = None, layer: int = 0, tokens: Sequence[Hashable] = ()
    ) -> pd.DataFrame:
        """One row per head: what `observe.heads` measures of it, some queries at a time."""
        shape = self.pattern_shape(layer)
        some = (self.pattern(layer, queries=rows) for rows in query_blocks(shape))
        return heads.frame_of(some, mask, layer=layer, tokens=tokens)


def record(
    model: Callable[..., Tensor],
    x: Tensor | SourceTarget,
    *,
    mask: Tensor | SourceTargetMask | None = None,
    keep: Collection[str] | None = None,
    replace: Mapping[str, Replacement] | None = None,
    training_seed: int | None = None,
    later: Collection[str] = (),
) -> Recording:
    """Run `model` once on `x` and return what its probes saw.

    `keep` names the probes whose tensors are kept (all by default); every stage is summed up
    in any case. `replace` maps a probe's path to a function that changes what passes.
    With a `training_seed` the pass is one of training mode: dropout on, batch statistics.
    Names of TransformerLens' hooks stand for probes of the same axes (`own_name`).
    `later` names attention weights (`pattern`, `cross_pattern`) that are made where they are asked
    for: memory and time of the pass then grow with the text and not with its square.
    Raises `ConfigError` where the model cannot read `x`, and where a name of `keep` or
    `replace` is none of its probes.
    """
    check_input(model, x)
    _check_probes(model)
    if replace is not None and not isinstance(replace, Mapping):
        raise ConfigError([Fault(NO_MAPPING, {"value": reprlib.repr(replace)})])
    kept = None if keep is None else {*map(own_name, keep)}
    changes = {own_name(name): change for name, change in (replace or {}).items()}
    recorder = Recorder(kept, changes, later)
    training: AbstractContextManager[None] = nullcontext()
    if training_seed is not None:
        training = training_mode(generator(training_seed, "dropout"))
    with listening(recorder), torch.no_grad(), training:
        devices.synchronize(x.device)
        start = time.perf_counter()
        output = model(x, mask)
        devices.synchronize(x.device)
        milliseconds = 1000 * (time.perf_counter() - start)
    if changes:
        recorder.check_passed(changes, _probe_paths(model))
    if not recorder.passed:
        raise ConfigError([_no_probes_fault(model)])
    recorder.check_named(kept or (), model)
    return Recording(
        stages=tuple(recorder.stages),
        moments=recorder.moments.rows(),
        tensors=recorder.tensors,
        output=output,
        milliseconds=milliseconds,
        patterns=recorder.patterns,
    )
