"""Where rounding hurts, and the rows that are kept at more bits because of it.

The blame of a matrix is what the loss rises by where it alone is rounded; its rows share it as
they share the error of its product on the calibration text, e X Xᵀ eᵀ.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from blocks.efficiency.calibration import Inputs
from blocks.efficiency.quantization import Quantization, quantize
from blocks.model.models import Model
from blocks.training.loss import cross_entropy
from blocks.training.task import IGNORED, Batch
from blocks.weights.quantized import MixedMatrix, QuantizedMatrix, Rounded

KEPT_BITS = 8


@torch.no_grad()
def blame(
    model: Model, batches: Sequence[Batch], rounded: Mapping[str, Tensor]
) -> dict[str, float]:
    """Nats per token that the loss rises by where one matrix alone is rounded.

    The model must be the caller's own: its weights are exchanged and put back.
    """
    whole, found = mean_loss(model, batches), {}
    for name, values in rounded.items():
        weight = model.get_parameter(name)
        exact = weight.clone()
        weight.copy_(values)
        found[name] = mean_loss(model, batches) - whole
        weight.copy_(exact)
    return found


def mean_loss(model: Model, batches: Iterable[Batch]) -> float:
    """Cross entropy of all tokens asked for, in nats."""
    total, n = 0.0, 0
    for batch in batches:
        total += float(cross_entropy(model(*batch.read), batch.targets, reduction="sum"))
        n += int((batch.targets != IGNORED).sum())
    return total / max(1, n)


def row_errors(exact: Tensor, rounded: Tensor, inputs: Inputs | None) -> Tensor:
    """The squared error of each row's products: (out); of a table, that of its rows."""
    error = exact - rounded
    products = error if inputs is None else error @ inputs.gram
    return (products * error).sum(1).clamp(min=0)


def kept_rows(
    blames: Mapping[str, float],
    errors: Mapping[str, Tensor],
    widths: Mapping[str, int],
    share: float,
) -> dict[str, Tensor]:
    """Which rows of each matrix are kept, (out): those with most blame for each of their weights.

    As many as `share` of all weights has room for.
    """
    names = [*errors]
    dense = {name: _dense(blames[name], errors[name], widths[name]) for name in names}
    order = torch.cat([dense[name] for name in names]).argsort(descending=True, stable=True)
    sizes = torch.cat([torch.full_like(errors[name], widths[name]) for name in names])
    has_room = sizes[order].cumsum(0) <= share * sizes.sum()
    is_kept = torch.zeros(len(order), dtype=torch.bool)
    is_kept[order[has_room]] = True
    parts = is_kept.split([len(errors[name]) for name in names])
    return dict(zip(names, parts, strict=True))


def _dense(blame: float, errors: Tensor, width: int) -> Tensor:
    return max(blame, 0.0) * errors / errors.sum().clamp(min=1e-30) / width


def at_kept_bits(rows: Tensor, how: Quantization) -> QuantizedMatrix:
    """Rows (n, in) at more bits, on grids as the others have them."""
    grid = Quantization(
        n_bits=KEPT_BITS,
        granularity=how.granularity,
        group_size=how.group_size,
        symmetric=how.symmetric,
    )
    return quantize(rows, grid)


def with_kept_rows(
    exact: Tensor,
    is_kept: Tensor,
    how: Quantization,
    round_rest: Callable[[Tensor], QuantizedMatrix],
) -> Rounded:
    """A matrix (out, in) with those rows at more bits, the others rounded by themselves."""
    if not is_kept.any():
        return round_rest(exact)
    kept = at_kept_bits(exact[is_kept], how)
    return kept if is_kept.all() else MixedMatrix(round_rest(exact[~is_kept]), kept, is_kept)
