"""A trained model in one file: safetensors, and in its header all that is needed to run it.

Nothing in such a file is ever executed: tensors are bytes, the rest is JSON that is checked.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from blocks.cost.parameters import total_parameters
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.legal import is_of
from blocks.model.models import Model, build, expected_shapes
from blocks.text.json_text import read_json
from blocks.text.tokenizer import Tokenizer
from blocks.text.tokenizers import tokenizer_from_json
from blocks.weights.config_json import object_of
from blocks.weights.folder import MOST_HEADER, check_count
from blocks.weights.packing import pack_tensors, unpack_tensors
from blocks.weights.quantized import Rounded
from blocks.weights.rounded_inputs import RoundedInput, multiplied_weights, round_inputs
from blocks.weights.tensors import Weights, bytes_of, check_finite, check_shapes, load_weights

MOST_CHARACTERS, MOST_TENSORS = 10_000, 20_000
WEIGHTS = ("torch.float32", "torch.float16", "torch.bfloat16")
STORED = ("F32", "F16", "BF16", "U8")  # codes and bits that are packed are bytes


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
        """Raises `ConfigError` where a file says a word for a number, or the other way round."""
        is_right = {
            "task": _is_text(self.task),
            "recipe": isinstance(self.recipe, Mapping),
            "seed": _is_count(self.seed),
            "n_steps": _is_count(self.n_steps),
            "seconds": _is_measured(self.seconds),
            "held_out_loss": self.held_out_loss is None or _is_measured(self.held_out_loss),
            "score": self.score is None or _is_measured(self.score),
            "score_name": _is_text(self.score_name),
            "samples": _is_table(self.samples, _is_text),
            "group_scores": _is_table(self.group_scores, _is_measured),
        }
        if wrong := [name for name, is_so in is_right.items() if not is_so]:
            text = N_("The file's model card is damaged at {name}: save the model again")
            raise ConfigError(Fault(text, {"name": name}) for name in wrong)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_CHARACTERS


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_measured(value: object) -> bool:
    """A number of 0 or more, as all are that a card tells: losses, shares, bits, seconds."""
    return is_of(float, value) and float(value) >= 0  # type: ignore[arg-type]


def _is_table(value: object, is_right: Callable[[object], bool]) -> bool:
    return isinstance(value, Mapping) and all(map(is_right, value.values()))


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a file holds. `tensors` lie on the CPU, by parameter name; without a `card` nothing is
    said of how they were trained.

    Where a matrix is among the `quantized`, its tensor holds the values of the grid, and the file
    the codes; where it is among the `inputs` too, what it reads is rounded before it is multiplied.
    A matrix with many zeros is written without them.
    """

    config: ModelConfig
    tokenizer: Tokenizer
    card: Card | None
    tensors: Weights
    quantized: Mapping[str, Rounded] = field(default_factory=dict)
    inputs: Mapping[str, RoundedInput] = field(default_factory=dict)

    def build(self, device: str = "cpu") -> Model:
        """The model that it holds, in float32."""
        return round_inputs(trained(self.config, self.tensors, device=device), self.inputs)

    def to_bytes(self, dtype: torch.dtype = torch.float16) -> bytes:
        """The file; weights in half precision unless told otherwise, or too large for it."""
        header = {"config": json.dumps(self.config.flat()), "tokenizer": self.tokenizer.to_json()}
        if self.card is not None:
            header["card"] = json.dumps(asdict(self.card))
        packed, header["packed"] = self._packed(dtype)
        return save({name: packed[name].contiguous() for name in sorted(packed)}, metadata=header)

    def weight_bytes(self, dtype: torch.dtype | None = torch.float16) -> int:
        """Bytes of its weights in the file: all that is in it but the header.

        `dtype` as in `to_bytes`; None: as they are, as in the file that they were read from.
        """
        return bytes_of(self._packed(dtype)[0])

    def _packed(self, dtype: torch.dtype | None) -> tuple[dict[str, Tensor], str]:
        plain = self.tensors.keys() - self.quantized.keys()
        tensors = {name: _narrowed(self.tensors[name].detach().cpu(), dtype) for name in plain}
        return pack_tensors(tensors, self.quantized, self.inputs)


def read_model_file(raw: bytes) -> ModelFile:
    """Check and read a file of ours. Raises `ConfigError`."""
    header = _header(raw)
    try:
        config = ModelConfig.from_flat(read_json(header["config"]))
        tokenizer = tokenizer_from_json(header["tokenizer"])
        card = Card(**read_json(header["card"])) if "card" in header else None
    except ConfigError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _unreadable() from None
    _check_vocabulary(tokenizer, config)
    try:
        tensors, quantized, inputs = unpack_tensors(load(raw), header.get("packed", "{}"))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError, SafetensorError):
        raise _unreadable() from None
    if not _may_hold(tensors, config):
        raise _unreadable()
    check_shapes(expected_shapes(config), tensors)
    _check_formats({name: str(tensor.dtype) for name, tensor in tensors.items()}, WEIGHTS)
    check_finite(tensors)
    if inputs and not inputs.keys() <= {*multiplied_weights(build(config, device="meta"))}:
        raise _unreadable()
    return ModelFile(config, tokenizer, card, tensors, quantized, inputs)


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


def _narrowed(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """In another number format, if every number that is finite stays so."""
    narrow = tensor if dtype is None else tensor.to(dtype)
    return narrow if narrow.isfinite().equal(tensor.isfinite()) else tensor


def _header(raw: bytes) -> dict[str, str]:
    """What a file says beside its tensors; their formats are checked before they are read."""
    header = raw[8 : 8 + min(int.from_bytes(raw[:8], "little"), MOST_HEADER)]
    check_count(header, MOST_TENSORS)
    try:
        rows = json.loads(header, object_pairs_hook=object_of)
        found = rows.pop("__metadata__")
        formats = {name: row["dtype"] for name, row in rows.items()}
    except ConfigError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise _unreadable() from None
    _check_formats(formats, STORED)
    return found


def _check_formats(formats: Mapping[str, object], known: Collection[str]) -> None:
    """Raise `ConfigError` where a tensor is of other numbers than those that are saved here."""
    for name, found in formats.items():
        if found not in known:
            text = N_(
                "{name} is stored as {format}, but a model file here holds float32, float16 or "
                "bfloat16: save it again as one of these"
            )
            said = {"name": ascii(name)[1:-1][:80], "format": ascii(found)[1:-1][:40]}
            raise ConfigError([Fault(text, said)])


def _check_vocabulary(tokenizer: Tokenizer, config: ModelConfig) -> None:
    """A model may know more tokens than its tokenizer, which are padding, but not fewer."""
    if tokenizer.vocab_size > config.vocab_size:
        text = N_(
            "The file's tokenizer has {n} tokens, but the model knows only {vocab_size}: save "
            "the model with its own tokenizer"
        )
        said = {"n": f"{tokenizer.vocab_size:,}", "vocab_size": f"{config.vocab_size:,}"}
        raise ConfigError([Fault(text, said)])


def _may_hold(tensors: Weights, config: ModelConfig) -> bool:
    """Whether a file of so few numbers can be this model, which is built only then."""
    n_layers = config.n_layers + config.n_decoder_layers
    n_parts = n_layers + config.n_expert_layers * (config.n_experts - 1)
    n_numbers = sum(tensor.numel() for tensor in tensors.values())
    return n_parts <= len(tensors) and total_parameters(config) <= n_numbers


def _unreadable() -> ConfigError:
    text = N_("This is not a Blockscope model file: choose a .safetensors file saved here")
    return ConfigError([Fault(text)])
