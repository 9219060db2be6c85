"""One run, said whole: what is built, what goes in, who may see whom, on which device."""

from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from blocks import devices
from blocks.config import ModelConfig
from blocks.cost.memory import memory_fault
from blocks.embedding import embed_words, random_tensor
from blocks.faults import N_, ConfigError, Fault
from blocks.inspection.wiring import wiring
from blocks.masks import MaskConfig, build_mask
from blocks.models import Model, build
from blocks.probe import Recording, record
from blocks.text.words import PADDING


class PaddingSide(StrEnum):
    """Where padding stands."""

    RIGHT = "right"
    LEFT = "left"


@dataclass(frozen=True, kw_only=True)
class Input:
    """What goes in: the tokens of a sentence, or (tokens None) the textbook's random tensor.

    `batch` and `seq_len` belong to the random tensor; `n_padding` tokens are added to either.
    """

    tokens: tuple[str, ...] | None = None
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
    """A run as plain values; equal runs give equal numbers on equal devices."""

    config: ModelConfig
    input: Input
    mask: MaskConfig
    seed: int = 0
    device: str = "cpu"
    dtype: str = "float32"
    training: bool = False

    def fault(self, budget: int) -> Fault | None:
        """What forbids this run, given a memory budget in bytes; with the mend."""
        batch, seq_len = self.input.shape
        dtype = devices.DTYPES[self.dtype]
        return memory_fault(self.config, batch=batch, seq_len=seq_len, dtype=dtype, budget=budget)

    def build(self) -> Model:
        """The model of this run."""
        dtype = devices.DTYPES[self.dtype]
        return build(self.config, seed=self.seed, device=self.device, dtype=dtype)

    def build_mask(self) -> Tensor | None:
        """The mask of this run, on its device."""
        return build_mask(self.mask, self.input.is_token().to(self.device))

    def record(self, model: Model) -> Recording:
        """Run `model` and keep every stage and every head."""
        x = self.input.vectors(self.config.d_model, self.seed)
        return record(
            model,
            x.to(self.device, devices.DTYPES[self.dtype]),
            mask=self.build_mask(),
            keep={"pattern", *(step.stage for step in wiring(self.config))},
            training_seed=self.seed if self.training else None,
        )


def out_of_memory_fault() -> Fault:
    """What to say where the device had less memory than the estimate hoped for."""
    text = N_("The device ran out of memory (freed again): use a smaller d_model or seq_len")
    return Fault(text)


def guarded_record(run: Run, model: Model) -> Recording:
    """`run.record`, with an out-of-memory turned into a `ConfigError` and the memory freed."""
    try:
        return run.record(model)
    except (torch.OutOfMemoryError, RuntimeError) as error:
        if not devices.is_out_of_memory(error):
            raise
    devices.free_memory()
    raise ConfigError([out_of_memory_fault()])


def warm_up(device: str) -> None:
    """Run a small block once, so that no reader's first run is timed with loading kernels."""
    config = ModelConfig.from_flat({"d_model": 16, "n_heads": 2})
    run = Run(config=config, input=Input(), mask=MaskConfig(), device=device)
    run.record(run.build())
