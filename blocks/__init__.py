"""Transformer blocks one can read and see through.

Axes, in this order where they meet: batch, n_heads, seq (query, key), d_head, d_model.
Counts are `n_*`, widths `d_*`; a mask is True where a query may attend.

    from blocks import ModelConfig, PRESETS, build, record, count_parameters
"""

from blocks.config import ModelConfig
from blocks.cost.parameters import count_parameters
from blocks.faults import ConfigError, Fault
from blocks.models import build
from blocks.presets import PRESETS
from blocks.probe import Recording, record

__all__ = [
    "PRESETS",
    "ConfigError",
    "Fault",
    "ModelConfig",
    "Recording",
    "build",
    "count_parameters",
    "record",
]
