"""Tokenizers, sampling, and generation with a cache or a beam."""

from blocks.text.beam import BeamConfig, BeamSearch
from blocks.text.bpe import BytePairTokenizer
from blocks.text.characters import CharacterTokenizer
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.text.tokenizers import shipped_tokenizer

__all__ = [
    "BeamConfig",
    "BeamSearch",
    "BytePairTokenizer",
    "CharacterTokenizer",
    "Generation",
    "SamplingConfig",
    "shipped_tokenizer",
]
