"""Encoder-only, decoder-only and encoder–decoder, side by side at the same width."""

import streamlit as st

from blocks.cost.flops import count_decoder_flops, count_encoder_flops, count_flops
from blocks.inspection.architectures import who_sees_whom
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.corruption import masked_tokens, span_corruption
from pages.figures import architectures as figures
from pages.ui import link
from pages.ui.chart import show
from pages.ui.controls import enter, slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.seq2seq import architecture_words, architectures


@section
def three_architectures(run: Run) -> None:
    """Drawing, masks, parameters, FLOPs and use of each, on the reader's own texts."""
    code = (who_sees_whom, count_flops, count_encoder_flops, count_decoder_flops)
    with explained(("architectures", "flops"), code, key="architectures"):
        say(architecture_words.compared_sentence, run)
    for column, kind in zip(st.columns(3), architectures.KINDS, strict=True):
        with column:
            one_architecture(kind, run)
    show(draw_flops, run, key="task_flops", alt=architecture_words.flops_alt)
    note(architecture_words.flops_note(run))


def one_architecture(kind: Architecture, run: Run) -> None:
    """A column of the comparison."""
    name = str(kind).replace("-", "_")
    alt = architecture_words.drawing_alt
    show(draw_architecture, kind, run, key=f"drawing_{name}", alt=alt)
    show(draw_sees, kind, run, key=f"sees_{name}", alt=architecture_words.sees_alt)
    st.markdown(architecture_words.about(kind, run), help=architecture_words.more_about(kind))


@section
def what_they_learn_from() -> None:
    """The reader's own sentence as each of them meets it in its training."""
    code = (masked_tokens, span_corruption)
    place = explained(("span_corruption",), code, key="pretraining")
    if not architectures.reader_words():
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
    examples = architectures.examples()
    for column, kind in zip(st.columns(3), architectures.KINDS, strict=True):
        with column, st.container(border=True, key=f"example_{str(kind).replace('-', '_')}"):
            example = examples[kind]
            st.markdown(f"**{_(architectures.ABOUT[kind].name)}**")
            note(_("Input"))
            st.markdown(architecture_words.reads_chips(example))
            note(_("has to answer"))
            st.markdown(architecture_words.asked_chips(example))
            note(architecture_words.example_sentence(kind, example))


def draw_architecture(kind: Architecture, run: Run):
    """Stacks of layers."""
    found = [figures.Stack(*each) for each in architectures.stacks(kind, run.config)]
    return figures.drawing(found, title=_(architectures.ABOUT[kind].name), _=_)


def draw_sees(kind: Architecture, run: Run):
    """The mask of the reader's own texts."""
    codes, labels, n_source = architectures.seen(kind, run)
    return figures.sees(codes, labels, n_source=n_source, _=_)


def draw_flops(run: Run):
    """Reading and writing."""
    table = architectures.compared(run.config, *architectures.lengths(run))
    labels = [_(architectures.ABOUT[kind].name) for kind in architectures.KINDS]
    return figures.flops(table.assign(label=labels), _=_)
