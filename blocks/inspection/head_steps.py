"""One attention layer taken apart: every step from queries and keys to what is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.model.attention import Attention, join_heads, repeat_kv, soft_cap
from blocks.model.config import ModelConfig
from blocks.model.latent_attention import LatentAttention
from blocks.model.masks import within
from blocks.model.models import Model
from blocks.model.multiplier import times
from blocks.model.normalization import at_least_float32
from blocks.model.probe import Probe, Replacement, Stage
from blocks.observe.recording import Recording, record
from blocks.observe.wiring import wiring

KEPT = ("q", "k", "v", "scores", "pattern", "head_out")
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """What one attention layer does to the first sequence; tensors stay on their device.

    `q`, `k`, `v`, `head_out`: (n_heads, seq, d_head), turned by RoPE and of RMS 1 where the model
    does so, keys and values repeated for the heads that share them. `softcap`: the bound of the
    scores, 0 without; `sinks` (n_heads,) or None; `gate`: how much of `mixed` is passed on as
    `head_out`, (n_heads, seq, 1 or d_head), or None. `bias` (ALiBi or None),
    `scores`, `pattern`: (n_heads, query, key); `mask`: (query, key), True where a query may see a
    key. `out`: (seq, d_model), what the layer writes before any dropout; `out_weight`: (n_heads,
    d_head, d_model), each head's part of the output projection; `out_bias`: (d_model,). `x`: (seq,
    d_model), what the layer reads; `q_weight`: (n_heads, d_model, d_head), what makes queries of it
    before norm and RoPE, with `q_bias` (n_heads, 1, d_head); None in latent attention.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    softcap: float
    bias: Tensor | None
    mask: Tensor
    sinks: Tensor | None
    scores: Tensor
    pattern: Tensor
    gate: Tensor | None
    head_out: Tensor
    out: Tensor
    out_weight: Tensor
    out_bias: Tensor
    x: Tensor
    q_weight: Tensor | None
    q_bias: Tensor

    @cached_property
    def of_all_heads(self) -> tuple[Array, Array, Array]:
        """`x`, `concat` and `together` of `Around`, which are the same whichever head is shown."""
        concat = join_heads(self.head_out[None])[0]
        together = concat @ self.out_weight.flatten(0, 1)
        return _host(self.x), _host(concat), _host(together)


def attention_steps(
    seen: Recording,
    model: Model,
    config: ModelConfig,
    layer: int,
    mask: Tensor | None,
    *,
    replace: Mapping[str, Replacement] | None = None,
) -> AttentionSteps:
    """Let the attention of a layer read again what it read in the recording `seen`.

    It is the module of the run on the input of the run, so the numbers are those of the run;
    `replace` as it was in the run, where something was changed inside.
    """
    attention: Attention = model.layers[layer].attention  # type: ignore[assignment]
    x = seen.tensor(reads(config, layer), layer)[:1]
    whole = None if mask is None else mask.reshape(-1, *mask.shape[-2:])[:1]
    first = within(whole, x.shape[1], attention.window, x.device)
    own = {part.path for part in attention.modules() if isinstance(part, Probe)}
    changed = {path: each for path, each in (replace or {}).items() if path in own}
    again = record(_as_model(attention), x, mask=first, keep=KEPT, replace=changed)
    found = {name: at_least_float32(again.tensor(name, layer)[0]) for name in KEPT}
    q, k = again.tensor("q", layer), again.tensor("k", layer)
    with torch.no_grad():
        bias, gate = attention.bias(q, k), attention.gate(x)
    weight, bias_of_q = _queries_made_by(attention)
    everyone = torch.ones_like(found["scores"][0], dtype=torch.bool)
    shared = {name: repeat_kv(found.pop(name)[None], len(found["q"]))[0] for name in "kv"}
    return AttentionSteps(
        **found,
        **shared,
        softcap=attention.softcap,
        bias=None if bias is None else at_least_float32(bias),
        sinks=None if attention.sinks is None else at_least_float32(attention.sinks.detach()),
        gate=None if gate is None else at_least_float32(gate[0]),
        mask=everyone if first is None else first.reshape(everyone.shape),
        out=at_least_float32(again.output[0]),
        out_weight=out_weight(attention),
        out_bias=out_bias(attention),
        x=at_least_float32(x[0]),
        q_weight=weight,
        q_bias=bias_of_q,
    )


def reads(config: ModelConfig, layer: int) -> str:
    """The stage that the attention of a layer reads: the norm before it, or the stream."""
    return next(step.reads[0] for step in wiring(config, layer) if step.stage == "attention_out")


def _as_model(attention: Attention) -> Callable[..., Tensor]:
    """The module as something that can be recorded: its write is a stage."""
    write = Stage("attention_out")
    return lambda x, mask: write(attention(x, mask))


def _queries_made_by(attention: Attention) -> tuple[Tensor | None, Tensor]:
    """Weight and bias of the queries, each head's part; no weight where they are made otherwise."""
    made = attention.q_proj
    weight = at_least_float32(made.weight.detach())
    bias = weight.new_zeros(1) if made.bias is None else at_least_float32(made.bias.detach())
    weight = weight.unflatten(0, (attention.n_heads, -1)).mT
    bias = bias.expand(weight.shape[0] * weight.shape[2]).reshape(len(weight), 1, -1)
    return None if isinstance(attention, LatentAttention) else weight, bias


def out_weight(attention: Attention) -> Tensor:
    """Each head's part of what the layer writes: (n_heads, d_head, d_model)."""
    weight = at_least_float32(attention.out_proj.weight.detach())  # (d_model, n_heads · d_head)
    weight = times(weight, attention.multiplier)
    return weight.T.unflatten(0, (attention.n_heads, -1))


def out_bias(attention: Attention) -> Tensor:
    """The bias of the output projection, zeros where it has none: (d_model,)."""
    projection = attention.out_proj
    if projection.bias is None:
        return torch.zeros_like(out_weight(attention)[0, 0])
    return times(at_least_float32(projection.bias.detach()), attention.multiplier)


@dataclass(frozen=True, eq=False)
class Around:
    """What a head begins with, and what becomes of all heads together; on the host.

    `x`: (seq, d_model), what the layer reads; `q_weight`: (d_model, d_head) or None, as in
    `AttentionSteps`; `projected`: x · `q_weight` and the bias, (seq, d_head). `concat`: the outputs
    of all heads side by side, (seq, n_heads · d_head); `together`: `concat` · W_O, (seq, d_model).
    """

    x: Array
    q_weight: Array | None
    projected: Array | None
    concat: Array
    together: Array


@dataclass(frozen=True, eq=False)
class HeadSteps:
    """The steps of one head, on the host.

    `q`, `k`, `v`, `mixed` (what the weights make of the values), `gated` (what the gate leaves of
    it, None without): (seq, d_head). `raw` (QKᵀ), `scaled`, `capped` (None without a cap), `biased`
    (None without ALiBi): (query, key), every pair; `masked` (the scores that enter the softmax, one
    more of them a learned `sink`), `pattern`: the same, NaN where masked. `out_weight`: (d_head,
    d_model); `written`: (seq, d_model), what the head writes into the stream, without the bias.
    `layer`: all heads, on their device.
    """

    q: Array
    k: Array
    v: Array
    raw: Array
    scaled: Array
    capped: Array | None
    biased: Array | None
    masked: Array
    sink: float | None
    pattern: Array
    mixed: Array
    gated: Array | None
    out_weight: Array
    written: Array
    around: Around
    layer: AttentionSteps

    def shares(self, query: int, feature: int) -> Array:
        """What each head adds to one feature of what a query writes: (n_heads,)."""
        out, weight = self.layer.head_out[:, query], self.layer.out_weight[:, :, feature]
        return _host((out * weight).sum(-1))

    @property
    def d_head(self) -> int:
        """Width of the head."""
        return self.q.shape[1]

    @property
    def passed_on(self) -> Array:
        """What the output projection reads: (seq, d_head)."""
        return self.mixed if self.gated is None else self.gated


def head_steps(steps: AttentionSteps, head: int) -> HeadSteps:
    """One head of a layer: scores, pattern and output as its probes saw them."""
    q, k = steps.q[head], steps.k[head]
    raw = q @ k.T
    scaled = raw * q.shape[-1] ** -0.5
    capped = soft_cap(scaled, steps.softcap)
    bias = None if steps.bias is None else steps.bias[head]
    mixed = steps.head_out if steps.gate is None else steps.pattern @ steps.v
    head_out, out_weight = steps.head_out[head], steps.out_weight[head]
    return HeadSteps(
        q=_host(q),
        k=_host(k),
        v=_host(steps.v[head]),
        raw=_host(raw),
        scaled=_host(scaled),
        capped=_host(capped) if steps.softcap else None,
        biased=None if bias is None else _host(capped + bias),
        masked=_host(steps.scores[head].masked_fill(~steps.mask, torch.nan)),
        pattern=_host(steps.pattern[head].masked_fill(~steps.mask, torch.nan)),
        sink=None if steps.sinks is None else float(steps.sinks[head]),
        mixed=_host(mixed[head]),
        gated=None if steps.gate is None else _host(head_out),
        out_weight=_host(out_weight),
        written=_host(head_out @ out_weight),
        around=_around(steps, head),
        layer=steps,
    )


def _around(steps: AttentionSteps, head: int) -> Around:
    x, concat, together = steps.of_all_heads
    weight = None if steps.q_weight is None else steps.q_weight[head]
    projected = None if weight is None else steps.x @ weight + steps.q_bias[head]
    return Around(
        x=x,
        q_weight=None if weight is None else _host(weight),
        projected=None if projected is None else _host(projected),
        concat=concat,
        together=together,
    )


def _host(x: Tensor) -> Array:
    return x.cpu().double().numpy()


@dataclass(frozen=True)
class Products:
    """A sum of products: its first terms, how many more there are, and what it comes to."""

    terms: tuple[tuple[float, float], ...]
    n_more: int
    total: float


def products(left: Array, right: Array, *, largest_first: bool = False, most: int = 4) -> Products:
    """left · right, both (n,), written out; a NaN on the left (masked) is no term."""
    there = np.flatnonzero(~np.isnan(left))
    if largest_first:
        there = there[np.argsort(-np.abs(left[there]), kind="stable")]
    first = [(float(left[i]), float(right[i])) for i in there[:most]]
    total = float(left[there] @ right[there])
    return Products(tuple(first), max(0, len(there) - most), total)


@dataclass(frozen=True)
class Softmax:
    """One weight: exp(score − largest) / Σ exp(score − largest) over the keys that may be seen.

    A learned sink is one more score in the sum.
    """

    score: float
    largest: float
    exp: float
    total: float
    weight: float


def softmax_of(row: Array, key: int, sink: float | None = None) -> Softmax | None:
    """How the softmax of a row of scores (NaN where masked) gives the weight of one key.

    None where the key is masked.
    """
    if np.isnan(row[key]):
        return None
    scores = row if sink is None else np.append(row, sink)
    largest = float(np.nanmax(scores))
    exp = float(np.exp(row[key] - largest))
    total = float(np.nansum(np.exp(scores - largest)))
    return Softmax(float(row[key]), largest, exp, total, exp / total)
