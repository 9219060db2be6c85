"""How much memory a run will take, estimated before anything is allocated."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import torch

from blocks.cost.fitting import Sizes, depth_fault, fitting, sizes_of, with_mend
from blocks.cost.parameters import total_parameters
from blocks.cost.units import bytes_text
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.model.kinds import PositionKind
from blocks.model.model_input import vocabulary_fault
from blocks.observe.flow import SUMMED_TOGETHER
from blocks.observe.run import Run

NARROW = "bfloat16"  # the format in which trained weights take the least room and keep their range


@dataclass(frozen=True)
class Memory:
    """Bytes of a run: the weights, and what passes and is kept while it is recorded."""

    weights: int
    activations: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.weights + self.activations


def estimate_memory(
    config: ModelConfig, *, batch: int, seq_len: int, dtype: torch.dtype, is_drawn: bool = True
) -> Memory:
    """Estimate the bytes of a run as it is recorded; weights exact, activations from above.

    While weights are drawn (`is_drawn`: they are not of a file), two more are alive in float32.
    Later, while recording, stages, queries and keys stay as they are, and small stages wait to be
    summed up together. Of an encoder–decoder `seq_len` is the length of the longer text.
    """
    itemsize = max(dtype.itemsize, torch.float32.itemsize)  # of what may be computed in float32
    tokens = batch * seq_len
    stages = _n_stages(config) * tokens * config.d_model
    kept = stages
    kept += _n_attending(config) * tokens * config.d_qk * (config.n_heads + config.n_kv_heads)
    waiting = 3 * min(stages, SUMMED_TOGETHER + tokens * config.d_model)
    heads = tokens * config.d_qk * (4 * config.n_heads + 4 * config.n_kv_heads)
    patterns = tokens * config.n_heads * seq_len * _bytes_of_a_weight(config, dtype)
    if config.n_mixer_layers:
        heads += 12 * tokens * config.d_model + 8 * batch * config.width_of_heads * config.d_head
    hidden = 5 * tokens * config.n_hidden
    if config.n_experts > 1:
        hidden += _routed(config, tokens)
    vocabulary = config.vocab_size if config.architecture.reads_tokens else 0
    logits = tokens * vocabulary * (dtype.itemsize + itemsize)
    rows = max(config.d_ff, config.n_shared_experts * config.d_expert, config.d_model, vocabulary)
    draws = 2 * torch.float32.itemsize * config.d_model * rows if is_drawn else 0
    passing = kept * dtype.itemsize + patterns + logits + (waiting + heads + hidden) * itemsize
    n_parameters = total_parameters(config)
    return Memory(weights=n_parameters * dtype.itemsize, activations=max(passing, draws))


def _bytes_of_a_weight(config: ModelConfig, dtype: torch.dtype) -> int:
    """Bytes for each weight of a layer's attention, in the pass or where a panel takes it apart.

    Scores and softmax under a mask are three copies at once, and the one that is shown float32;
    dropout, ALiBi, caps, sinks and learned biases hold more, some in float32.
    """
    wide = max(dtype.itemsize, torch.float32.itemsize)
    has_bias = config.encoder_decoder.relative_bias
    if config.attention.score_softcap or config.attention.attention_sink or has_bias:
        return 10 * wide
    if config.dropout or config.position.position_kind is PositionKind.ALIBI:
        return 6 * wide
    return 3 * dtype.itemsize + wide


def _n_attending(config: ModelConfig) -> int:
    """Attentions of which queries and keys are kept: a layer of a decoder has two."""
    return config.n_layers + 2 * config.n_decoder_layers


def _n_stages(config: ModelConfig) -> int:
    """Stages that are kept of a whole pass, and some that are alive meanwhile.

    A layer of two sub-layers has eight at most, one of three twelve; each stack has its own end.
    """
    if config.n_decoder_layers == 0:
        return 8 * config.n_layers + 4
    return 8 * config.n_layers + 12 * config.n_decoder_layers + 8


def _routed(config: ModelConfig, tokens: int) -> int:
    """Count what a mixture of experts holds beside hidden values, of all layers.

    Probabilities, choices and queues of each token; what goes to the experts and comes back.
    """
    n_layers = config.n_layers + config.n_decoder_layers
    routes = n_layers * tokens * (6 * config.n_experts + 8 * config.n_active_experts)
    kept = 4 * (n_layers - 1) * tokens * config.n_hidden
    queues = 6 * tokens * config.n_active_experts * config.n_experts
    return routes + kept + queues + 4 * tokens * config.d_model


def memory_fault(
    config: ModelConfig, *, batch: int, seq_len: int, dtype: torch.dtype, budget: int
) -> Fault | None:
    """Return the fault of a run that would not fit into `budget` bytes, with sizes that do fit.

    A model of more layers than run here is refused too.
    """

    def fault_of(sizes: Sizes) -> Fault | None:
        shape = {"batch": batch, "seq_len": seq_len} | sizes
        run = {name: shape.pop(name) for name in ("batch", "seq_len")}
        smaller, _ = config.nearest(**shape)
        need = estimate_memory(smaller, batch=run["batch"], seq_len=run["seq_len"], dtype=dtype)
        return _memory_fault(need, budget) or depth_fault(smaller)

    if (fault := fault_of({})) is None:
        return None
    asked = {"batch": batch, "seq_len": seq_len} | sizes_of(config)
    return with_mend(fault, fitting(asked, lambda sizes: fault_of(sizes) is None))


def run_fault(run: Run, budget: int) -> Fault | None:
    """Return the fault of a run beyond a memory budget in bytes, with its mend."""
    texts = [text for text in (run.input, run.target) if text is not None]
    read = [token_id for text in texts for token_id in text.padded_ids]
    if run.config.architecture.reads_tokens and read and max(read) >= run.config.vocab_size:
        return vocabulary_fault(max(read), run.config.vocab_size)
    if run.weights and not depth_fault(run.config):
        return _trained_fault(run, budget)
    fault = memory_fault(run.config, **_passing(run), budget=budget)
    narrow = _narrower(run)
    if fault is None or not narrow or memory_fault(run.config, **narrow, budget=budget):
        return fault
    return with_mend(fault, {"dtype": NARROW})  # the same model


def _narrower(run: Run) -> "_Passing | None":
    """What passes in two bytes a number, where it has more."""
    passing = _passing(run)
    is_wide = passing["dtype"].itemsize > devices.DTYPES[NARROW].itemsize
    return {**passing, "dtype": devices.DTYPES[NARROW]} if is_wide else None


def _trained_fault(run: Run, budget: int) -> Fault | None:
    """Return the fault of a run with trained weights: a narrower format or less text mends it."""
    passing = _passing(run)

    def fault_of(change: Mapping[str, Any]) -> Fault | None:
        seq_len = change.get("seq_len", passing["seq_len"])
        dtype = devices.DTYPES[change.get("dtype", run.dtype)]
        sizes = {"batch": passing["batch"], "seq_len": seq_len}
        need = estimate_memory(run.config, **sizes, dtype=dtype, is_drawn=False)
        return _memory_fault(need, budget)

    def fits(change: Mapping[str, Any]) -> bool:
        return fault_of(change) is None

    def longest(change: Mapping[str, Any]) -> dict[str, Any]:
        """The change with the longest text that fits, or with one token."""
        lengths = range(1, passing["seq_len"])
        n = bisect_left(lengths, True, key=lambda n: not fits({**change, "seq_len": n}))
        return {**change, "seq_len": max(1, n)}

    if (fault := fault_of({})) is None:
        return None
    narrow: dict[str, Any] = {"dtype": NARROW} if _narrower(run) else {}
    for mend in (narrow, longest({}), longest(narrow)):
        if fits(mend):
            return with_mend(fault, mend)
    text = N_(
        "This run needs about {need} ({weights} of weights, {activations} of activations), "
        "more than the {budget} allowed here, and trained weights do not fit other sizes"
    )
    return Fault(text, fault.values)


def run_memory(run: Run) -> Memory:
    """Estimate the bytes of this run."""
    return estimate_memory(run.config, **_passing(run), is_drawn=not run.weights)


class _Passing(TypedDict):
    batch: int
    seq_len: int
    dtype: torch.dtype


def _passing(run: Run) -> _Passing:
    """Say how much passes, and in which number format."""
    texts = [text for text in (run.input, run.target) if text is not None]
    seq_len = max(text.shape[1] for text in texts)
    return {"batch": run.input.shape[0], "seq_len": seq_len, "dtype": devices.DTYPES[run.dtype]}


def _memory_fault(need: Memory, budget: int) -> Fault | None:
    """Return the fault where this is more than `budget` bytes; `with_mend` ends the sentence."""
    if need.total <= budget:
        return None
    text = N_(
        "This run needs about {need} ({weights} of weights, {activations} of activations), "
        "more than the {budget} allowed here: use {choice}"
    )
    values = {
        "need": bytes_text(need.total),
        "weights": bytes_text(need.weights),
        "activations": bytes_text(need.activations),
        "budget": bytes_text(budget),
    }
    return Fault(text, values)
