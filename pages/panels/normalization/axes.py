"""What each norm averages over, what comes out, and what that depends on."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection import norm_compared
from blocks.inspection.norm_compared import EVALUATION, INPUT, TRAINING, NormFacts, NormInput
from blocks.model import normalization
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.normalization import axes_picture
from pages.ui import cached, labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.choices import chooses
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, sentences
from pages.ui.said import say
from pages.ui.tables import show_table
from pages.ui.views import layer_choice

CODE = (
    normalization.LayerNorm,
    normalization.RMSNorm,
    normalization.BatchNorm,
    norm_compared.dependence,
)
LAYER_NORM, RMS_NORM = str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM)
NAMES = {
    INPUT: N_("input"),
    TRAINING: N_("BatchNorm, training mode"),
    EVALUATION: N_("BatchNorm, evaluation mode"),
}
norm_input = lru_cache(maxsize=32)(norm_compared.norm_input)


@lru_cache(maxsize=32)
def norm_facts(run: Run, layer: int, stage: str) -> NormFacts:
    """What each norm makes of one stage, and what that depends on."""
    model, seen = cached.model(run), cached.recording(run)
    with cached.turn(run.device):
        return norm_compared.norm_facts(run, model, seen, layer, stage)


def named_tokens(run: Run, layer: int, stage: str) -> pd.DataFrame:
    """The statistics of every token, with what stands there."""
    found = norm_facts(run, layer, stage).per_token
    return found.assign(token_label=found["token"].map(run.input.labels.__getitem__))


def norm_names() -> dict[str, str]:
    """All that are compared, BatchNorm with its mode, in the order in which they are drawn."""
    kinds = (INPUT, LAYER_NORM, RMS_NORM, TRAINING, EVALUATION)
    return {name: _(NAMES[name]) if name in NAMES else terms.option(name) for name in kinds}


def says_axes(facts: NormInput) -> str:
    """How many statistics each norm takes here, each over how many numbers."""
    text = _(
        "The input here has {batch} × {seq_len} × {d_model} numbers (batch, seq, d_model). "
        "LayerNorm and RMSNorm normalize each of the {n_tokens} tokens separately, over its "
        "{d_model} features. BatchNorm normalizes each of the {d_model} features separately, "
        "over all {n_tokens} tokens."
    )
    sizes = {"batch": facts.batch, "seq_len": facts.seq_len, "d_model": facts.d_model}
    said = [text.format(n_tokens=facts.n_tokens, **sizes)]
    if facts.batch == 1:
        said.append(_("With batch size 1 these are the tokens of this one sequence."))
    if facts.n_padding:
        padding = _("{n} of these tokens are padding, which BatchNorm includes.")
        said.append(padding.format(n=facts.n_padding))
    return sentences(*said)


def says_outputs(facts: NormFacts) -> str:
    """What is brought to one scale by which norm, and what is not."""
    text = _(
        "After LayerNorm, each token has a standard deviation of {token} and each feature "
        "one of {feature}. After BatchNorm in training mode, each feature has a standard "
        "deviation of {batch_feature} and each token one of {batch_token}."
    )
    stds = {
        "token": facts.token_stds(LAYER_NORM),
        "feature": facts.feature_stds(LAYER_NORM),
        "batch_feature": facts.feature_stds(TRAINING),
        "batch_token": facts.token_stds(TRAINING),
    }
    said = text.format(**{name: _span(*ends) for name, ends in stds.items()})
    text = _(
        "RMSNorm scales a token's mean but does not remove it: its magnitude is at most "
        "{before:.2g} before the norm, {rms:.2g} after."
    )
    means = {"rms": facts.largest_mean(RMS_NORM), "before": facts.largest_mean(INPUT)}
    return sentences(said, text.format(**means))


def _span(least: float, most: float) -> str:
    """From the least to the most; one number where they read alike."""
    ends = {"least": f"{least:.2f}", "most": f"{most:.2f}"}
    if ends["least"] == ends["most"]:
        return ends["least"]
    return _("{least} to {most}").format(**ends)


def says_dependence(facts: NormFacts) -> str:
    """Which norm's output depends on what else is in the batch, as numbers measured here."""
    said = _(
        "LayerNorm and RMSNorm: other tokens do not affect a token's output at all; the "
        "change is 0."
    )
    if facts.change_per_token:
        said = _(
            "LayerNorm and RMSNorm: other tokens change a token's output by no more than "
            "{most:.1g}."
        )
    text = _(
        "With BatchNorm in training mode, the outputs for the same tokens change by up to "
        "{batch:.2g} when other sequences share their batch, by up to {padding:.2g} when "
        "there is padding; evaluation mode differs from training mode by up to "
        "{mode:.2g}."
    )
    return sentences(said.format(most=facts.change_per_token), text.format(**facts.change_in_batch))


def says_surroundings(facts: NormFacts) -> str:
    """Where the others and the padding come from."""
    others = _("two copies of the second half of this text's tokens")
    if facts.has_others:
        others = _("the other sequences of this batch")
    padding = _("this run's own") if facts.has_padding else _("four padding tokens, run alone")
    text = _(
        "Largest change in any output value of the first sequence, compared with "
        "normalizing it alone, measured on the norm's actual inputs. Other sequences: "
        "{others}. Padding: {padding}; both as the model produced them. The norms here "
        "have no learned scale or shift; BatchNorm's running mean and variance are at "
        "their initial 0 and 1."
    )
    return text.format(others=others, padding=padding)


def says_drawing(run: Run, token: int) -> str:
    """What is coloured in the drawing of the cells, whose bars hold no values."""
    text = _(
        "Grids of tokens by features. For LayerNorm and RMSNorm, the row of token {token} is "
        "colored; for BatchNorm, the column of one feature through all tokens and sequences."
    )
    return text.format(token=run.input.labels[token])


def dependence_table(facts: NormFacts) -> None:
    """How far each norm's output moves when only its surroundings change."""
    found, names = facts.dependence, norm_names()
    shown = {
        _("norm"): found["norm"].map(names),
        _("as part of a batch"): found["batch"].map(_change),
        _("with padding"): found["padding"].map(_change),
        _("training vs. evaluation mode"): found["mode"].map(_change),
    }
    show_table(pd.DataFrame(shown), key="dependence_table")


def running_table(facts: NormFacts) -> None:
    """How the running statistics of BatchNorm approach those of the batch."""
    shown = {
        _("earlier passes in training mode"): facts.running["updates"],
        _("difference from training mode"): facts.running["change"].map(_change),
    }
    show_table(pd.DataFrame(shown), key="running_table")


def _change(value: float) -> str:
    """A largest change: exactly nothing is told from very little."""
    return "0" if value == 0 else f"{value:.3g}"


def draw_cells(run: Run, token: int) -> Picture:
    """The cells that share their statistics."""
    return axes_picture.shared_cells(norm_input(run), pinned=token, _=_)


def draw_tokens(run: Run, layer: int, stage: str, token: int) -> Picture:
    """Over the features of each token."""
    facts = norm_facts(run, layer, stage)
    return axes_picture.of_tokens(facts, norm_names(), pinned=token, _=_)


def draw_features(run: Run, layer: int, stage: str) -> Picture:
    """Over all tokens, of each feature."""
    return axes_picture.of_features(norm_facts(run, layer, stage), norm_names(), _=_)


def selection(run: Run) -> tuple[int, str]:
    """The layer, and the stage that was asked for where a norm of this layer reads it."""
    layer, asked = labelled.selected_layer(run), link.value("norm_input")
    options = norm_compared.norm_stages(run, layer)
    return layer, asked if asked in options else options[0]


@chooses("layer", "norm_input")
def layer_and_stage(run: Run) -> None:
    """Which layer, and which stage of it the norms are given."""
    layer_choice(run)
    layer, shown = selection(run)
    options = norm_compared.norm_stages(run, layer)
    labels = {name: terms.stage(name, run.config, layer) for name in options}
    with st.container(key="norm_input"):
        st.pills(
            _("Input to the norms"),
            options,
            format_func=lambda name: labels.get(name, name),
            required=True,
            wrap=True,
            **link.view("norm_input", shown, (tuple(labels.items()), current_language())),
        )


@section
def what_norms_see(run: Run) -> None:
    """The three norms on the same values of this run."""
    shown, token = (run, *selection(run)), labelled.pinned_token(run)
    with explained(("norm_axes", "normalization"), CODE, key="norms"):
        say(says_axes, run, facts=norm_input)
    show(draw_cells, run, token, key="norm_axes", alt=says_drawing)
    left, right = columns(2)
    with left:
        show(draw_tokens, *shown, token, key="norm_tokens")
    with right:
        show(draw_features, *shown, key="norm_features")
    say(says_outputs, *shown, facts=norm_facts)


@section
def what_they_depend_on(run: Run) -> None:
    """Whether a token leaves a norm otherwise when others stand around it."""
    shown = (run, *selection(run))
    with explained(("norm_axes", "normalization"), CODE, key="dependence"):
        say(says_dependence, *shown, facts=norm_facts)
    facts = norm_facts(*shown)
    left, right = st.columns([5, 4])
    with left:
        dependence_table(facts)
    with right:
        running_table(facts)
    note(says_surroundings(facts))
