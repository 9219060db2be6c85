"""What depth does to layers: forward to a loss, back through every layer, measured.

One pass gives all measures of all layers. They are taken on the device, and cross in one transfer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pandas as pd
import torch
from torch import Tensor, nn

from blocks.model.attention import Attention
from blocks.model.masks import within
from blocks.model.normalization import at_least_float32
from blocks.model.probe import Probe, listening
from blocks.observe.recording import Recorder

MEASURES = (
    "stream_norm",
    "attention_share",
    "feed_forward_share",
    "cosine",
    "similarity",
    "entropy_bits",
    "parameter_gradient",
    "stream_gradient",
)
KEPT = ("pattern", "resid_mid", "resid_post")
WRITES = ("attention_out", "feed_forward_out")
LAST_WRITES = ("feed_forward.down_proj.weight", "attention.out_proj.weight")
LossOf = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class DepthPass:
    """What one pass forward and back showed.

    `layers`: layer (0 is what goes into the first), then MEASURES; NaN where there is no such
    thing, infinite where the number format ended. `loss`: in nats. `last_write_gradient`:
    ‖∂loss/∂W‖ of the matrix that writes last. `even_bits`: the entropy of even weights here,
    mean over the layers.
    """

    layers: pd.DataFrame
    loss: float
    last_write_gradient: float
    even_bits: float


class _Kept(Recorder):
    """Keep streams and sub-layer outputs for backward; of patterns only the entropy."""

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        if probe.path.endswith(".pattern"):
            self.tensors[probe.path] = pattern_entropy(x.detach()).mean(dim=1)
        elif self.keeps(probe.path):
            self.tensors[probe.path] = x
        return x


def measure_depth(
    layers: Sequence[nn.Module],
    x: Tensor,
    mask: Tensor | None,
    *,
    is_token: Tensor,
    loss_of: LossOf,
) -> DepthPass:
    """Run `layers` on `x` to a loss and go back; no gradient is left in the model.

    `x`: what the first layer reads, (batch, seq, d_model); `is_token`: (batch, seq), False on
    padding, which counts in no measure; `loss_of`: the loss of what the last layer leaves.

    Per layer: the mean norm of the stream; how much each part writes, against the stream it is
    added to (mean norms); the cosine of each token's stream with that of the layer before; the
    mean cosine of two tokens of a sequence; the entropy of the attention patterns; the norm of
    the gradient of all its parameters, and of the stream that leaves it.
    """
    seen = _Kept({*KEPT, *WRITES, *(f"{name}_norm" for name in WRITES)}, {})
    with torch.enable_grad(), listening(seen):
        x = x.detach().requires_grad_()
        stream = x
        for layer in layers:
            stream = layer(stream, mask)
        loss = loss_of(stream)
    streams = [x, *(seen.tensors[f"layers.{i}.resid_post"] for i in range(len(layers)))]
    gradients = _gradients(loss, streams, layers)
    with torch.no_grad():
        share = at_least_float32(is_token.to(x.device, x.dtype))
        share = share / share.sum().clamp(min=1)
        found = {
            **_of_streams(streams, share),
            **_of_writes(seen.tensors, share, streams),
            **_of_patterns(seen.tensors, share, layers, mask),
            **gradients,
        }
        return _measured(found, loss)


def _gradients(
    loss: Tensor, streams: Sequence[Tensor], layers: Sequence[nn.Module]
) -> dict[str, Tensor]:
    """Norms of the gradients; they go into nobody's `.grad`."""
    named = [dict(layer.named_parameters()) for layer in layers]
    parameters = [parameter for group in named for parameter in group.values()]
    found = torch.autograd.grad(loss, [*streams, *parameters], materialize_grads=True)
    norms = torch.stack([_norm(gradient) for gradient in found])
    of_streams, of_parameters = norms[: len(streams)], norms[len(streams) :]
    of_layers = of_parameters.split([len(group) for group in named])
    last = next(name for name in LAST_WRITES if name in named[-1])
    return {
        "stream_gradient": of_streams,
        "parameter_gradient": torch.stack([_norm(group) for group in of_layers]),
        "last_write_gradient": of_layers[-1][list(named[-1]).index(last)],
    }


def _norm(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dtype=torch.promote_types(x.dtype, torch.float32))


def _of_streams(streams: Sequence[Tensor], share: Tensor) -> dict[str, Tensor]:
    stacked = at_least_float32(torch.stack(list(streams)))  # (n_layers + 1, batch, seq, d_model)
    norms = torch.linalg.vector_norm(stacked, dim=-1)
    unit = stacked / norms.clamp(min=torch.finfo(norms.dtype).tiny)[..., None]
    return {
        "stream_norm": (norms * share).sum(dim=(1, 2)),
        "cosine": ((unit[1:] * unit[:-1]).sum(dim=-1) * share).sum(dim=(1, 2)),
        "similarity": token_similarity(unit, share > 0),
    }


def token_similarity(unit: Tensor, is_token: Tensor) -> Tensor:
    """Mean cosine of two different tokens of a sequence; NaN where no sequence has two.

    `unit`: vectors of length 1, (…, batch, seq, d_model), `is_token`: (batch, seq). All n(n−1)
    cosines at once, since ‖Σ u‖² = Σᵢ‖uᵢ‖² + Σᵢ≠ⱼ uᵢ·uⱼ: the matrix of all pairs is never made.
    """
    kept = unit * is_token[..., None]
    together = kept.sum(dim=-2).square().sum(dim=-1) - kept.square().sum(dim=(-2, -1))
    n = is_token.sum(dim=-1)
    return together.sum(dim=-1) / (n * (n - 1)).sum()


def _of_writes(
    tensors: Mapping[str, Tensor], share: Tensor, streams: Sequence[Tensor]
) -> dict[str, Tensor]:
    """How much attention and feed-forward write, against the stream that each writes to."""
    layers = [f"layers.{i}" for i in range(len(streams) - 1)]

    def written(name: str, before: Sequence[Tensor]) -> Tensor:
        paths = [f"{layer}.{name}" for layer in layers]  # of sandwich a norm is what writes
        writes = [tensors.get(f"{path}_norm", tensors[path]) for path in paths]
        return _mean_norms(writes, share) / _mean_norms(before, share)

    found = {"attention_share": written("attention_out", streams[:-1])}
    if "layers.0.feed_forward_out" in tensors:
        middle = [tensors.get(f"{layer}.resid_mid", streams[i]) for i, layer in enumerate(layers)]
        found["feed_forward_share"] = written("feed_forward_out", middle)
    return found


def _mean_norms(each: Sequence[Tensor], share: Tensor) -> Tensor:
    """The mean norm of the tokens of each: (len(each),)."""
    norms = torch.linalg.vector_norm(torch.stack(tuple(each)), dim=-1, dtype=share.dtype)
    return (norms * share).sum(dim=(1, 2))


def _of_patterns(
    tensors: Mapping[str, Tensor], share: Tensor, layers: Sequence[nn.Module], mask: Tensor | None
) -> dict[str, Tensor]:
    """Mean entropy over heads and over the queries that are tokens and may see a key: (n_layers,).

    Beside it that of even weights, log₂ of how many keys a query sees.
    """
    windows = [cast(Attention, layer.attention).window for layer in layers]
    seen = {window: _seen(mask, window, share) for window in set(windows)}
    of_layers = zip(*(seen[window] for window in windows), strict=True)
    sees_some, n_keys = map(torch.stack, of_layers)
    bits = torch.stack([tensors[f"layers.{i}.pattern"] for i in range(len(layers))])
    even_bits = n_keys.clamp(min=1).log2()
    return {
        "entropy_bits": (bits * sees_some).sum(dim=(1, 2)),
        "even_bits": (even_bits * sees_some).sum(dim=(1, 2)).mean(),
    }


def _seen(mask: Tensor | None, window: int, share: Tensor) -> tuple[Tensor, Tensor]:
    """Of each query in layers of one window, each (batch, seq).

    Its share among those that may see a key, and how many keys it sees.
    """
    seq_len = share.shape[-1]
    own = within(mask, seq_len, window, share.device)
    if own is None:
        return share, share.new_full(share.shape, seq_len)
    counts = own.sum(dim=-1)
    n_keys = (counts if own.dim() == 2 else counts[:, 0]).expand(share.shape).to(share)
    kept = share * (n_keys > 0)
    return kept / kept.sum(), n_keys


def pattern_entropy(pattern: Tensor) -> Tensor:
    """Σ −p log₂ p of each query's weights, 0 for p = 0: (…, query, key) to (…, query)."""
    weights = at_least_float32(pattern)
    bits = weights.clamp(min=torch.finfo(weights.dtype).tiny).log2_()
    return 0 - bits.mul_(weights).sum(dim=-1)


def _measured(found: dict[str, Tensor], loss: Tensor) -> DepthPass:
    """Everything in one transfer: a row per layer, and what belongs to the whole."""
    n_rows = len(found["stream_norm"])
    rows = []
    for name in MEASURES:
        values = found.get(name, loss.new_full((n_rows,), torch.nan))
        missing = values.new_full((n_rows - len(values),), torch.nan)  # of what goes in
        rows.append(torch.cat((missing, values)))
    whole = (loss.detach(), found["last_write_gradient"], found["even_bits"])
    numbers = torch.cat((*rows, *(number[None] for number in whole))).cpu().double().numpy()
    layers = pd.DataFrame(dict(zip(MEASURES, numbers[:-3].reshape(-1, n_rows), strict=True)))
    layers.insert(0, "layer", range(n_rows))
    return DepthPass(layers, *map(float, numbers[-3:]))
