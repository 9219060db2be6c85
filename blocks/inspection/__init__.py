"""What a recording means: measures of heads, norms, units, positions and gradients."""

from blocks.inspection.ablation import ablate
from blocks.inspection.backward import attributions, gradients
from blocks.inspection.depth import measure_depth
from blocks.inspection.leaks import LeakTest
from blocks.inspection.lens import logit_lens
from blocks.inspection.units import strongest

__all__ = [
    "LeakTest",
    "ablate",
    "attributions",
    "gradients",
    "logit_lens",
    "measure_depth",
    "strongest",
]
