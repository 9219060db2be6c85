"""How devices divide what they serve: what the link says, and what it is called."""

from blocks.cost.setup import Layout
from blocks.model.faults import N_
from pages.state.link_fields.cost import MOST_PARALLEL
from pages.state.values import State
from pages.words.language import _, enumeration


def layout(state: State) -> Layout:
    """How devices divide what they serve; experts that cannot be divided so are not."""
    tensor = state.tensor_parallel or min(state.n_training_devices, MOST_PARALLEL)
    stages, replicas = state.pipeline_parallel, state.data_parallel
    expert = state.expert_parallel
    return Layout(tensor, stages, replicas, expert if expert in experts(tensor, replicas) else 1)


def experts(tensor: int, replicas: int) -> tuple[int, ...]:
    """Among how many devices whole experts can be divided."""
    return tuple(
        n
        for n in range(1, tensor * replicas + 1)
        if tensor * replicas % n == 0 and (n % tensor == 0 or tensor % n == 0)
    )


def layout_name(layout: Layout) -> str:
    """Each way to divide a model with its number: tensor 8, pipeline 2."""
    return enumeration(
        [f"{_(PARALLEL_NAMES[name])} {n:,}" for name, n in vars(layout).items() if n > 1]
    )


PARALLEL_NAMES = {
    "tensor": N_("tensor parallel"),
    "pipeline": N_("pipeline parallel"),
    "data": N_("data parallel"),
    "expert": N_("expert parallel"),
}
