"""Sentences that read what norms did in this run, and pictures in words."""

from blocks.inspection.norm_compared import EVALUATION, INPUT, TRAINING
from blocks.inspection.placements import placement_run
from blocks.model.faults import N_
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.ui import labelled, terms
from pages.ui.language import _, enumeration, literal
from pages.ui.normalization import measured

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
    """The picture of the cells in words."""
    text = _(
        "Grids of tokens by features. For LayerNorm and RMSNorm the row of token "
        "{token} is colored, for BatchNorm the column of one feature through all tokens "
        "and sequences."
    )
    return text.format(token=run.input.labels[token])


def outputs_sentence(run: Run, layer: int, stage: str) -> str:
    """What is brought to one scale by which norm, and what is not."""
    found = measured.compared(run, layer, stage)
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


def _means(found: measured.Compared) -> str:
    """RMSNorm is the one that leaves the mean of a token where it is."""
    means = found.per_token.assign(size=found.per_token["mean"].abs())
    largest = means.groupby("norm")["size"].max()
    text = _("RMSNorm does not remove a token's mean: up to {rms:.2g} of {before:.2g} remains.")
    return text.format(rms=largest[str(NormKind.RMS_NORM)], before=largest[INPUT])


def outputs_alt(run: Run, layer: int, stage: str, *_token: int) -> str:
    """The curves of what comes out in words."""
    found = measured.compared(run, layer, stage).per_token
    middle = found.groupby("norm", sort=False)[["mean", "std", "rms"]].median()
    rows = "; ".join(
        f"{norm_name(str(row.Index))} {row.mean:.2f}, {row.std:.2f}, {row.rms:.2f}"
        for row in middle.itertuples()
    )
    text = _("Median over tokens of mean, standard deviation and RMS: {rows}.")
    return text.format(rows=rows)


def dependence_sentence(run: Run, layer: int, stage: str) -> str:
    """Which norm's output depends on what else is in the batch, as numbers measured here."""
    found = measured.compared(run, layer, stage).dependence.set_index("norm")
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
    others_own, padding_own = measured.compared(run, layer, stage).is_own
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


def placements_sentence(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> str:
    """Which placement leaves the widest and which the narrowest stream, and the reader's own."""
    moments = {name: measured.in_placement(run, name, layer, head).moments for name in shown}
    sizes = {name: row["rms"] for name, row in moments.items() if row["rms"] < float("inf")}
    broken = [terms.option(name) for name in shown if name not in sizes]
    said = []
    if sizes:
        widest, narrowest = max(sizes, key=sizes.get), min(sizes, key=sizes.get)
        text = _(
            "After layer {layer} the stream is largest with {wide} (RMS {most:.3g}), "
            "smallest with {narrow} (RMS {least:.3g})."
        )
        ends = {"wide": terms.option(widest), "narrow": terms.option(narrowest)}
        extent = {"most": sizes[widest], "least": sizes[narrowest]}
        said.append(text.format(layer=layer + 1, **ends, **extent))
    own = own_placement(run.config)
    if own in sizes:
        text = _("Yours is {own}: {rms:.3g}.")
        said.append(text.format(own=terms.option(own), rms=sizes[own]))
    if broken:
        said.append(_("Not finite: {names}.").format(names=enumeration(broken)))
    return " ".join(said)


def placements_note(run: Run) -> str:
    """What was run, and what was left out."""
    shared = placement_run(run)
    text = _(
        "Same weights in all (seed {seed}); norms that only some placements have start "
        "at scale 1 and shift 0."
    )
    said = [text.format(seed=run.seed)]
    if run.weights:
        said.append(
            _("The trained weights fit one norm placement only, so they are not used here.")
        )
    if shared.config.n_layers != run.config.n_layers:
        said.append(_("The whole model is too large for this: only one layer runs, on vectors."))
    if NormPlacement.PARALLEL not in possible_placements(run.config):
        said.append(_("parallel needs a feed-forward layer, and attention_only removes it."))
    if run.config.norm.norm_kind is NormKind.BATCH_NORM and not run.training:
        said.append(_("In evaluation mode BatchNorm changes next to nothing before training."))
    if run.config.norm.norm_kind is NormKind.NONE:
        said.append(_("Your model has no norm; the other norm placements use LayerNorm."))
    return " ".join(said)


def spreads_alt(run: Run, layer: int, head: int, shown: tuple[str, ...]) -> str:
    """The overlaid distributions in words."""
    rows = []
    for name in shown:
        row = measured.in_placement(run, name, layer, head).moments
        rows.append(f"{terms.option(name)} {row['mean']:.2f} ± {row['std']:.2f}")
    text = _("Output values of the layer in each norm placement, mean ± std: {rows}.")
    return text.format(rows="; ".join(row for row in rows if "nan" not in row and "inf" not in row))


def patterns_alt(run: Run, layer: int, head: int, shown: tuple[str, ...], token: int) -> str:
    """The tiles in words."""
    text = _("Attention weights of head {head} in layer {layer}, for {names}; pinned: {token}.")
    names = enumeration(terms.option(name) for name in shown)
    token_name = literal(run.input.labels[token])
    return text.format(head=head, layer=layer + 1, names=names, token=token_name)


def shown_layer(run: Run) -> int:
    """The layer that is looked at, in the model in which placements are compared."""
    return min(labelled.selected_layer(run), placement_run(run).config.n_layers - 1)
