"""A stack of layers that is built only to be measured: how deep, how wide, and with which loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.cost.parameters import total_parameters
from blocks.cost.units import bytes_text
from blocks.inspection.depth import DepthPass, LossOf, measure_depth
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.dropout import training_mode
from blocks.model.faults import N_, Fault
from blocks.model.kinds import Architecture, NormPlacement, PositionKind
from blocks.model.models import build
from blocks.model.normalization import at_least_float32, build_norm
from blocks.model.placements import placed
from blocks.model.probe import Probe
from blocks.model.randomness import generator
from blocks.observe.run import Run

N_CLASSES = 64
DEPTHS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
WIDTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
MOST_SEQUENCES = 4


@dataclass(frozen=True)
class Stack:
    """A stack to measure: the run whose layers it has, how deep, how wide, how it is drawn."""

    run: Run
    placement: str
    n_layers: int
    width: int
    initialization: str
    seed: int

    @property
    def config(self) -> ModelConfig:
        """The configuration of the stack."""
        config = placed(self.run.config, self.placement)
        return stack_config(
            config, n_layers=self.n_layers, width=self.width, initialization=self.initialization
        )

    @property
    def reads_own_stream(self) -> bool:
        """Whether it is as wide as the run, so that it can read what its first layer reads."""
        return self.width >= self.run.config.d_model

    @property
    def n_tokens(self) -> int:
        """How many tokens go in, padding included."""
        batch, seq_len = self.run.input.shape
        return min(batch, MOST_SEQUENCES) * seq_len

    @property
    def _sizes(self) -> dict[str, Any]:
        """Of what goes in: the sequences that are measured, their length, the number format."""
        batch, seq_len = self.run.input.shape
        dtype = devices.DTYPES[self.run.dtype]
        return {"batch": min(batch, MOST_SEQUENCES), "seq_len": seq_len, "dtype": dtype}

    def fault(self, budget: int) -> Fault | None:
        """What forbids it within `budget` bytes, with the nearest that fits."""
        return stack_memory_fault(self.config, **self._sizes, budget=budget)

    @property
    def n_bytes(self) -> int:
        """What one pass forward and back takes, from above."""
        return estimate_stack_memory(self.config, **self._sizes)

    def measure(self, stream: Tensor) -> DepthPass:
        """Measure one pass forward and back, on the `stream` that entered the run's first layer.

        A narrower stack reads vectors of the run's words. The stack is gone afterwards.
        """
        run = self.run
        x = stream if self.reads_own_stream else run.input.vectors(self.width, run.seed)
        x = x.to(run.device, devices.DTYPES[run.dtype])
        mask = run.build_mask()
        if mask is not None and mask.dim() > 2:
            mask = mask[:MOST_SEQUENCES]
        is_token = run.input.is_token()[:MOST_SEQUENCES]
        return measure_stack(
            self.config, x[:MOST_SEQUENCES], mask, is_token=is_token, seed=self.seed
        )


@dataclass(frozen=True)
class StackSeries:
    """The one pass of a stack as work for another process, with the stream that it reads."""

    stack: Stack
    stream: NDArray[np.float32 | np.float64] = field(compare=False)
    is_timed: ClassVar[bool] = False
    n_steps: ClassVar[int] = 1

    @property
    def device(self) -> str:
        """The device on which it is measured."""
        return self.stack.run.device

    def results(self, _done: Sequence[DepthPass]) -> Iterator[DepthPass]:
        """The pass."""
        yield self.stack.measure(torch.from_numpy(self.stream))


def stack_config(config: ModelConfig, *, n_layers: int, width: int, **more: Any) -> ModelConfig:
    """Return a configuration of this many layers like those of `config`, no wider than `width`.

    A narrower layer keeps d_head and the ratio of d_ff to d_model, as nearly as can be. Positions
    that are added belong to what goes in, and are left out; so is dropout. `more`: other fields
    that differ.
    """
    changes: dict[str, Any] = {
        **more,
        "architecture": Architecture.BLOCK,
        "n_layers": n_layers,
        "dropout": 0.0,
    }
    if config.position.position_kind.is_added:
        changes["position_kind"] = PositionKind.NONE
    if width < config.d_model:
        changes |= _narrow(config, width)
    return config.nearest(**changes)[0]


def _narrow(config: ModelConfig, width: int) -> dict[str, Any]:
    n_heads = max(1, config.n_heads * width // config.d_model)
    group, d_expert = config.n_heads // config.n_kv_heads, config.experts.d_expert
    return {
        "d_model": width,
        "n_heads": n_heads,
        "n_kv_heads": None if group == 1 else max(1, n_heads // group),
        "d_ff": max(1, config.d_ff * width // config.d_model),
        "d_expert": d_expert and max(1, d_expert * width // config.d_model),
    }


def measure_stack(
    config: ModelConfig, x: Tensor, mask: Tensor | None, *, is_token: Tensor, seed: int
) -> DepthPass:
    """Build the stack from `seed`, guess a random class at every token, and go back.

    `x` is (batch, seq, d_model), `is_token` (batch, seq), False on padding. BatchNorm uses the
    batch's statistics, as in training. Nothing of the model is left behind.
    """
    model = build(config, seed=seed, device=str(x.device), dtype=x.dtype)
    loss_of = random_probe(config, is_token.to(x.device), seed)
    with training_mode(generator(seed, "depth")):
        return measure_depth(list(model.layers), x, mask, is_token=is_token, loss_of=loss_of)


def random_probe(config: ModelConfig, is_token: Tensor, seed: int) -> LossOf:
    """Cross entropy of a linear probe with N_CLASSES random classes, in nats per token.

    It reads the final norm, as whole models of this placement do. The probe's weights are from
    N(0, 1/d_model), and they and the classes depend on `seed` alone.
    """
    random = generator(seed, "depth", "probe")
    weight = torch.randn(N_CLASSES, config.d_model, generator=random) / config.d_model**0.5
    classes = torch.randint(N_CLASSES, is_token.shape, generator=random).to(is_token.device)
    is_post = config.norm.norm_placement is NormPlacement.POST
    without_scale = config.replace(norm_affine=False)
    final_norm = nn.Identity() if is_post else build_norm(without_scale, Probe("final_norm"))

    def loss(stream: Tensor) -> Tensor:
        logits = F.linear(final_norm(stream), weight.to(stream))
        return F.cross_entropy(at_least_float32(logits[is_token]), classes[is_token])

    return loss


def estimate_stack_memory(
    config: ModelConfig, *, batch: int, seq_len: int, dtype: torch.dtype
) -> int:
    """Bytes of one pass forward and back, from above: weights, gradients, and what is kept.

    A layer keeps what its norms, projections, softmax and activation need on the way back.
    """
    tokens = batch * seq_len
    itemsize = max(dtype.itemsize, torch.float32.itemsize)
    streams = 18 * tokens * config.d_model
    heads = tokens * config.d_qk * (4 * config.n_heads + 4 * config.n_kv_heads)
    patterns = 3 * tokens * config.n_heads * seq_len
    hidden = 4 * tokens * config.n_hidden
    n_parameters = total_parameters(config)
    kept = config.n_layers * (streams + heads + patterns + hidden) * itemsize
    at_once = (5 * tokens * config.n_heads * seq_len + 4 * tokens * config.n_hidden) * itemsize
    return 2 * n_parameters * dtype.itemsize + kept + at_once


def stack_memory_fault(
    config: ModelConfig, *, batch: int, seq_len: int, dtype: torch.dtype, budget: int
) -> Fault | None:
    """What is wrong where the stack would not fit into `budget` bytes, with sizes that do fit."""

    def need(n_layers: int, width: int) -> int:
        smaller = stack_config(config, n_layers=n_layers, width=width)
        return estimate_stack_memory(smaller, batch=batch, seq_len=seq_len, dtype=dtype)

    needed = need(config.n_layers, config.d_model)
    if needed <= budget:
        return None
    shallower = [n for n in DEPTHS if n < config.n_layers and need(n, config.d_model) <= budget]
    mend: dict[str, object] = {"depth": max(shallower, default=1)}
    if not shallower:
        narrower = [n for n in WIDTHS if n < config.d_model and need(1, n) <= budget]
        mend |= {"depth_width": max(narrower, default=WIDTHS[0])}
    text = N_(
        "{depth} layers need about {need} for the forward and backward passes, more than the "
        "{budget} allowed here: use {choice}"
    )
    values = {
        "depth": config.n_layers,
        "need": bytes_text(needed),
        "budget": bytes_text(budget),
        "choice": ", ".join(f"{name} {value}" for name, value in mend.items()),
    }
    return Fault(text, values, mend)
