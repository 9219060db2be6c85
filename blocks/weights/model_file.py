"""A trained model in one file: safetensors, and in its header all that is needed to run it.

Nothing in such a file is ever executed: tensors are bytes, the rest is JSON that is checked.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors import SafetensorError, deserialize
from safetensors.torch import load, save

from blocks.config import ModelConfig
from blocks.cost.parameters import total_parameters
from blocks.faults import N_, ConfigError, Fault
from blocks.models import Model, build, expected_shapes
from blocks.text.tokenizer import Tokenizer
from blocks.text.tokenizers import tokenizer_from_json
from blocks.weights.tensors import Weights, check_shapes, load_weights


@dataclass(frozen=True, kw_only=True)
class Card:
    """How a model was trained, and how well it does: all measured, or None where it was not.

    `group_scores` is the score of each kind of question apart, where there are several.
    """

    task: str
    recipe: Mapping[str, Any]
    seed: int
    n_steps: int
    seconds: float
    held_out_loss: float | None
    score: float | None
    score_name: str
    samples: Mapping[str, str] = field(default_factory=dict)
    group_scores: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises `TypeError` where a file says a word for a number, or the other way round."""
        if not isinstance(self.task, str) or not {type(self.seed), type(self.n_steps)} == {int}:
            raise TypeError


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a file holds. `tensors` lie on the CPU, by parameter name."""

    config: ModelConfig
    tokenizer: Tokenizer
    card: Card
    tensors: Weights

    def to_bytes(self, dtype: torch.dtype = torch.float16) -> bytes:
        """The file; weights in half precision unless told otherwise."""
        header = {
            "config": json.dumps(self.config.flat()),
            "tokenizer": self.tokenizer.to_json(),
            "card": json.dumps(asdict(self.card)),
        }
        tensors = {name: t.detach().to("cpu", dtype) for name, t in self.tensors.items()}
        return save({name: t.contiguous() for name, t in tensors.items()}, metadata=header)


def read_model_file(raw: bytes) -> ModelFile:
    """Check and read a file of ours. Raises `ConfigError`."""
    header = _header(raw)
    try:
        config = ModelConfig.from_flat(json.loads(header["config"]))
        tokenizer = tokenizer_from_json(header["tokenizer"])
        card = Card(**json.loads(header["card"]))
    except ConfigError:
        raise
    except (KeyError, TypeError, ValueError):
        raise _unreadable() from None
    tensors = load(raw)
    if any(t.is_complex() for t in tensors.values()) or not _may_hold(tensors, config):
        raise _unreadable()
    check_shapes(expected_shapes(config), tensors)
    return ModelFile(config, tokenizer, card, tensors)


def trained(
    config: ModelConfig,
    tensors: Weights,
    *,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Model:
    """The model of this configuration with these weights."""
    model = build(config, device=device, dtype=dtype)
    load_weights(model, tensors)
    return model


def _header(raw: bytes) -> dict[str, str]:
    try:
        deserialize(raw)  # type: ignore[no-untyped-call]
        length = int.from_bytes(raw[:8], "little")
        return json.loads(raw[8 : 8 + length])["__metadata__"]
    except (SafetensorError, KeyError, ValueError):
        raise _unreadable() from None


def _may_hold(tensors: Weights, config: ModelConfig) -> bool:
    """Whether a file of so few numbers can be this model, which is built only then."""
    n_layers = config.n_layers + config.n_decoder_layers
    n_numbers = sum(tensor.numel() for tensor in tensors.values())
    return n_layers * config.n_experts <= len(tensors) and total_parameters(config) <= n_numbers


def _unreadable() -> ConfigError:
    text = N_("This is no model file of Blockscope: choose a .safetensors that was saved here")
    return ConfigError([Fault(text)])
