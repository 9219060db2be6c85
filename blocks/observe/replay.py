"""Recorded passes that run again: other texts of about one length, other parts switched off.

Of a pass of fixed shapes the input, the mask, what is put in the place of parts, and what probes
saw, are in tensors that stay. So on CUDA it is one graph: switching a head off writes one number.
"""

import time
import weakref
from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from blocks.model import devices
from blocks.model.masks import is_shared_causal
from blocks.model.models import Model
from blocks.model.probe import Probe, listening
from blocks.observe.captured import can_capture, captured, fill, reserved_bytes
from blocks.observe.edits import PARTS, Edits, are_data, kinds_of
from blocks.observe.filled import Filled, filled, filled_length
from blocks.observe.interventions import Intervention, InterventionKind, patched_paths
from blocks.observe.recording import Recorder, Recording
from blocks.observe.run import PATTERNS, Run
from blocks.observe.wiring import kept_stages

MOST_ASKED = 64  # passes that are remembered, to know one that comes twice


class Replay:
    """One recorded pass of fixed shapes, to be run again with other values; by any thread.

    `kinds`: what can be done to its parts; `summed`: stages are summed up, or else the output is
    all that it shows, and texts are rows of one. The model is not kept alive.
    """

    def __init__(
        self,
        model: Model,
        text: Filled,
        *,
        keep: Collection[str],
        later: Collection[str] = (),
        kinds: Collection[InterventionKind] = (),
        summed: bool = True,
    ):
        self.model = weakref.ref(model)
        own, device = _Own(), text.x.device
        self._text = Filled(own(text.x), own(text.mask), own(text.is_text))
        self._keep, self._later, self._summed = keep, later, summed
        self._edits = Edits(kinds, len(text.x) if summed and isinstance(text.x, Tensor) else 1)
        self._lock = Lock()
        before = reserved_bytes(device)
        self.again = captured(self._run, device)  # does not hold `_run`: that would keep both
        self.nbytes = max(self._left_bytes(), reserved_bytes(device) - before)

    def _run(self) -> None:
        model = self.model()
        assert model is not None
        recorder = _Editing(self._keep, self._later, self._edits, summed=self._summed)
        recorder.moments.counted = self._text.is_text
        with listening(recorder), torch.no_grad():
            output = model(self._text.x, self._text.mask)
        moments = recorder.moments.rows() if self._summed else output.new_empty(0)
        self._seen = recorder, output, moments

    def __call__(
        self, text: Filled, changes: Sequence[Intervention] = (), other: Recording | None = None
    ) -> Recording:
        """What `record` shows of the same pass, in tensors of its own."""
        with self._lock:  # what this one writes, no other overwrites until it is read
            self._write(text)
            self._check(changes)
            self._edits.write(changes, text.n, other)
            devices.synchronize(text.x.device)
            start = time.perf_counter()
            self.again(self._run)
            devices.synchronize(text.x.device)
            milliseconds = 1000 * (time.perf_counter() - start)
            return self._recording(text, milliseconds)

    def outputs_of_each(
        self, changes: Sequence[Intervention], position: int, other: Recording | None = None
    ) -> Tensor:
        """The output at a position of each row, with one of the changes in each: (part, …)."""
        with self._lock:
            self._check(changes)
            self._edits.write_each(changes, other)
            self.again(self._run)
            return self._seen[1][: len(changes), position].clone()

    def _write(self, text: Filled) -> None:
        fill(self._text.x, text.x)
        fill(self._text.mask, text.mask)
        fill(self._text.is_text, text.is_text)

    def _check(self, changes: Sequence[Intervention]) -> None:
        known = {path: path for path in self._edits.paths}
        self._seen[0].check_passed([each.path for each in changes], known)

    def _recording(self, text: Filled, milliseconds: float) -> Recording:
        recorder, output, moments = self._seen
        own = _Own(text)
        patterns = {
            path: replace(each, q=own(each.q, 2), k=own(each.k, 2), mask=own(each.mask, -2, -1))
            for path, each in recorder.patterns.items()
        }
        return Recording(
            stages=tuple(recorder.stages),
            moments=own(moments),
            tensors={path: own(x, -2) for path, x in recorder.tensors.items()},
            output=own(output, 1),
            milliseconds=milliseconds,
            patterns=patterns,
            is_replayed=self.again.is_graph,
        )

    def _left_bytes(self) -> int:
        recorder, output, moments = self._seen
        left = (output, moments, *recorder.tensors.values())
        made_of = [(each.q, each.k) for each in recorder.patterns.values()]
        return sum(x.nbytes for x in (*left, *(x for pair in made_of for x in pair)))


class _Editing(Recorder):
    """Makes the changes of parts, and sees what comes of them."""

    def __init__(
        self, keep: Collection[str], later: Collection[str], edits: Edits, *, summed: bool
    ):
        super().__init__(keep, {}, later)
        self._edits, self._summed = edits, summed

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Record what passes on."""
        x = self._edits.made(probe.path, x, self.moments.counted)
        self.passed.add(probe.path)
        return super().see(probe, x) if self._summed else x


class _Own:
    """Copies of tensors; one that comes twice is copied once.

    With a `text` they are cut: what it was filled up with is left out.
    """

    def __init__(self, text: Filled | None = None) -> None:
        self._text = text
        self._copies: dict[int, Tensor] = {}

    def __call__(self, x: Any, *axes: int) -> Any:
        """A copy of a tensor, or of each in a tuple; the shared mask, which stays, as it is."""
        if isinstance(x, tuple):
            return type(x)(*map(self, x))
        if x is None:
            return x
        if id(x) not in self._copies:
            cut = x if self._text is None else self._text.cut(x, *axes)
            is_shared = x.dtype is torch.bool and is_shared_causal(x)
            self._copies[id(x)] = cut if is_shared else cut.clone()
        return self._copies[id(x)]


class Passes:
    """Replays of the passes that came twice: the last ones, as many as have room.

    Where a device holds no graphs, and of what is asked for once, the recorder runs as ever.
    """

    def __init__(self, most_bytes: int):
        self.most_bytes = most_bytes
        self.asked: OrderedDict[Hashable, str] = OrderedDict()  # why one is not held, if refused
        self._replays: OrderedDict[Hashable, Replay] = OrderedDict()
        self._lock = Lock()

    @property
    def held(self) -> tuple[Replay, ...]:
        """Those whose model is alive, the last used at the end."""
        for key in [key for key, each in self._replays.items() if each.model() is None]:
            del self._replays[key]
        return tuple(self._replays.values())

    def record(self, run: Run, model: Model) -> Recording:
        """As `run.record`: what a pass of this run shows."""
        if run.training or not can_capture(run.config, run.device):
            return run.record(model)
        seen = self._replayed(run, model, kept_stages(run.config), PATTERNS)
        return run.record(model) if seen is None else seen

    def _replayed(
        self, run: Run, model: Model, keep: Collection[str], later: Collection[str]
    ) -> Recording | None:
        if not are_data(run.interventions):
            return None
        x, mask, kinds = run.values(), run.pass_mask(), kinds_of(run.interventions)
        text = filled(x, mask, filled_length(run.config, x))
        key = id(model), _shape(text.x), _shape(text.mask), kinds, frozenset(keep)
        with self._lock:
            found = self._found(key, model)
            found = found or self._made(key, model, text, keep=keep, later=later, kinds=kinds)
        if found is None:
            return None
        return found(text, run.interventions, self._of_other(run, model))

    def _of_other(self, run: Run, model: Model) -> Recording | None:
        """What parts wrote for the other text, where any of that is put into this one."""
        if not patched_paths(run.interventions) or run.other is None:
            return None
        read = replace(run.untouched, input=run.other)
        seen = self._replayed(read, model, PARTS, ())
        return run.record_other(model) if seen is None else seen

    def _found(self, key: Hashable, model: Model) -> Replay | None:
        found = self._replays.get(key) if self.held else None
        if found is None or found.model() is not model:
            return None
        self._replays.move_to_end(key)
        return found

    def _made(self, key: Hashable, model: Model, text: Filled, **how: Any) -> Replay | None:
        """One that is new, where the same was asked for before and not refused."""
        if (refused := self.asked.get(key)) is None or refused:
            self._note(key, refused or "")
            return None
        try:
            made = Replay(model, text, **how)
        except RuntimeError as error:  # no memory, or an operation that no graph can hold
            self._note(key, str(error).partition("\n")[0] or type(error).__name__)
        else:
            self._replays[key] = made
            self._make_room()
            return made
        devices.free_memory()
        return None

    def _note(self, key: Hashable, refused: str) -> None:
        self.asked[key] = refused
        self.asked.move_to_end(key)
        if len(self.asked) > MOST_ASKED:
            self.asked.popitem(last=False)

    def _make_room(self) -> None:
        """Let go of the oldest until the rest has room; the newest stays."""
        held = self.held
        n_bytes = sum(each.nbytes for each in held)
        for each in held[:-1]:
            if n_bytes > self.most_bytes:
                n_bytes -= each.nbytes
                self._replays.popitem(last=False)


def _shape(x: Any) -> Hashable:
    """What two inputs have alike that one graph serves."""
    if isinstance(x, tuple):
        return tuple(map(_shape, x))
    is_shared = x is not None and x.dtype is torch.bool and is_shared_causal(x)
    return None if x is None else (*x.shape, x.dtype, is_shared)
