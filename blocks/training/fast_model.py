"""A small model that learns fast: what to start from where nothing else is asked for."""

from typing import Any

from blocks.model.config import ModelConfig
from blocks.model.kinds import Activation, Initialization, NormKind, PositionKind
from blocks.training.tasks import Task

FAST_SHAPE: dict[str, Any] = {
    "n_layers": 4,
    "n_decoder_layers": 2,
    "d_model": 128,
    "n_heads": 2,
    "qk_norm": True,
    "attention_bias": False,
    "feed_forward_bias": False,
    "activation": Activation.RELU_SQUARED,
    "norm_kind": NormKind.RMS_NORM,
    "norm_affine": False,
    "position_kind": PositionKind.ROPE,
    "rope_base": 1000.0,
    "tie_embeddings": False,
    "initialization": Initialization.ZERO_WRITES,
    "dropout": 0.0,
}


def needs(task: Task) -> dict[str, Any]:
    """What the task fixes of any model that learns it, by field name."""
    return {
        "architecture": task.learner,
        "vocab_size": task.vocab_size,
        "max_seq_len": task.seq_len,
    }


def fast_config(task: Task, **changes: Any) -> ModelConfig:
    """About 0.8 million parameters that fit the task, changed by field name.

    Pre-norm without weights, rotary positions, normed queries and keys, squared ReLU, no biases,
    projections that start at zero: what modded-nanogpt (Jordan et al. 2024) found to learn fast.
    """
    return ModelConfig.from_flat(FAST_SHAPE | needs(task) | changes)
