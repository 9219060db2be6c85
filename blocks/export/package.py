"""Weights and what a run showed, as files that others open: safetensors, by name."""

import io
import json
import math
import tempfile
import zipfile
from pathlib import Path

from safetensors.torch import save
from torch import Tensor, nn

from blocks.export.code import as_code
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.observe.recording import Recording
from blocks.text.tokenizer import Tokenizer
from blocks.weights.config_write import family_of
from blocks.weights.ledger import Ledger
from blocks.weights.published import save_published
from blocks.weights.tensors import Weights, copied, read_weights

MOST_WEIGHTS = 2**26  # 256 MiB in float32


def family(config: ModelConfig, came_as: str = "") -> str:
    """The published family under whose names such a model leaves; empty where none has such.

    `came_as`: that of the files it came from.
    """
    try:
        return family_of(config, came_as)
    except ConfigError:
        return ""


def packed(
    config: ModelConfig,
    model: nn.Module,
    tokenizer: Tokenizer | None = None,
    came: Ledger | None = None,
) -> bytes:
    """A zip of what it takes to run the model elsewhere.

    config.json and model.safetensors as its family has them, where it has one (`open_published`
    reads them again bit for bit); else under our names, beside the model as code, which has these.
    What `came` from files has the names that it had there.
    """
    if not family(config, came.family if came else ""):
        files = {
            "model.py": as_code(config).encode(),
            "config.json": json.dumps(config.flat(), indent=2).encode(),
            "model.safetensors": _saved(read_weights(model)),
        }
        return _zipped(files)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "model"
        save_published(folder, config, model, came=came, tokenizer=tokenizer)
        return _zipped({path.name: path.read_bytes() for path in sorted(folder.iterdir())})


def activations(seen: Recording) -> bytes:
    """What a recording keeps, each tensor under the name of its probe, as safetensors.

    Attention weights too; of a text so long that they outgrow the rest, what makes them.
    """
    tensors = {**seen.tensors, **_weights(seen), "output": seen.output}
    return _saved({name: copied(each) for name, each in tensors.items()})


def _weights(seen: Recording) -> dict[str, Tensor]:
    """The weights of all layers, or their queries and keys."""
    patterns = seen.patterns.items()
    if sum(math.prod(made.shape) for _path, made in patterns) <= MOST_WEIGHTS:
        return {path: made.rows() for path, made in patterns}
    parts = ((path, {"q": made.q, "k": made.k}) for path, made in patterns)
    return {
        path.replace("pattern", name): each for path, both in parts for name, each in both.items()
    }


def _saved(tensors: Weights) -> bytes:
    return save({name: each.contiguous() for name, each in tensors.items()})


def _zipped(files: dict[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return whole.getvalue()
