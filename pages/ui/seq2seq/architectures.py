"""Three architectures: what they are called, what each is for, and what is shown of them."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.corpora.translation import tokenizer
from blocks.inspection import architectures
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.corruption import Example, masked_tokens, next_token, span_corruption
from blocks.text.words import words
from pages.ui import link
from pages.ui.language import _

KINDS = architectures.KINDS
MOST_SHOWN, MOST_WORDS = 24, 48


class Stack(NamedTuple):
    """Equal layers: what goes in, their parts from below (label, role), what comes out."""

    reads: str
    parts: tuple[tuple[str, str], ...]
    n_layers: int
    writes: str


class About(NamedTuple):
    """What people know an architecture by."""

    name: str
    reads: str
    trained: str
    used: str
    examples: str


ABOUT = {
    Architecture.ENCODER: About(
        N_("Encoder-only"),
        N_("Every token attends to all tokens, earlier and later ones and itself."),
        N_("masked language modeling (MLM): predict the masked tokens"),
        N_("labels, search, sentence embeddings: reading, not generating"),
        "BERT (2018), RoBERTa (2019), DeBERTa (2020), ModernBERT (2024)",
    ),
    Architecture.GPT: About(
        N_("Decoder-only"),
        N_("Every token attends to itself and those before it; the source is the prompt."),
        N_("next token (autoregressive language modeling)"),
        N_("text continuation, chat, code; any task that can be put into a prompt"),
        "GPT-2 (2019), GPT-3 (2020), Llama (2023), Qwen (2023), DeepSeek (2024)",
    ),
    Architecture.ENCODER_DECODER: About(
        N_("Encoder–decoder"),
        N_("The source is fully visible; the target sees the source and what has been generated."),
        N_("span corruption: restore the missing spans (T5); or parallel texts"),
        N_("translation, summaries, speech to text: one text out of another"),
        "Transformer (2017), BART (2019), T5 (2019), NLLB (2022), Whisper (2022)",
    ),
}


@lru_cache(maxsize=32)
def compared(config: ModelConfig, n_source: int, n_target: int) -> pd.DataFrame:
    """Parameters and FLOPs, a row an architecture."""
    return architectures.compared(config, n_source, n_target)


def lengths(run: Run) -> tuple[int, int]:
    """Tokens of the source, and tokens that are written with the last one that comes next."""
    return len(run.input.labels), len(run.target_or_start.labels)


def stacks(kind: Architecture, config: ModelConfig) -> list[Stack]:
    """What is drawn."""
    both = (_("bidirectional self-attention"), "attention")
    masked = (_("masked self-attention"), "attention")
    cross = (_("cross-attention"), "cross_attention")
    wide = [] if config.attention_only else [(_("feed-forward"), "feed_forward")]
    n_layers, n_decoder_layers = config.n_layers, config.n_decoder_layers
    match kind:
        case Architecture.ENCODER:
            return [Stack(_("source"), (both, *wide), n_layers, _("logits at every token"))]
        case Architecture.GPT:
            text = _("source, then target")
            return [Stack(text, (masked, *wide), n_layers, _("logits of the next token"))]
        case _:
            return [
                Stack(_("source"), (both, *wide), n_layers, ""),
                Stack(
                    _("target so far"),
                    (masked, cross, *wide),
                    n_decoder_layers,
                    _("logits of the next token"),
                ),
            ]


def seen(kind: Architecture, run: Run) -> tuple[NDArray[np.uint8], tuple[str, ...], int]:
    """Who sees whom, the tokens, and how many of them are the source."""
    source = run.input.labels[:MOST_SHOWN]
    target = run.target_or_start.labels[:MOST_SHOWN]
    codes = architectures.who_sees_whom(kind, len(source), len(target))
    labels = source if kind is Architecture.ENCODER else (*source, *target)
    return codes, labels, len(source)


def reader_words() -> tuple[str, ...]:
    """The words of the reader's own sentence, as they are spoilt; none of an empty text."""
    return words(link.value("text"), at_most=MOST_WORDS)[0]


def examples() -> dict[Architecture, Example]:
    """What each would be given of the reader's sentence in its training."""
    tokens, seed = reader_words(), link.value("corruption_seed")
    share, reader = link.value("corrupted_share"), tokenizer()
    known = set(reader.chinese) if set(tokens) & set(reader.chinese) else set(reader.english)
    others = tuple(sorted(known))
    mean_len = link.value("mean_span_len")
    return {
        Architecture.ENCODER: masked_tokens(tokens, others, share=share, seed=seed),
        Architecture.GPT: next_token(tokens),
        Architecture.ENCODER_DECODER: span_corruption(
            tokens, share=share, mean_len=mean_len, seed=seed
        ),
    }
