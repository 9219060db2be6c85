"""What a model costs: parameters, FLOPs, memory and time; `count_*` exact, `estimate_*` not."""

from blocks.cost.flops import Pass, count_flops
from blocks.cost.hardware import HARDWARE
from blocks.cost.memory import estimate_memory
from blocks.cost.parameters import active_parameters, count_parameters, total_parameters

__all__ = [
    "HARDWARE",
    "Pass",
    "active_parameters",
    "count_flops",
    "count_parameters",
    "estimate_memory",
    "total_parameters",
]
