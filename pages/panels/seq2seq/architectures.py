"""Encoder-only, decoder-only and encoder–decoder, side by side at the same width."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks import ModelConfig
from blocks.corpora.translation import tokenizer
from blocks.cost.flops import count_decoder_flops, count_encoder_flops, count_flops
from blocks.inspection import architectures
from blocks.inspection.architectures import who_sees_whom
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.corruption import Example, masked_tokens, next_token, span_corruption
from blocks.text.words import words
from pages.figures.table_rows import each_row, row_at
from pages.figures.theme import Picture
from pages.panels.seq2seq import architectures_picture as figures
from pages.ui import chips, link
from pages.ui.chart import show
from pages.ui.chips import Chip
from pages.ui.controls import enter, slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.tokens import EMPTY

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


def objective_examples() -> dict[Architecture, Example]:
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


UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def flops_text(count: float) -> str:
    """FLOPs as people read them."""
    for size, unit in UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}FLOP"
    return f"{count:.0f} FLOP"


def about(kind: Architecture, run: Run) -> str:
    """How large it is and who sees whom, in a short list."""
    row = _row(kind, run)
    return _list(
        (_("Who attends to whom"), _(ABOUT[kind].reads)),
        (_("Parameters"), f"{int(row['parameters']):,}"),
        (_("FLOPs per output token"), flops_text(row["per_token"])),
    )


def more_about(kind: Architecture) -> str:
    """Where it comes from and what it is good for."""
    known = ABOUT[kind]
    return _list(
        (_("Pre-training objective"), _(known.trained)),
        (_("Typical use"), _(known.used)),
        (_("Examples"), known.examples),
    )


def _list(*rows: tuple[str, str]) -> str:
    return "\n".join(f"- **{name}:** {value}" for name, value in rows)


def _row(kind: Architecture, run: Run) -> pd.Series:
    table = compared(run.config, *lengths(run))
    return row_at(table.set_index("architecture"), str(kind))


def compared_sentence(run: Run) -> str:
    """Twice the parameters, about the same work."""
    n_source, n_target = lengths(run)
    gpt, two = _row(Architecture.GPT, run), _row(Architecture.ENCODER_DECODER, run)
    text = _(
        "To read {n_source} tokens and generate {n_target}, at d_model {d_model}: the "
        "encoder–decoder has {parameters:.2f} times the parameters of the decoder-only "
        "model and takes {work:.2f} times its FLOPs. A source token passes through the "
        "encoder and the keys and values of cross-attention only, a target token "
        "through the decoder only."
    )
    total = [row["reading"] + row["writing"] for row in (two, gpt)]
    return text.format(
        n_source=n_source,
        n_target=n_target,
        d_model=run.config.d_model,
        parameters=two["parameters"] / gpt["parameters"],
        work=total[0] / total[1],
    )


def flops_note(run: Run) -> str:
    """What is counted."""
    return _(
        "Exact count: 2·m·n·k per matrix product, with cached keys and values and "
        "logits computed once per output token. The encoder-only model reads once and "
        "labels as many tokens as the others generate; it generates none."
    )


def flops_alt(run: Run) -> str:
    """Write the alt text of the bars."""
    table = compared(run.config, *lengths(run))
    rows = "; ".join(
        f"{row.architecture} {flops_text(row.reading)} + {flops_text(row.writing)}"
        for row in each_row(table)
    )
    return _("FLOPs to read and to generate: {rows}.").format(rows=rows)


def drawing_alt(kind: Architecture, run: Run) -> str:
    """Write the alt text of a drawing."""
    parts = "; ".join(
        f"{stack.reads} → {stack.n_layers} × ({', '.join(label for label, _r in stack.parts)})"
        for stack in stacks(kind, run.config)
    )
    return _("Diagram of the architecture: {parts}.").format(parts=parts)


def sees_alt(kind: Architecture, run: Run) -> str:
    """Write the alt text of a mask."""
    return _(ABOUT[kind].reads)


def reads_chips(example: Example) -> str:
    """What goes in; what was spoilt stands out."""
    return chips.as_markdown(
        Chip(token, "", "pinned" if i in example.spoilt else "read")
        for i, token in enumerate(example.reads or (EMPTY,))
    )


def asked_chips(example: Example) -> str:
    """What should come out: a text, or a token at each place that is asked."""
    asked = [token for token in example.asked if token is not None]
    return chips.as_markdown(Chip(token, "", "written") for token in asked or (EMPTY,))


def example_sentence(kind: Architecture, example: Example) -> str:
    """What is asked, counted."""
    n_asked = sum(token is not None for token in example.asked)
    match kind:
        case Architecture.ENCODER:
            text = _(
                "Targets: {n} of {total} tokens; {spoilt} of them are masked or "
                "replaced, the others stay as they are."
            )
            values = {"total": len(example.reads), "spoilt": len(example.spoilt)}
            return text.format(n=n_asked, **values)
        case Architecture.GPT if not n_asked:
            return _("Nothing to predict: a single token has none before it.")
        case Architecture.GPT:
            text = _("Targets: all {n} tokens, each predicted from those before it.")
            return text.format(n=n_asked)
        case _:
            text = _(
                "Spans removed: {n}. The decoder generates {written} tokens instead of "
                "the whole sentence."
            )
            return text.format(n=len(example.spoilt), written=n_asked)


@section
def three_architectures(run: Run) -> None:
    """Drawing, masks, parameters, FLOPs and use of each, on the reader's own texts."""
    code = (who_sees_whom, count_flops, count_encoder_flops, count_decoder_flops)
    with explained(("architectures", "flops"), code, key="architectures"):
        say(compared_sentence, run)
    for column, kind in zip(st.columns(3), KINDS, strict=True):
        with column:
            one_architecture(kind, run)
    show(draw_flops, run, key="task_flops", alt=flops_alt)
    note(flops_note(run))


def one_architecture(kind: Architecture, run: Run) -> None:
    """A column of the comparison."""
    name = str(kind).replace("-", "_")
    alt = drawing_alt
    show(draw_architecture, kind, run, key=f"drawing_{name}", alt=alt)
    show(draw_sees, kind, run, key=f"sees_{name}", alt=sees_alt)
    st.markdown(about(kind, run), help=more_about(kind))


@section
def what_they_learn_from() -> None:
    """The reader's own sentence as each of them meets it in its training."""
    code = (masked_tokens, span_corruption)
    place = explained(("span_corruption",), code, key="pretraining")
    if not reader_words():
        place.info(_("The source is empty: there is no token to corrupt."))
        return
    left, middle, right = place.columns(3, vertical_alignment="bottom")
    with left:
        shown = link.value("corrupted_share")
        slider("corrupted_share", _("share corrupted"), shown, step=0.05)
    with middle:
        shown = link.value("mean_span_len")
        slider("mean_span_len", _("mean length of a span"), shown, step=0.5)
    with right:
        enter("corruption_seed", _("Seed of the corruption"), link.value("corruption_seed"))
    examples = objective_examples()
    for column, kind in zip(st.columns(3), KINDS, strict=True):
        with column, st.container(border=True, key=f"example_{str(kind).replace('-', '_')}"):
            example = examples[kind]
            st.markdown(f"**{_(ABOUT[kind].name)}**")
            note(_("Input"))
            st.markdown(reads_chips(example))
            note(_("has to answer"))
            st.markdown(asked_chips(example))
            note(example_sentence(kind, example))


def draw_architecture(kind: Architecture, run: Run) -> Picture:
    """Stacks of layers."""
    found = [figures.Stack(*each) for each in stacks(kind, run.config)]
    return figures.drawing(found, title=_(ABOUT[kind].name), _=_)


def draw_sees(kind: Architecture, run: Run) -> Picture:
    """The mask of the reader's own texts."""
    codes, labels, n_source = seen(kind, run)
    return figures.sees(codes, labels, n_source=n_source, _=_)


def draw_flops(run: Run) -> Picture:
    """Reading and writing."""
    table = compared(run.config, *lengths(run))
    labels = [_(ABOUT[kind].name) for kind in KINDS]
    return figures.flops(table.assign(label=labels), _=_)
