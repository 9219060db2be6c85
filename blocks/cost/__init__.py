"""What a model costs: parameters, FLOPs, memory and time; `count_*` exact, `estimate_*` not."""

from blocks.cost.fit import cache_bytes, inference_need, training_need
from blocks.cost.flops import Pass, count_flops
from blocks.cost.hardware import HARDWARE, Hardware
from blocks.cost.memory import estimate_memory
from blocks.cost.parameters import active_parameters, count_parameters, total_parameters
from blocks.cost.setup import CacheFormat, Layout, Setup, WeightFormat
from blocks.cost.speed import Speculation, reading, writing
from blocks.cost.step import Shape

__all__ = [
    "HARDWARE",
    "CacheFormat",
    "Hardware",
    "Layout",
    "Pass",
    "Setup",
    "Shape",
    "Speculation",
    "WeightFormat",
    "active_parameters",
    "cache_bytes",
    "count_flops",
    "count_parameters",
    "estimate_memory",
    "inference_need",
    "reading",
    "total_parameters",
    "training_need",
    "writing",
]
