"""What leaves Blockscope: a model as code, weights in others' names, notebooks, recordings."""

from blocks.export.code import as_code
from blocks.export.difference import CodeChange, CodeFacts, code_change, code_facts
from blocks.export.notebook import notebook as notebook_of
from blocks.export.package import activations, family, packed

__all__ = [
    "CodeChange",
    "CodeFacts",
    "activations",
    "as_code",
    "code_change",
    "code_facts",
    "family",
    "notebook_of",
    "packed",
]
