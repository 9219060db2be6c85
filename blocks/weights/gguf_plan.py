"""Where each tensor of a GGUF file goes: the plan of its family, under llama.cpp's names.

The names are those of the `gguf` package. What llama.cpp changes in a tensor when it converts a
model is undone: it turns matrices of GPT-2 about, lets the numbers of a rotary pair stand beside
each other, adds 1 to the scales of Gemma's norms, and puts the experts of a layer into one tensor.
"""

import re
from dataclasses import replace

from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from blocks.weights.families import Layout, Place, Plan, plan_of
from blocks.weights.gguf_config import FACTORS, LONG_FACTORS
from blocks.weights.operations import (
    ONE_BELOW_ANOTHER,
    SAME,
    SIDE_BY_SIDE,
    STACKED_EXPERTS,
    TRANSPOSED,
    UNPAIRED,
    WITHOUT_ONE,
    Operation,
)

BESIDE = ("llama", "granite", "smollm3")  # rotary pairs are numbers beside each other
OF_ONE = ("gemma", "gemma2", "gemma3")
NOT_TURNED = {SIDE_BY_SIDE: ONE_BELOW_ANOTHER, TRANSPOSED: SAME}
EXPERT = re.compile(r"\.experts\.\d+\.")
ENDINGS = (".weight", ".bias")
LAYOUT = Layout(
    rows=(),
    aside={
        re.escape(name): N_("RoPE factors, already given in the configuration")
        for name in (FACTORS, *LONG_FACTORS.values())
    },
)


def gguf_plan(architecture: str, family: str, config: ModelConfig) -> Plan:
    """Return what a GGUF file of this model holds. Raises `ConfigError`."""
    from gguf.constants import MODEL_ARCH_NAMES
    from gguf.tensor_mapping import get_tensor_name_map

    arch = next(each for each, name in MODEL_ARCH_NAMES.items() if name == architecture)
    names = get_tensor_name_map(arch, config.n_layers)
    plan = plan_of(family, config)
    places: dict[str, Place] = {}
    for key, place in plan.places.items():
        whole, n_experts = EXPERT.subn(".experts.", key)
        name = names.get_name(whole, try_suffixes=ENDINGS) or key
        before = places[name].ours if name in places else ()
        operation = STACKED_EXPERTS if n_experts else _operation(architecture, name, place)
        places[name] = Place((*before, *place.ours), operation)
    return replace(plan, layout=LAYOUT, places=places)


def _operation(architecture: str, name: str, place: Place) -> Operation:
    """What undoes the conversion of this tensor, and makes our parameters of it."""
    if architecture in BESIDE and re.search(r"\.attn_[qk]\.", name):
        return UNPAIRED
    if architecture in OF_ONE and name.endswith("norm.weight"):
        return WITHOUT_ONE
    if architecture == "gpt2":
        return NOT_TURNED.get(place.operation, place.operation)
    return place.operation
