"""What each norm averages over, what comes out, and what that depends on."""

from collections.abc import Hashable, Mapping
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import norm_compared
from blocks.inspection.norm_compared import EVALUATION, INPUT, TRAINING, NormFacts, NormInput
from blocks.model import normalization
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Level, Look, line
from pages.figures.counting import from_one
from pages.figures.series import NORM_LINES
from pages.figures.theme import Picture, plain
from pages.page.declared import Panel
from pages.panels.normalization.axes_picture import shared_cells
from pages.server import cached
from pages.show.choices import chooses
from pages.show.parts import Beside, File, Matrix, Note, OffScreen, Say, Shown, Table, the_values
from pages.show.views import layer_choice
from pages.stage import link
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, current_language, fill, sentences

NORMS = (normalization.LayerNorm, normalization.RMSNorm, normalization.BatchNorm)
LAYER_NORM, RMS_NORM = str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM)
NAMES = {
    INPUT: N_("input"),
    TRAINING: N_("BatchNorm, training mode"),
    EVALUATION: N_("BatchNorm, evaluation mode"),
}
STATISTICS = ("mean", "std", "rms")
norm_input = lru_cache(maxsize=32)(norm_compared.norm_input)


@lru_cache(maxsize=32)
def norm_facts(run: Run, layer: int, stage: str) -> NormFacts:
    """What each norm makes of one stage, and what that depends on."""
    model, seen = cached.model(run), cached.recording(run)
    with cached.turn(run.device):
        return norm_compared.norm_facts(run, model, seen, layer, stage)


def named_tokens(facts: NormFacts) -> pd.DataFrame:
    found = facts.per_token
    return found.assign(token_label=found["token"].map(facts.labels.__getitem__))


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
    said = [fill(text, facts)]
    if facts.batch == 1:
        said.append(_("With batch size 1 these are the tokens of this one sequence."))
    if facts.n_padding:
        padding = _("BatchNorm includes the padding ({n_padding} of these tokens).")
        said.append(fill(padding, facts))
    return sentences(*said)


def says_outputs(facts: NormFacts) -> str:
    """What is brought to one scale by which norm, and what is not."""
    text = _(
        "After LayerNorm, each token has a standard deviation of {token} and each feature "
        "one of {feature}. After BatchNorm in training mode, each feature has a standard "
        "deviation of {batch_feature} and each token one of {batch_token}."
    )
    norms = (("", LAYER_NORM), ("batch_", TRAINING))
    stds = {f"{which}token": facts.token_stds(norm) for which, norm in norms}
    stds |= {f"{which}feature": facts.feature_stds(norm) for which, norm in norms}
    said = text.format(**{name: _span(*ends) for name, ends in stds.items()})
    text = _(
        "RMSNorm scales a token's mean but does not remove it: its magnitude is at most "
        "{before:.2g} before the norm, {rms:.2g} after."
    )
    means = {"rms": facts.largest_mean(RMS_NORM), "before": facts.largest_mean(INPUT)}
    return sentences(said, text.format(**means))


def _span(least: float, most: float) -> str:
    """From the least to the most; one number where they read alike."""
    low, high = f"{least:.2f}", f"{most:.2f}"
    return low if low == high else _("{least} to {most}").format(least=low, most=high)


def says_dependence(facts: NormFacts) -> str:
    """Which norm's output depends on what else is in the batch, as numbers measured here."""
    said = _(
        "With LayerNorm and RMSNorm, other tokens do not affect a token's output at all: the "
        "change is 0."
    )
    if facts.change_per_token:
        said = _(
            "With LayerNorm and RMSNorm, other tokens change a token's output by no more than"
            " {most:.1g}."
        )
    text = _(
        "With BatchNorm in training mode, the outputs for the same tokens change by up to "
        "{batch:.2g} when other sequences share their batch and by up to {padding:.2g} when "
        "there is padding; evaluation mode differs from training mode by up to {mode:.2g}."
    )
    return sentences(said.format(most=facts.change_per_token), text.format(**facts.change_in_batch))


def says_surroundings(facts: NormFacts) -> str:
    """Where the others and the padding come from."""
    others = _("two copies of the second half of this text's tokens")
    if facts.has_others:
        others = _("the other sequences of this batch")
    padding = _("this run's own") if facts.has_padding else _("four padding tokens, run alone")
    return _(
        "The numbers are the largest changes in any output value of the first sequence, "
        "compared with normalizing it alone; they are measured on the norm's actual inputs. "
        "Other sequences: {others}. Padding: {padding}. Both are as the model produced them. "
        "The norms here have no learned scale or shift; BatchNorm's running mean and variance"
        " are at their initial values, 0 and 1."
    ).format(others=others, padding=padding)


def says_drawing(run: Run, _layer: int, _stage: str, token: int) -> str:
    """What is coloured in the drawing of the cells, whose bars hold no values."""
    return _(
        "Grids of tokens by features. For LayerNorm and RMSNorm, the row of token {token} is "
        "colored; for BatchNorm, the column of one feature through all tokens and sequences."
    ).format(token=run.input.labels[token])


def dependence_table(facts: NormFacts) -> pd.DataFrame:
    """How far each norm's output moves when only its surroundings change."""
    found, names = facts.dependence, norm_names()
    heads = {"batch": _("as part of a batch"), "padding": _("with padding")}
    heads["mode"] = _("training vs. evaluation mode")
    shown = {head: found[name].map(_change) for name, head in heads.items()}
    return pd.DataFrame({_("norm"): found["norm"].map(names), **shown})


def running_table(facts: NormFacts) -> pd.DataFrame:
    """How the running statistics of BatchNorm approach those of the batch."""
    shown = {
        _("earlier passes in training mode"): facts.running["updates"],
        _("largest difference between evaluation and training mode"): facts.running["change"].map(
            _change
        ),
    }
    return pd.DataFrame(shown)


def _change(value: float) -> str:
    """A largest change: exactly nothing is told from very little."""
    return "0" if value == 0 else f"{value:.3g}"


def draw_cells(run: Run, _layer: int, _stage: str, token: int) -> Picture:
    return shared_cells(norm_input(run), pinned=token, _=_)


def of_tokens(run: Run, layer: int, stage: str, token: int) -> Chart:
    """Over the features of each token."""
    facts = norm_facts(run, layer, stage)
    table = named_tokens(facts)
    return _statistics(
        _("Statistics of each token over its features"),
        {each: table.assign(label=table["token_label"].map(plain)) for each in STATISTICS},
        Axis(tokens=facts.labels),
        levels=[Level(x=token, color=palette.PINNED, dash="solid")],
    )


def of_features(facts: NormFacts) -> Chart:
    """Over all tokens, for each feature; features stand in the order of the input's own values."""
    label, table = _("feature {n}"), facts.per_feature
    table = table.assign(label=[label.format(n=from_one(i)) for i in table["feature"]])
    of_input = table[table["norm"] == INPUT].set_index("feature")
    title = _("feature, sorted by the same statistic of the input")
    return _statistics(
        _("Statistics of each feature over all tokens"),
        {
            each: table.iloc[of_input.loc[table["feature"], each].to_numpy().argsort(kind="stable")]
            for each in STATISTICS
        },
        Axis(title, of=ROW, ticks=(0,), said=lambda _place: ""),
    )


def _statistics(title: str, tables: Mapping[str, pd.DataFrame], along: Axis, **more: Any) -> Chart:
    """Three plots above each other, a curve for each norm in each."""
    titles, names = {"mean": _("mean"), "std": _("standard deviation"), "rms": "RMS"}, norm_names()
    series = [
        line(
            statistic,
            Look(
                names[str(norm)], symbol="circle" if len(own) == 1 else "", **NORM_LINES[str(norm)]
            ),
            rows=own,
            plot=plot,
            in_legend=plot == 0,
        )
        for plot, (statistic, table) in enumerate(tables.items())
        for norm, own in table.groupby("norm", sort=False)
    ]
    axes = (
        Axis(titles[each], has_zero=each == "mean", from_0=each != "mean", n_ticks=5)
        for each in tables
    )
    more |= {"hover": "{name}<br>{label}: {y:.3f}", "tall": 400}
    return Chart(title, {}, along, tuple(axes), series, **more)


def selection(run: Run, state: State) -> tuple[int, str]:
    """The layer, and the stage that was asked for where a norm of this layer reads it."""
    layer = labelled.selected_layer(run, state)
    options = norm_compared.norm_stages(run, layer)
    return layer, state.norm_input if state.norm_input in options else options[0]


@chooses("layer", "norm_input")
def layer_and_stage(run: Run, state: State) -> None:
    """Which layer, and which stage of it the norms are given."""
    layer_choice(run)
    layer, shown = selection(run, state)
    stages = norm_compared.norm_stages(run, layer)
    labels = {name: terms.stage(name, run.config, layer) for name in stages}
    with st.container(key="norm_input"):
        st.pills(
            _("Input to the norms"),
            stages,
            format_func=lambda name: labels.get(name, name),
            required=True,
            wrap=True,
            **link.view("norm_input", shown, (tuple(labels.items()), current_language())),
        )


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    return (run, *selection(run, state), labelled.pinned_token(run, state))


of_norms = partial(
    Panel,
    choices=layer_and_stage,
    concepts=("norm_axes", "normalization"),
    code=(*NORMS, norm_compared.dependence),
    at=at,
    facts=norm_facts,
)
PANEL = of_norms(
    "norms",
    N_("What does a norm do?"),
    fields=("norm_kind", "norm_affine", "d_model", "training"),
    shows=(
        Say(says_axes, norm_input),
        Matrix(draw_cells, "norm_axes", alt=says_drawing, facts=the_values),
        OffScreen(
            Beside(
                Shown(of_tokens, "norm_tokens", facts=the_values),
                Shown(of_features, "norm_features"),
            ),
            Say(says_outputs, is_here=True),
        ),
        File(named_tokens, "norms_per_token", counted=("token",)),
        File(attrgetter("per_feature"), "norms_per_feature"),
    ),
)
DEPENDENCE = of_norms(
    "dependence",
    N_("Do other tokens matter?"),
    fields=("norm_kind", "training"),
    shows=(
        Say(says_dependence),
        Beside(
            Table(dependence_table, "dependence_table"),
            Table(running_table, "running_table"),
            widths=(5, 4),
        ),
        Note(says_surroundings),
        File(attrgetter("dependence"), "norms_dependence"),
    ),
)
