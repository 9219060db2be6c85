"""The weights of a model as plain tensors by name, and back."""

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from blocks.model import devices
from blocks.model.faults import N_, ConfigError, Fault

Weights = Mapping[str, Tensor]


def read_weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy on the CPU of every parameter and lasting buffer; what is shared comes once."""
    return {name: copied(tensor) for name, tensor in stored_by_name(model)}


def copied(tensor: Tensor) -> Tensor:
    """A copy on the CPU that nothing else writes to."""
    return tensor.detach().to("cpu", copy=True)


def load_weights(model: nn.Module, weights: Weights) -> None:
    """Write `weights` into a model of the same shape, whatever its device and number format."""
    stored = dict(stored_by_name(model))
    check_shapes({name: tuple(tensor.shape) for name, tensor in stored.items()}, weights)
    with torch.no_grad():
        for name, tensor in stored.items():
            tensor.copy_(weights[name])


def of_first_layers(weights: Weights, n_layers: int) -> dict[str, Tensor]:
    """The weights of a model cut after its first layers; nothing is copied."""
    layers = ((name, re.match(r"layers\.(\d+)\.", name)) for name in weights)
    return {name: weights[name] for name, at in layers if not at or int(at[1]) < n_layers}


def check_shapes(expected: Mapping[str, tuple[int, ...]], weights: Weights) -> None:
    """Raise `ConfigError` where these weights are not those of a model with such shapes."""
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    odd = [name for name in {*expected, *found} if expected.get(name) != found.get(name)]
    if odd:
        text = N_(
            "These weights belong to another model (tensor {name} differs): build the "
            "model they belong to"
        )
        raise ConfigError([Fault(text, {"name": min(odd)})])


def bytes_of(weights: Weights) -> int:
    """Return the bytes that the tensors take in memory."""
    return sum(tensor.nbytes for tensor in weights.values())


def are_finite(weights: Weights) -> bool:
    """Whether no weight is NaN or infinite."""
    return all(map(_is_finite, weights.values()))


def _is_finite(tensor: Tensor) -> bool:
    """By the least and the largest value, which are NaN where one is: no memory is taken."""
    if tensor.numel() and tensor.dtype in devices.DTYPES.values():
        return all(bool(bound.isfinite()) for bound in tensor.aminmax())
    return bool(tensor.isfinite().all())


def check_finite(weights: Weights) -> None:
    """Raise `ConfigError` where a weight is NaN or infinite."""
    for name in weights:
        if not are_finite({name: weights[name]}):
            text = N_("{name} contains non-finite numbers: save a model that did not diverge")
            raise ConfigError([Fault(text, {"name": name})])


def stored_by_name(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Every parameter and lasting buffer; what is shared comes once."""
    met: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in met:  # tied weights have two names
            met.add(id(tensor))
            yield name, tensor
