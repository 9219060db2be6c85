"""Transformer blocks one can read and see through.

Axes, in this order where they meet: batch, n_heads, seq (query, key), d_head, d_model.
Counts are `n_*`, widths `d_*`; a mask is True where a query may attend.

    from blocks import ModelConfig, PRESETS, build, record, count_parameters

What is special stands in its room: `blocks.cost`, `blocks.inspection`, `blocks.training`, …
"""

from blocks.cost import count_parameters
from blocks.export import as_code
from blocks.inspection import ablate, attributions, gradients, logit_lens
from blocks.model import PRESETS, ConfigError, Fault, ModelConfig, build
from blocks.observe import Recording, attach, record

__all__ = [
    "PRESETS",
    "ConfigError",
    "Fault",
    "ModelConfig",
    "Recording",
    "ablate",
    "as_code",
    "attach",
    "attributions",
    "build",
    "count_parameters",
    "gradients",
    "logit_lens",
    "record",
]
