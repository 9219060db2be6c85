"""One run, said whole: what is built, what goes in, who may see whom, on which device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor

from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.embedding import embed_words, random_tensor
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.masks import (
    MaskConfig,
    MaskKind,
    build_mask,
    cross_padding,
    everyone,
    padding,
    shared_causal,
    within,
)
from blocks.model.model_input import PADDING
from blocks.model.models import Model, build
from blocks.model.probe import Replacement
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.observe.interventions import Intervention, patched_paths, replacements
from blocks.observe.recording import Recording, probed, record
from blocks.observe.wiring import kept_stages

START = "[BEGIN]"
PATTERNS = ("pattern", "cross_pattern")


class PaddingSide(StrEnum):
    """The side on which padding is added."""

    RIGHT = "right"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True)
class Input:
    """The input: the tokens of a sentence, or (tokens None) the textbook's random tensor.

    A whole model reads `token_ids` of the `vocabulary` of this name, and `tokens` are their labels.
    `batch` and `seq_len` belong to
    the random tensor; `n_padding` tokens, of the id `padding_id`, are added to either.
    """

    tokens: tuple[str, ...] | None = None
    token_ids: tuple[int, ...] = ()
    vocabulary: str = ""
    padding_id: int = 0
    batch: int = 1
    seq_len: int = 16
    n_padding: int = 0
    padding_side: PaddingSide = PaddingSide.RIGHT

    @property
    def shape(self) -> tuple[int, int]:
        """(batch, seq), padding included."""
        if self.tokens is None:
            return self.batch, self.seq_len + self.n_padding
        return 1, len(self.tokens) + self.n_padding

    @property
    def labels(self) -> tuple[str, ...]:
        """What each position is called: its token, or its number from 1."""
        numbers = tuple(str(i + 1) for i in range(self.seq_len))
        named = numbers if self.tokens is None else self.tokens
        padding = (PADDING,) * self.n_padding
        is_left = self.padding_side is PaddingSide.LEFT
        return padding + named if is_left else named + padding

    @property
    def text(self) -> slice:
        """The positions of the text among all, padding left out."""
        first = self.n_padding if self.padding_side is PaddingSide.LEFT else 0
        return slice(first, first + self.shape[1] - self.n_padding)

    @property
    def padded_ids(self) -> tuple[int, ...]:
        """Token ids, padding included."""
        padding = (self.padding_id,) * self.n_padding
        is_left = self.padding_side is PaddingSide.LEFT
        return padding + self.token_ids if is_left else self.token_ids + padding

    def is_token(self) -> Tensor:
        """(batch, seq), False on padding."""
        batch, seq_len = self.shape
        is_token = torch.ones(batch, seq_len, dtype=torch.bool)
        is_left = self.padding_side is PaddingSide.LEFT
        is_token[:, : self.n_padding if is_left else 0] = False
        is_token[:, seq_len if is_left else seq_len - self.n_padding :] = False
        return is_token

    def vectors(self, d_model: int, seed: int) -> Tensor:
        """(batch, seq, d_model), each value from N(0, 1)."""
        if self.tokens is None:
            return random_tensor(*self.shape, d_model, seed=seed)
        return embed_words(self.labels, d_model, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as plain values; equal runs give equal numbers on equal devices.

    `weights` names those that were learned; where it is empty they are drawn from the seed.
    `interventions` change something inside; those that patch take it from the `other` input.
    Of an encoder–decoder `input` is the source and `target` what is written so far, its first
    token the start token; the mask is that among the target, and no one sees padding.
    """

    config: ModelConfig
    input: Input
    mask: MaskConfig
    seed: int = 0
    device: str = "cpu"
    dtype: str = "float32"
    training: bool = False
    weights: str = ""
    interventions: tuple[Intervention, ...] = ()
    other: Input | None = None
    target: Input | None = None

    @property
    def untouched(self) -> "Run":
        """Return this run without interventions."""
        return replace(self, interventions=(), other=None)

    def build(self) -> Model:
        """The model of this run with weights drawn from the seed."""
        dtype = devices.DTYPES[self.dtype]
        return build(self.config, seed=self.seed, device=self.device, dtype=dtype)

    @property
    def has_target(self) -> bool:
        """Whether two texts go in."""
        return self.config.architecture is Architecture.ENCODER_DECODER

    def build_mask(self, layer: int | None = None) -> Any:
        """The mask of this run, on its device: a tensor or None; of two texts three of them.

        With a `layer`, what is left of it there: a local layer sees a window only.
        """
        window = 0 if layer is None else self.config.window_of(layer)
        found = self._whole_mask()
        if not self.has_target:
            return within(found, self.input.shape[1], window, self.device)
        n_target = self.target_or_start.shape[1]
        return SourceTargetMask(
            source=within(found.source, self.input.shape[1], window, self.device),
            target=within(found.target, n_target, window, self.device),
            cross=found.cross,
        )

    def pass_mask(self) -> Any:
        """`build_mask` for a pass that only reads it: of a plain causal one, that of all passes."""
        if self.mask.mask_kind is MaskKind.CAUSAL and not self.has_target:
            return shared_causal(self.input.shape[1], torch.empty(0, device=self.device).device)
        return self.build_mask()

    def _whole_mask(self) -> Any:
        if self.has_target:
            return self._source_target_mask()
        mask = build_mask(self.mask, self.input.is_token().to(self.device))
        if mask is None and self.config.architecture is Architecture.GPT:
            return everyone(self.input.shape[1], self.device)  # without one a GPT is causal
        return mask

    def _source_target_mask(self) -> SourceTargetMask:
        is_source = self.input.is_token().to(self.device)
        is_target = self.target_or_start.is_token().to(self.device)
        target = build_mask(self.mask, is_target)
        n_target = is_target.shape[1]
        return SourceTargetMask(
            source=padding(is_source),
            target=everyone(n_target, self.device) if target is None else target,
            cross=cross_padding(n_target, is_source),
        )

    @property
    def target_or_start(self) -> Input:
        """The target, or a start token alone where none was named."""
        return self.target or Input(tokens=(START,), token_ids=(0,))

    def values(self) -> Any:
        """Return the input of the model: token ids (batch, seq), or vectors (batch, seq, d_model).

        Of an encoder–decoder a `SourceTarget`.
        """
        if self.has_target:
            texts = (self.input, self.target_or_start)
            return SourceTarget(*(torch.tensor([t.padded_ids], device=self.device) for t in texts))
        if self.config.architecture.reads_tokens:
            return torch.tensor([self.input.padded_ids], device=self.device)
        x = self.input.vectors(self.config.d_model, self.seed)
        return x.to(self.device, devices.DTYPES[self.dtype])

    def record(self, model: Model) -> Recording:
        """Run `model` and keep every stage, and of every head what makes its weights."""
        return record(
            model,
            self.values(),
            mask=self.pass_mask(),
            keep=probed(model, kept_stages(self.config)),
            replace=self.replacements(model),
            training_seed=self.seed if self.training else None,
            later=PATTERNS,
        )

    def replacements(self, model: Model) -> Mapping[str, Replacement]:
        """Return the replacements of changed parts, for `record`."""
        return replacements(self.interventions, self.record_other(model))

    def record_other(self, model: Model) -> Recording | None:
        """What the parts that patches replace wrote for the other input; None without any."""
        paths = patched_paths(self.interventions)
        if not paths or self.other is None:
            return None
        run = replace(self.untouched, input=self.other)
        return record(model, run.values(), mask=run.pass_mask(), keep=paths)


def out_of_memory_fault() -> Fault:
    """What to say where the device had less memory than the estimate hoped for."""
    text = N_("The device ran out of memory (now freed): use a smaller d_model or seq_len")
    return Fault(text)


def guarded_record(
    run: Run, model: Model, record: Callable[[Run, Model], Recording] = Run.record
) -> Recording:
    """`record`, with an out-of-memory turned into a `ConfigError` and the memory freed."""
    try:
        return record(run, model)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if not devices.is_out_of_memory(error):
            raise
    devices.free_memory()
    raise ConfigError([out_of_memory_fault()])


def warm_up(device: str) -> None:
    """Run a small block once, so that no reader's first run is timed with loading kernels.

    On an accelerator in both formats that are asked for there: kernels of ours are compiled.
    """
    config = ModelConfig.from_flat({"d_model": 16, "n_heads": 2, "position_kind": "rope"})
    for dtype in ("float32",) if device == "cpu" else ("float32", "bfloat16"):
        run = Run(config=config, input=Input(), mask=MaskConfig(), device=device, dtype=dtype)
        run.record(run.build())
