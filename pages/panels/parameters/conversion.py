"""A classic conversion fault planted in a model: what becomes of it, and what gives it away."""

from functools import lru_cache
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks.inspection import conversion
from blocks.inspection.conversion import FaultFacts
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from blocks.text.bpe import MASK
from blocks.weights import conversion_faults, doctor
from blocks.weights.conversion_faults import ConversionFault, Loaded, possible_faults
from blocks.weights.doctor import Text
from pages.figures.chart import Chart
from pages.figures.theme import Translate
from pages.page.declared import Panel
from pages.page.frame import FIRST_SHOWN, must_fit, section
from pages.panels.parameters import conversion_picture
from pages.panels.parameters.conversion_picture import Labelled
from pages.server import brought, cached, starts
from pages.show.chart import columns, show
from pages.show.controls import pick
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.fold import fold
from pages.show.inputs import sample_buttons, text_field
from pages.show.said import say
from pages.show.tables import show_table
from pages.show.ways import way
from pages.stage import tokens
from pages.state.link_fields.parameters import NO_FAULT
from pages.state.values import State
from pages.words.language import _, literal, sentences

FAULTS = {
    ConversionFault.ROTARY_LAYOUT: N_(
        "rotary layout: pairs (2i, 2i + 1) instead of (i, i + width/2)"
    ),
    ConversionFault.NOT_TRANSPOSED: N_("a square matrix not transposed (Conv1D)"),
    ConversionFault.POSITION_OFFSET: N_("positions without their offset (+2 in OPT, BART)"),
    ConversionFault.NORM_OFFSET: N_("norms scale by w instead of 1 + w (Gemma)"),
    ConversionFault.EMBEDDING_SCALE: N_("factor √d_model on embeddings omitted or added"),
    ConversionFault.SCORE_SCALE: N_("scores ÷ √d_head, though trained without scaling (T5)"),
    ConversionFault.QKV_ORDER: N_("fused q, k, v split in the wrong order"),
    ConversionFault.GROUP_ORDER: N_("grouped heads repeated in the wrong order"),
    ConversionFault.MISSING_TIE: N_("output matrix not tied to the embedding"),
    ConversionFault.NORM_EPS: N_("a different ε in the norms"),
    ConversionFault.POSITION_TABLE: N_(
        "a different RoPE base, a position table shifted by one, or sines and cosines in a "
        "different order"
    ),
    ConversionFault.TOKENIZER_PREFIX: N_(
        "the tokenizer's leading special token (e.g., BOS) left out"
    ),
}
NAMES = {
    ConversionFault.ROTARY_LAYOUT: N_("rotary layout"),
    ConversionFault.NOT_TRANSPOSED: N_("not transposed"),
    ConversionFault.POSITION_OFFSET: N_("position offset"),
    ConversionFault.NORM_OFFSET: N_("norm scale 1 + w"),
    ConversionFault.EMBEDDING_SCALE: N_("embeddings × √d_model"),
    ConversionFault.SCORE_SCALE: N_("scores ÷ √d_head"),
    ConversionFault.QKV_ORDER: N_("order of q, k, v"),
    ConversionFault.GROUP_ORDER: N_("order of grouped heads"),
    ConversionFault.MISSING_TIE: N_("missing weight tying"),
    ConversionFault.NORM_EPS: N_("ε of the norms"),
    ConversionFault.POSITION_TABLE: N_("position table"),
    ConversionFault.TOKENIZER_PREFIX: N_("first token"),
}
MOST_READ = 64


class Case(NamedTuple):
    """What is examined: names of weights, how many layers, a text, and the fault planted."""

    weights: str
    n_layers: int
    token_ids: tuple[int, ...]
    fault: str


@lru_cache(maxsize=32)
def case_facts(case: Case) -> FaultFacts:
    """What the fault does. The model is examined on the CPU."""
    sound, text, at = _read(case)
    learned = _learned(case)
    with cached.turn("cpu"):
        whole = conversion.decoded_target(sound, text, learned.marks.stop)
        fault = None if case.fault == NO_FAULT else ConversionFault(case.fault)
        return conversion.fault_facts(sound, fault, whole, stop=learned.marks.stop, at=at)


def _learned(case: Case) -> brought.Learned:
    return starts.model(case.weights).first_layers(case.n_layers)


def _read(case: Case) -> tuple[Loaded, Text, int]:
    """The sound model with its prefix, the text behind it, and the place that is looked at."""
    learned = _learned(case)
    special, ids = tuple(learned.tokenizer.special.values()), case.token_ids
    n = next((i for i, token_id in enumerate(ids) if token_id not in special), 0)
    if learned.config.architecture is Architecture.ENCODER:
        n = min(n, 1)
    start = (learned.marks.start,) if learned.config.n_decoder_layers else ()
    hidden = learned.tokenizer.special.get(MASK)
    at = ids.index(hidden) - n if hidden in ids[n:] else -1
    loaded = Loaded(learned.config, learned.tensors, ids[:n], special)
    return loaded, Text(ids[n:], start), at


@lru_cache(maxsize=32)
def labelled_facts(vocabulary: str, case: Case) -> Labelled:
    """The same, with what the candidates are called."""
    facts, reader = case_facts(case), tokens.tokenizer_of(vocabulary)
    ids = facts.candidates["token_id"].tolist()
    return Labelled(facts, tuple(tokens.label_of(reader, each) for each in ids))


def draw_candidates(found: Labelled, *, _: Translate) -> Chart:
    return conversion_picture.candidates(found, _=_)


def draw_undone(facts: FaultFacts, *, _: Translate) -> Chart:
    names = {fault: _(text) for fault, text in NAMES.items()}
    return conversion_picture.undone(facts, names, _=_)


def says_fault(facts: FaultFacts) -> str:
    """What is wrong now, and whether it was found."""
    named, found = facts.found.names, facts.found
    if facts.fault is None:
        return _without(facts)
    text = _(
        "Planted: {fault}. The model still loads and runs, but its logits have a relative "
        "error of {share:.2g}, and the distribution it predicts is off by {bits:.2g} "
        "bits (KL)."
    )
    said = [text.format(fault=_(NAMES[facts.fault]), share=found.as_it_is, bits=facts.bits)]
    if named is None:
        said.append(
            _("The logits differ from the correct ones only by rounding, so no fault is diagnosed.")
        )
    else:
        text = _(
            "The comparison with the correct logits points to this fault: {fault}. Once it is"
            " undone, a relative error of {share:.1g} remains."
        )
        left = found.undone[named]
        said.append(text.format(fault=_(NAMES[named]), share=left))
    return sentences(*said, *_suspected(facts))


def _without(facts: FaultFacts) -> str:
    said = _suspected(facts)
    return sentences(*said) or _("No fault is planted: the logits are those of the correct model.")


def _suspected(facts: FaultFacts) -> list[str]:
    """What the text alone says."""
    if facts.suspected is None:
        return []
    loss, named = facts.suspected.as_it_is, facts.suspected.names
    if named is None:
        text = _("From this text alone (loss {loss:.2f} nats), no fault is suspected.")
        return [text.format(loss=loss)]
    text = _(
        "From this text alone, the suspected fault is: {fault}. Once it is undone, the loss "
        "falls from {loss:.2f} to {less:.2f} nats."
    )
    less = facts.suspected.undone[named]
    return [text.format(fault=_(NAMES[named]), loss=loss, less=less)]


def table(facts: FaultFacts) -> pd.DataFrame:
    """One row per fault: what would be left were it undone, the likeliest first."""
    ranked, found = facts.found.ranked, facts.found
    shown = {
        _("fault undone"): [_(FAULTS[fault]) for fault in ranked],
        _("relative error of the logits"): [f"{found.undone[fault]:.2g}" for fault in ranked],
    }
    if facts.suspected is not None:
        losses = facts.suspected.undone
        shown[_("loss on this text, nats")] = [f"{losses[fault]:.4f}" for fault in ranked]
    return pd.DataFrame(shown)


def _choice(case: Case, faults: tuple[ConversionFault, ...]) -> None:
    labels = {NO_FAULT: _("none: the model as it is"), **{str(f): _(FAULTS[f]) for f in faults}}
    pick(
        "conversion_fault",
        _("Planted fault"),
        [*labels],
        label_of=lambda name: labels.get(name, name),
        shown=case.fault,
    )


def _texts(run: Run, facts: FaultFacts) -> None:
    """What both write."""
    reader = tokens.tokenizer_of(run.input.vocabulary)
    sound, faulty = (tokens.text_of(reader, ids) for ids in facts.written)
    st.markdown(_("Without the fault: {text}").format(text=literal(sound)))
    if facts.fault is not None:
        st.markdown(_("With the fault: {text}").format(text=literal(faulty)))


def _nothing_to_spoil(place: st.delta_generator.DeltaGenerator) -> None:
    """Why a random model is not examined, and the way to the trained one."""
    text = _(
        "With random weights there is nothing for a fault to spoil. Choose a trained model, "
        "or bring your own in the sidebar."
    )
    place.info(text, icon=":material/info:")
    way(_("Use the trained model included here"), "take_trained", preset=FIRST_SHOWN[None])


@section
def what_a_fault_does(run: Run, state: State) -> None:
    """One fault at a time, in a model that has learned something."""
    code = (conversion_faults.plant, doctor.tried, doctor.diagnosis, doctor.suspicion)
    place = explained(("conversion_faults",), code, key="conversion_story")
    if not run.weights or not run.input.token_ids:
        _nothing_to_spoil(place)
        return
    must_fit(run)
    ids = run.input.token_ids[:MOST_READ]
    sound, _text, _at = _read(Case(run.weights, run.config.n_layers, ids, NO_FAULT))
    faults = possible_faults(sound)
    wanted = state.conversion_fault
    fault = wanted if wanted in (NO_FAULT, *faults) else str(faults[0])
    case = Case(run.weights, run.config.n_layers, ids, fault)
    _choice(case, faults)
    label = _("Text: {text}").format(text=literal(state.text))
    if (opened := fold(label, key="fault_text", icon=":material/edit:")).open:
        with opened:
            text_field(run)
            sample_buttons(run)
    with st.spinner(_("Undoing each fault in turn …"), show_time=True):
        facts = case_facts(case)
    with place:
        say(says_fault, case, facts=case_facts)
    left, right = columns([1, 1])
    with left:
        show(draw_candidates, run.input.vocabulary, case, facts=labelled_facts, key="fault_next")
    with right:
        show(draw_undone, case, facts=case_facts, key="fault_undone")
    _texts(run, facts)
    shown = table(facts)
    show_table(shown, key="fault_table")
    download("conversion_faults.csv", lambda: shown.to_csv(index=False), "text/csv")
    text = _("Decoding is greedy and runs on the CPU; the text is cut to {n} tokens.")
    note(text.format(n=MOST_READ))


PANEL = Panel("conversion-faults", N_("Is the conversion correct?"), what_a_fault_does)
