"""What each norm averages over, what comes out, and what that depends on."""

import pandas as pd
import streamlit as st

from blocks.inspection import norm_compared
from blocks.inspection.norm_compared import EVALUATION, INPUT, TRAINING
from blocks.model import normalization
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.normalization import axes_picture, shared
from pages.ui import labelled, link, terms
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language
from pages.ui.said import say


def dependence(run: Run, layer: int, stage: str) -> None:
    """How far each norm's output moves when only its surroundings change."""
    found = shared.compared(run, layer, stage).dependence
    shown = pd.DataFrame(
        {
            _("norm"): [norm_name(name) for name in found["norm"]],
            _("as part of a batch"): found["batch"].map(change),
            _("with padding"): found["padding"].map(change),
            _("in the other mode"): found["mode"].map(change),
        }
    )
    st.dataframe(shown, hide_index=True, key="dependence_table", height="content")


def running(run: Run, layer: int, stage: str) -> None:
    """How the running statistics of BatchNorm approach those of the batch."""
    found = shared.compared(run, layer, stage).running
    shown = pd.DataFrame(
        {
            _("training passes before"): found["updates"],
            _("difference in evaluation mode"): found["change"].map(change),
        }
    )
    st.dataframe(shown, hide_index=True, key="running_table", height="content")


def change(value: float) -> str:
    """A largest change: exactly nothing is told from very little."""
    return "0" if value == 0 else f"{value:.3g}"


NORM_NAMES = {
    INPUT: N_("what goes in"),
    TRAINING: N_("BatchNorm, training mode"),
    EVALUATION: N_("BatchNorm, evaluation mode"),
}


def norm_name(name: str) -> str:
    """What a norm is called, BatchNorm with its mode."""
    return _(NORM_NAMES[name]) if name in NORM_NAMES else terms.option(name)


def norm_names() -> dict[str, str]:
    """All that are compared, in the order in which they are drawn."""
    kinds = (INPUT, str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM), TRAINING, EVALUATION)
    return {name: norm_name(name) for name in kinds}


def axes_sentence(run: Run) -> str:
    """How many statistics each norm takes here, each over how many numbers."""
    batch, seq_len = run.input.shape
    n_tokens, d_model = batch * seq_len, run.config.d_model
    text = _(
        "The input here is {batch} × {seq_len} × {d_model} numbers (batch, seq, "
        "d_model). LayerNorm and RMSNorm treat each of the {n_tokens} tokens alone, "
        "over its {d_model} features. BatchNorm treats each of the {d_model} features "
        "alone, over all {n_tokens} tokens."
    )
    sizes = {"batch": batch, "seq_len": seq_len, "d_model": d_model, "n_tokens": n_tokens}
    said = [text.format(**sizes)]
    if batch == 1:
        said.append(_("With batch size 1 these are the tokens of this one sequence."))
    if run.input.n_padding:
        padding = _("{n} of them are padding, and BatchNorm includes them.")
        said.append(padding.format(n=batch * run.input.n_padding))
    return " ".join(said)


def grid_note(kind: str, n_tokens: int, d_model: int) -> tuple[str, bool]:
    """What stands above the grid of a norm, and whether the rows are what shares."""
    is_per_token = kind != NormKind.BATCH_NORM
    n_groups, size = (n_tokens, d_model) if is_per_token else (d_model, n_tokens)
    statistics = _("mean square") if kind == NormKind.RMS_NORM else _("mean, variance")
    text = _("{statistics}<br>{n_groups} × over {size}")
    return text.format(statistics=statistics, n_groups=n_groups, size=size), is_per_token


def axes_alt(run: Run, token: int) -> str:
    """Write the alt text of the picture of the cells."""
    text = _(
        "Grids of tokens by features. For LayerNorm and RMSNorm the row of token "
        "{token} is colored, for BatchNorm the column of one feature through all tokens "
        "and sequences."
    )
    return text.format(token=run.input.labels[token])


def outputs_sentence(run: Run, layer: int, stage: str) -> str:
    """What is brought to one scale by which norm, and what is not."""
    found = shared.compared(run, layer, stage)
    tokens = found.per_token.groupby("norm")["std"].agg(["min", "max"])
    features = found.per_feature.groupby("norm")["std"].agg(["min", "max"])
    layernorm = str(NormKind.LAYER_NORM)
    text = _(
        "LayerNorm: every token leaves with standard deviation {token_least:.2f} to "
        "{token_most:.2f}, features with {feature_least:.2f} to {feature_most:.2f}. "
        "BatchNorm in training mode: every feature {batch_feature_least:.2f} to "
        "{batch_feature_most:.2f}, tokens {batch_token_least:.2f} to "
        "{batch_token_most:.2f}."
    )
    said = text.format(
        token_least=tokens["min"][layernorm],
        token_most=tokens["max"][layernorm],
        feature_least=features["min"][layernorm],
        feature_most=features["max"][layernorm],
        batch_feature_least=features["min"][TRAINING],
        batch_feature_most=features["max"][TRAINING],
        batch_token_least=tokens["min"][TRAINING],
        batch_token_most=tokens["max"][TRAINING],
    )
    return f"{said} {_means(found)}"


def _means(found: shared.Compared) -> str:
    """RMSNorm is the one that leaves the mean of a token where it is."""
    means = found.per_token.assign(size=found.per_token["mean"].abs())
    largest = means.groupby("norm")["size"].max()
    text = _("RMSNorm does not remove a token's mean: up to {rms:.2g} of {before:.2g} remains.")
    return text.format(rms=largest[str(NormKind.RMS_NORM)], before=largest[INPUT])


def outputs_alt(run: Run, layer: int, stage: str, *_token: int) -> str:
    """Write the alt text of the curves of what comes out."""
    found = shared.compared(run, layer, stage).per_token
    middle = found.groupby("norm", sort=False)[["mean", "std", "rms"]].median()
    rows = "; ".join(
        f"{norm_name(str(row.Index))} {row.mean:.2f}, {row.std:.2f}, {row.rms:.2f}"
        for row in middle.itertuples()
    )
    text = _("Median over tokens of mean, standard deviation and RMS: {rows}.")
    return text.format(rows=rows)


def dependence_sentence(run: Run, layer: int, stage: str) -> str:
    """Which norm's output depends on what else is in the batch, as numbers measured here."""
    found = shared.compared(run, layer, stage).dependence.set_index("norm")
    alone = found.loc[[str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM)]].to_numpy()
    if alone.max() == 0:
        said = _(
            "LayerNorm and RMSNorm: other tokens do not change a token at all, the change is 0."
        )
    else:
        text = _("LayerNorm and RMSNorm: other tokens change a token by no more than {most:.1g}.")
        said = text.format(most=alone.max())
    batch = found.loc[TRAINING]
    text = _(
        "BatchNorm in training mode changes the same tokens by up to {batch:.2g} when "
        "other sequences share their batch, by {padding:.2g} when there is padding; "
        "evaluation mode differs by {mode:.2g}."
    )
    moved = text.format(batch=batch["batch"], padding=batch["padding"], mode=batch["mode"])
    return f"{said} {moved}"


def dependence_note(run: Run, layer: int, stage: str) -> str:
    """Where the others and the padding come from."""
    others_own, padding_own = shared.compared(run, layer, stage).is_own
    others = (
        _("the other sequences of this batch")
        if others_own
        else _("the second half of the tokens, twice")
    )
    padding = _("this run's own") if padding_own else _("four padding tokens alone")
    text = _(
        "Largest change of any value of the first sequence, compared with the sequence "
        "alone, on the inputs that really enter the norm. Others: {others}. Padding: "
        "{padding}; all as the model made it. Norms without learned scale; BatchNorm's "
        "running statistics at their initial 0 and 1."
    )
    return text.format(others=others, padding=padding)


def norm_input(run: Run, layer: int) -> str:
    """Which stage the norms are given: one that a norm of this layer reads; returned too."""
    options, shown = shared.norm_inputs(run, layer), shared.shown_norm_input(run, layer)
    labels = {name: terms.stage(name, run.config, layer) for name in options}
    with st.container(key="norm_input"):
        st.pills(
            _("Inputs of the norms"),
            options,
            format_func=lambda name: labels.get(name, name),
            required=True,
            wrap=True,
            **link.view("norm_input", shown, (tuple(labels.items()), current_language())),
        )
    return shown


CODE = (
    normalization.LayerNorm,
    normalization.RMSNorm,
    normalization.BatchNorm,
    norm_compared.dependence,
)


@section
def what_norms_see(run: Run, layer: int) -> None:
    """The three norms on the same values of this run."""
    stage, token = shared.shown_norm_input(run, layer), labelled.pinned_token(run)
    with explained(("norm_axes", "normalization"), CODE, key="norms"):
        say(axes_sentence, run)
    show(draw_axes, run, token, key="norm_axes", alt=axes_alt)
    left, right = columns(2)
    shown = run, layer, stage
    with left:
        show(draw_tokens, *shown, token, key="norm_tokens", alt=outputs_alt)
    with right:
        show(draw_features, *shown, key="norm_features", alt=outputs_alt)
    say(outputs_sentence, *shown)


@section
def what_they_depend_on(run: Run, layer: int) -> None:
    """Whether a token leaves a norm otherwise when others stand around it."""
    shown = run, layer, shared.shown_norm_input(run, layer)
    with explained(("norm_axes", "normalization"), CODE, key="dependence"):
        say(dependence_sentence, *shown)
    left, right = st.columns([5, 4])
    with left:
        dependence(*shown)
    with right:
        running(*shown)
    note(dependence_note(*shown))


def draw_axes(run: Run, token: int) -> Picture:
    """The cells that share their statistics."""
    batch, _seq_len = run.input.shape
    shape = axes_picture.Shape(batch, run.input.labels, run.config.d_model)
    n_tokens = batch * len(run.input.labels)
    grids = [
        axes_picture.Grid("LayerNorm", *grid_note("layernorm", n_tokens, shape.d_model)),
        axes_picture.Grid("RMSNorm", *grid_note("rmsnorm", n_tokens, shape.d_model)),
        axes_picture.Grid("BatchNorm", *grid_note("batchnorm", n_tokens, shape.d_model)),
    ]
    return axes_picture.shared_cells(grids, shape, pinned=token, _=_)


def draw_tokens(run: Run, layer: int, stage: str, token: int) -> Picture:
    """Over the features of each token."""
    found = shared.compared(run, layer, stage).per_token
    labels = run.input.labels
    return axes_picture.of_tokens(found, norm_names(), labels, pinned=token, _=_)


def draw_features(run: Run, layer: int, stage: str) -> Picture:
    """Over all tokens, of each feature."""
    found = shared.compared(run, layer, stage).per_feature
    return axes_picture.of_features(found, norm_names(), _=_)
