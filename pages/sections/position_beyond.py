"""Texts longer than the model was made for."""

import streamlit as st

from blocks.cost.memory import bytes_text
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import FACTORS
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.figures import beyond
from pages.ui import labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.positions import beyond_words, chosen, measured
from pages.ui.positions.beyond_words import Done
from pages.ui.positions.controls import KINDS, open_trained_model, trained_length_choice
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import head_choice, layer_choice


@section
def beyond_the_length(run: Run) -> None:
    """The same weights with every kind, at once, twice and four times the trained length."""
    code = (beyond_length.spread, beyond_length.banded)
    layer, head = labelled.selected_layer(run), labelled.selected_head(run)
    left, right = explained(("beyond_length",), code, key="beyond").columns(2)
    with left:
        trained_length_choice(run)
    with right:
        layer_choice(run)
        head_choice(run, head)
    length = chosen.trained_len(run)
    if _too_long(run, length):
        return
    work = [(kind, factor) for kind in chosen.order(run) for factor in FACTORS]
    steps = [_step(run, kind, layer, length, factor) for kind, factor in work]
    what = run, layer, length, chosen.kind(run)
    n_done = len(in_steps(steps, what=what, key="beyond_steps").found)
    if not n_done:
        return
    done = tuple((kind, factor) for kind in KINDS for factor in FACTORS)
    done = tuple(each for each in done if each in work[:n_done])
    note(beyond_words.input_note(run, length))
    _pictures(run, chosen.kind(run), layer, head, length, done)


def _pictures(run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done) -> None:
    shown = run, kind, layer, head, length, done
    say(beyond_words.spread_sentence, *shown)
    left, right = columns(2)
    with left:
        if beyond_words.has_spread(run, kind, layer, length, done):
            show(draw_spread, *shown, key="spread_far", alt=beyond_words.by_distance_alt)
        for sentence in beyond_words.refusals(run, layer, length, done):
            st.markdown(f":material/block: {sentence}")
    with right:
        show(draw_entropies, *shown, key="entropy_far", alt=beyond_words.by_length_alt)
        st.markdown(beyond_words.entropy_sentence(*shown))
    beyond_words.spread_table(run, layer, head, length, done)


def _step(run: Run, kind: PositionKind, layer: int, length: int, factor: int):
    return lambda: measured.spread(run, kind, layer, length, factor)


def _too_long(run: Run, length: int) -> bool:
    """Where four times the length would not fit into memory: said, with a length that does."""
    fitting = measured.fitting_length(run, length)
    if fitting == length:
        return False
    text = _("Texts of {n} tokens need about {memory}, more than is allowed here.")
    need = bytes_text(measured.memory_needed(run, length))
    n = beyond_words.longest(length)
    st.warning(text.format(n=n, memory=need), icon=":material/block:")
    st.button(
        _("Use {mend}").format(mend=f"L = {fitting}"),
        on_click=link.change,
        args=("trained_len", fitting),
        key="shorter_length",
    )
    return True


@section
def what_it_costs(run: Run) -> None:
    """The loss by position, where the weights are trained."""
    place = explained(("beyond_length", "surprise"), (beyond_length.bits_by_position,), key="costs")
    if not run.weights:
        place.info(_("The weights are random: losses mean nothing yet."), icon=":material/info:")
        open_trained_model()
        return
    length = chosen.trained_len(run)
    n = measured.longest_measured(run, length)
    if measured.task_of(run, n) is None:
        place.info(_("The task of this model has no examples of this length: choose another L."))
        return
    steps = [_bits_step(run, n, step) for step in range(measured.N_STEPS)]
    n_steps = len(in_steps(steps, what=(run, n), key="costs_steps").found)
    if not n_steps:
        return
    shown = run, n, n_steps, length
    with place:
        say(beyond_words.loss_sentence, *shown)
    show(draw_loss, *shown, key="loss_far", alt=beyond_words.loss_alt)
    note(f"{beyond_words.loss_note(run, n_steps)} {beyond_words.table_end(run, n, length)}")


def _bits_step(run: Run, n: int, step: int):
    return lambda: measured.bits(run, n, step)


def draw_spread(run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done):
    """Weight by distance in texts of all lengths."""
    found = beyond_words.curves(run, kind, layer, head, length, done)
    curves = [beyond.Curve(*each) for each in found]
    title = _("{kind}, head {head}: where the last query looks")
    title = title.format(kind=terms.option(kind), head=head)
    return beyond.by_distance(curves, trained_len=length, title=title, _=_)


def draw_entropies(run: Run, kind: PositionKind, layer: int, head: int, length: int, done: Done):
    """How spread the last query is, by kind and length."""
    table = beyond_words.entropies(run, kind, layer, head, length, done)
    title = _("Entropy of the last query, head {head}").format(head=head)
    return beyond.by_length(table, title=title, y=_("normalized entropy (H / log n)"), _=_)


def draw_loss(run: Run, n: int, n_steps: int, length: int):
    """The loss by position."""
    bands = beyond_words.bands(run, n, n_steps, length)
    own = terms.option(run.config.position.position_kind)
    title = _("Bits per token by position, {kind}").format(kind=own)
    return beyond.loss(bands, trained_len=length, title=title, _=_)
