"""Weights in safetensors files, and published `config.json` files."""

from blocks.weights.config_json import read_config_json
from blocks.weights.model_file import ModelFile, read_model_file, trained
from blocks.weights.pocket import pocket_names
from blocks.weights.tensors import load_weights, read_weights

__all__ = [
    "ModelFile",
    "load_weights",
    "pocket_names",
    "read_config_json",
    "read_model_file",
    "read_weights",
    "trained",
]
