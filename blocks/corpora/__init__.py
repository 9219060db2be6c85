"""Grammars that write what our models learn from: stories, and sentences in two languages."""

from blocks.corpora.translation import Pair, held_out_pairs, translations

__all__ = ["Pair", "held_out_pairs", "translations"]
