"""Encoder-only, decoder-only and encoder–decoder, side by side at the same width."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from blocks.corpora.translation import tokenizer
from blocks.cost.flops import count_decoder_flops, count_encoder_flops, count_flops
from blocks.inspection import architectures
from blocks.inspection.architectures import KINDS, ArchitectureFacts, TaskFacts, who_sees_whom
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.corruption import Example, masked_tokens, next_token, span_corruption
from blocks.text.words import words
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.theme import plain
from pages.figures.units import flops as flops_text
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.seq2seq import architectures_picture
from pages.panels.seq2seq.architectures_picture import NAMES
from pages.show.controls import enter, slider
from pages.show.explain import explained, note
from pages.show.parts import Beside, File, Item, Matrix, Note, OffScreen, Say, Shown, Table
from pages.stage.tokens import EMPTY
from pages.state.values import State
from pages.words import chips
from pages.words.chips import Chip
from pages.words.language import _, enumeration, fill, listing, ngettext

MOST_WORDS, ROW = 48, 58  # of a sentence that is spoilt; pixels of a bar


class About(NamedTuple):
    """What people know an architecture by."""

    reads: str
    trained: str
    used: str
    examples: str


ABOUT = {
    Architecture.ENCODER: About(
        N_("Every token attends to all tokens: earlier ones, later ones and itself."),
        N_("masked language modeling (MLM): predict the masked tokens"),
        N_("labeling, search, sentence embeddings: reading, not generating"),
        "BERT (2018), RoBERTa (2019), DeBERTa (2020), ModernBERT (2024)",
    ),
    Architecture.GPT: About(
        N_("Every token attends to itself and the tokens before it; the source is the prompt."),
        N_("autoregressive language modeling: predict the next token"),
        N_("text continuation, chat, code; any task that can be put into a prompt"),
        "GPT-2 (2019), GPT-3 (2020), Llama (2023), Qwen (2023), DeepSeek (2024)",
    ),
    Architecture.ENCODER_DECODER: About(
        N_("The source is fully visible; the target sees the source and what has been generated."),
        N_("span corruption: restore the missing spans (T5); or translation on parallel texts"),
        N_("translation, summarization, speech to text: one sequence from another"),
        "Transformer (2017), BART (2019), T5 (2019), NLLB (2022), Whisper (2022)",
    ),
}


@lru_cache(maxsize=32)
def task_facts(run: Run) -> TaskFacts:
    return architectures.task_facts(run)


@lru_cache(maxsize=32)
def architecture_facts(run: Run, kind: Architecture) -> ArchitectureFacts:
    return architectures.architecture_facts(run, task_facts(run), kind)


def says_task(facts: TaskFacts) -> str:
    """Twice the parameters, about the same work."""
    text = _(
        "At d_model {d_model}, the encoder–decoder has {parameters:.2f} times the parameters "
        "of the decoder-only model; with a source of length {n_source} and a target of length"
        " {n_target} it takes {flops:.2f} times its FLOPs. A source token passes only through"
        " the encoder and the key and value projections of cross-attention, a target token "
        "only through the decoder."
    )
    return fill(text, facts)


def table(facts: TaskFacts) -> pd.DataFrame:
    """What each is, side by side as the pictures are."""
    names = (
        *(_("Who attends to whom"), _("Parameters"), _("FLOPs per output token")),
        *(_("Pre-training objective"), _("Typical use"), _("Examples")),
    )
    counted = facts.table.set_index("architecture")
    return pd.DataFrame({"": names} | {_(NAMES[kind]): _column(kind, counted) for kind in KINDS})


def _column(kind: Architecture, counted: pd.DataFrame) -> list[str]:
    known, counts = ABOUT[kind], counted.loc[kind].to_dict()
    return [
        *(_(known.reads), f"{counts['parameters']:,.0f}", flops_text(counts["per_token"])),
        *(_(known.trained), _(known.used), known.examples),
    ]


def drawing_alt(run: Run, kind: Architecture) -> str:
    """Name the parts of a diagram, which has no data of its own."""
    parts = listing(
        f"{stack.reads} → {stack.n_layers} × ({enumeration(label for label, _role in stack.parts)})"
        for stack in architectures_picture.stacks(architecture_facts(run, kind), _)
    )
    return _("Diagram of the architecture: {parts}.").format(parts=parts)


def flops(facts: TaskFacts) -> Chart:
    """What a task costs: reading the source and writing the target, a bar an architecture."""
    return Chart(
        _("FLOPs of the whole task"),
        facts.table,
        Axis(
            _("FLOPs of matrix products"),
            (0, 1.05 * float((facts.table["reading"] + facts.table["writing"]).max())),
            digits="~s",
        ),
        Axis(names=[plain(_(NAMES[kind])) for kind in KINDS]),
        [
            bars("reading", Look(_("reading the source"), palette.ATTENTION)),
            bars("writing", Look(_("generating the target"), palette.EMBEDDING)),
        ],
        hover="{y}<br>{name}: {x:,.4s}",
        stack="stack",
        tall=ROW * len(facts.table),
    )


def _of_kind(kind: Architecture) -> Sequence[Item]:
    """How one of them is built, and who sees whom in it."""
    name = str(kind).replace("-", "_")
    look: dict[str, Any] = {"facts": lambda run: architecture_facts(run, kind)}
    drawing, sees = architectures_picture.drawing, architectures_picture.sees
    return (
        Matrix(
            drawing, f"drawing_{name}", alt=lambda run: drawing_alt(run, kind), room=215, **look
        ),
        Matrix(sees, f"sees_{name}", alt=lambda run: _(ABOUT[kind].reads), room=275, **look),
    )


PANEL = Panel(
    "architectures",
    N_("Which architecture?"),
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    concepts=("architectures", "flops"),
    code=(who_sees_whom, count_flops, count_encoder_flops, count_decoder_flops),
    facts=task_facts,
    shows=(
        Say(says_task),
        Beside(*map(_of_kind, KINDS)),
        OffScreen(
            Table(table, "architectures_table", is_whole=True),
            Shown(flops, "task_flops"),
            Note(
                N_(
                    "The exact count is 2·m·n·k per matrix product, with keys and values cached "
                    "and logits computed once per output token. The encoder-only model reads once "
                    "and labels as many tokens as the other two generate; it generates none."
                )
            ),
        ),
        File(lambda facts: facts.table, "architectures"),
    ),
)


def _words(state: State) -> tuple[str, ...]:
    """The words of the reader's own sentence, as they are spoilt; none of an empty text."""
    return words(state.text, at_most=MOST_WORDS)[0]


def _examples(state: State) -> dict[Architecture, Example]:
    """What each would be given of the reader's sentence in its training."""
    tokens, seed = _words(state), state.corruption_seed
    share, mean_len = state.corrupted_share, state.mean_span_len
    reader = tokenizer()
    known = set(reader.chinese) if set(tokens) & set(reader.chinese) else set(reader.english)
    return {
        Architecture.ENCODER: masked_tokens(tokens, tuple(sorted(known)), share=share, seed=seed),
        Architecture.GPT: next_token(tokens),
        Architecture.ENCODER_DECODER: span_corruption(
            tokens, share=share, mean_len=mean_len, seed=seed
        ),
    }


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


def says_example(kind: Architecture, example: Example) -> str:
    """What is asked, counted."""
    n_asked = example.n_asked
    match kind:
        case Architecture.ENCODER:
            text = _(
                "Target tokens: {n} of {total} (masked or replaced: {spoilt}; the rest stay "
                "unchanged)."
            )
            values = {"total": len(example.reads), "spoilt": len(example.spoilt)}
            return text.format(n=n_asked, **values)
        case Architecture.GPT if not n_asked:
            return _("There is nothing to predict: a single token has no token before it.")
        case Architecture.GPT:
            text = _(
                "Targets: every token after the first ({n} in all), each predicted from those "
                "before it."
            )
            return text.format(n=n_asked)
        case _:
            text = ngettext(
                "Spans removed: {n}. The decoder generates only {written} token instead of "
                "the whole sentence.",
                "Spans removed: {n}. The decoder generates only {written} tokens instead of "
                "the whole sentence.",
                n_asked,
            )
            return text.format(n=len(example.spoilt), written=n_asked)


@section
def what_they_learn_from(state: State) -> None:
    """The reader's own sentence as each of them meets it in its training."""
    code = (masked_tokens, span_corruption)
    place = explained(("span_corruption",), code, key="pretraining")
    if not _words(state):
        place.info(_("The source is empty: there is no token to corrupt."))
        return
    left, middle, right = place.columns(3, vertical_alignment="bottom")
    with left:
        shown = state.corrupted_share
        slider("corrupted_share", _("Share of tokens corrupted"), shown, step=0.05)
    with middle:
        slider("mean_span_len", _("Mean span length"), state.mean_span_len, step=0.5)
    with right:
        enter("corruption_seed", _("Corruption seed"))
    examples = _examples(state)
    for column, kind in zip(st.columns(3), KINDS, strict=True):
        with column, st.container(border=True, key=f"example_{str(kind).replace('-', '_')}"):
            example = examples[kind]
            st.markdown(f"**{_(NAMES[kind])}**")
            note(_("Input"))
            st.markdown(reads_chips(example))
            note(_("Targets"))
            st.markdown(asked_chips(example))
            note(says_example(kind, example))


PRETRAINING = Panel(
    "pretraining",
    N_("What is each architecture trained to do?"),
    what_they_learn_from,
    fields=("n_layers", "d_model"),
)
