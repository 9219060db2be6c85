"""One run of a model and what passed its probes; parts switched off, averaged or patched."""

from blocks.observe.attached import attach
from blocks.observe.interventions import Intervention, replacements
from blocks.observe.recording import Recording, record
from blocks.observe.run import Input, Run

__all__ = ["Input", "Intervention", "Recording", "Run", "attach", "record", "replacements"]
