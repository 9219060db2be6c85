"""Transformers as PyTorch modules: configuration, parts, whole models, and probes inside them.

Imports nothing else of Blockscope.
"""

from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError, Fault
from blocks.model.kv_cache import KVCache
from blocks.model.masks import MaskConfig, MaskKind, build_mask
from blocks.model.models import GPT, Encoder, EncoderDecoder, build
from blocks.model.presets import PRESETS
from blocks.model.probe import Probe, Stage, listening
from blocks.model.source_target import SourceTarget

__all__ = [
    "GPT",
    "PRESETS",
    "ConfigError",
    "Encoder",
    "EncoderDecoder",
    "Fault",
    "KVCache",
    "MaskConfig",
    "MaskKind",
    "ModelConfig",
    "Probe",
    "SourceTarget",
    "Stage",
    "build",
    "build_mask",
    "listening",
]
