"""Weights in safetensors files, and published `config.json` files."""

from blocks.weights.config_json import read_config_json
from blocks.weights.model_file import ModelFile, read_model_file, trained
from blocks.weights.pocket import pocket_names
from blocks.weights.published import Published, open_published, read_ledger, save_published
from blocks.weights.tensors import load_weights, read_weights

__all__ = [
    "ModelFile",
    "Published",
    "load_weights",
    "open_published",
    "pocket_names",
    "read_config_json",
    "read_ledger",
    "read_model_file",
    "read_weights",
    "save_published",
    "trained",
]
