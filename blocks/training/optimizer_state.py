"""What optimizers remember, as plain tensors by name, and back."""

from collections.abc import Iterable, Mapping

from torch import Tensor, nn
from torch.optim import Optimizer

from blocks.model.faults import N_, ConfigError, Fault
from blocks.weights.tensors import copied


def read_optimizers(model: nn.Module, optimizers: Iterable[Optimizer]) -> dict[str, Tensor]:
    """A copy on the CPU: the path of a parameter, a dot, and what is remembered of it."""
    states = [optimizer.state for optimizer in optimizers]
    return {
        f"{path}.{name}": copied(tensor)
        for path, parameter in model.named_parameters()
        for state in states
        for name, tensor in state.get(parameter, {}).items()
    }


def load_optimizers(
    model: nn.Module, optimizers: Iterable[Optimizer], remembered: Mapping[str, Tensor]
) -> None:
    """Give fresh optimizers of this model back what `read_optimizers` has read."""
    parameters = dict(model.named_parameters())
    owners = {
        id(parameter): optimizer
        for optimizer in optimizers
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    for key, tensor in remembered.items():
        path, _, name = key.rpartition(".")
        if path not in parameters:
            text = N_(
                "The optimizer state has {path}, which this model lacks: build the matching model"
            )
            raise ConfigError([Fault(text, {"path": path})])
        parameter = parameters[path]
        dtype = parameter.dtype if tensor.dim() else tensor.dtype
        state = owners[id(parameter)].state[parameter]
        state[name] = tensor.to(parameter.device, dtype, copy=True)
