"""Sentences that read what depth did, beside what is published."""

import numpy as np
import pandas as pd

from blocks.inspection.stack import N_CLASSES
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.ui import starts, terms
from pages.ui.language import _, enumeration
from pages.ui.normalization import measured
from pages.ui.normalization.measured import Depth

TITLES = {
    "parameter_gradient": N_("Gradient norm of each layer's parameters"),
    "stream_gradient": N_("Gradient norm of the stream after each layer"),
    "stream_norm": N_("Size of the residual stream (mean norm of a token)"),
    "attention_share": N_("Attention output, relative to the stream"),
    "feed_forward_share": N_("Feed-forward output, relative to the stream"),
    "cosine": N_("Cosine similarity with the previous layer"),
    "similarity": N_("Similarity of tokens (mean pairwise cosine)"),
    "entropy_bits": N_("Entropy of attention (bits)"),
}
VANISHED, ALIKE, SLOPE_TOLERANCE = 1e-3, 0.99, 0.15
NAMES = {"trained": N_("trained"), "random": N_("random weights")}


def names(placements: list[str]) -> dict[str, str]:
    """What each curve is called."""
    return {name: _(NAMES[name]) if name in NAMES else terms.option(name) for name in placements}


def setting(passes: tuple[Depth, ...]) -> str:
    """What was built and measured, with all that is needed to do it again."""
    depth, config = passes[0], passes[0].config
    run, loss = depth.run, measured.depth_pass(depth).loss
    text = _(
        "n_layers {n}, d_model {d_model}, n_heads {heads}, d_ff {d_ff}, seq_len "
        "{tokens}, {dtype}. Random weights ({drawn}, seeds {seeds}), dropout off. "
        "Input: {read}. Loss: cross entropy of a linear probe that predicts one of "
        "{classes} random classes at each token ({loss} in the first stack)."
    )
    seeds = enumeration(map(str, dict.fromkeys(each.seed for each in passes)))
    said = text.format(
        n=depth.n_layers,
        d_model=config.d_model,
        heads=config.n_heads,
        d_ff=config.d_ff,
        tokens=run.input.shape[1] * min(run.input.shape[0], measured.MOST_SEQUENCES),
        dtype=run.dtype,
        seeds=seeds,
        drawn=terms.option(config.initialization),
        read=_read(depth),
        classes=N_CLASSES,
        loss=_("{nats:.2f} nats").format(nats=loss) if np.isfinite(loss) else _("not finite"),
    )
    return f"{said} {_modes(run)}".strip()


def _read(depth: Depth) -> str:
    if measured.reads_own_stream(depth.run, depth.width):
        return _("the input of this run's first layer")
    return _("random vectors for its words, since this run's own are wider")


def _modes(run: Run) -> str:
    if run.config.norm.norm_kind is NormKind.BATCH_NORM:
        return _("BatchNorm uses the statistics of the batch, as in training.")
    return ""


def gradient_sentence(passes: tuple[Depth, ...], own: str) -> str:
    """What reaches the first layer against the last, in every placement that is drawn."""
    curves = measured.curves(passes)
    said = []
    for placement in _drawn(passes):
        found = of(curves, placement, "parameter_gradient")["median"][1:]
        if found.isna().any():
            continue
        name = terms.option(placement)
        if placement == own:
            name = _("{placement} (yours)").format(placement=name)
        said.append(f"{name}: {_way_back(found.iloc[0], found.iloc[-1], passes)}")
    text = _("Gradient in layer 1 and layer {n}: {listed}.")
    whole = text.format(n=passes[0].n_layers, listed="; ".join(said)) if said else ""
    return f"{whole} {not_finite(passes)}".strip()


def _way_back(first: float, last: float, passes: tuple[Depth, ...]) -> str:
    """What becomes of a gradient between the last layer and the first."""
    if first == 0:
        text = _("vanishes to exactly 0, below the smallest number of {dtype}")
        return text.format(dtype=passes[0].run.dtype)
    if last == 0:
        return _("0 in the last layer")
    ratio = first / last
    if ratio < VANISHED:
        return _("vanishes to {ratio:.1e} times its size").format(ratio=ratio)
    if ratio > 1 / VANISHED:
        return _("explodes to {ratio:.1e} times").format(ratio=ratio)
    return _("{ratio:.2g} times as large").format(ratio=ratio)


def _drawn(passes: tuple[Depth, ...]) -> list[str]:
    """The placements, in the order in which they are drawn."""
    return list(dict.fromkeys(each.placement for each in passes))


def not_finite(passes: tuple[Depth, ...]) -> str:
    """Where numbers left the number format: which placements, from which layer on."""
    said = []
    text = _("{placement}: from layer {layer} on the stream overflows {dtype}.")
    back = _("{placement}: the stream stays finite in {dtype}, its gradients do not.")
    for placement in _drawn(passes):
        layers = [measured.depth_pass(d).layers for d in passes if d.placement == placement]
        values = {"placement": terms.option(placement), "dtype": passes[0].run.dtype}
        first = _first_broken(layers, "stream_norm", start=0)
        if first is not None:
            said.append(text.format(layer=first, **values))
        elif _first_broken(layers, "parameter_gradient", start=1) is not None:
            said.append(back.format(**values))
    return " ".join(said)


def _first_broken(frames: list[pd.DataFrame], column: str, *, start: int) -> int | None:
    broken = [
        int(frame["layer"][start + i])
        for frame in frames
        for i, value in enumerate(frame[column][start:])
        if not np.isfinite(value)
    ]
    return min(broken, default=None)


def of(curves: pd.DataFrame, placement: str, measure: str) -> pd.DataFrame:
    """One curve."""
    is_it = (curves["placement"] == placement) & (curves["measure"] == measure)
    return curves[is_it].reset_index(drop=True)


def collapse_sentence(passes: tuple[Depth, ...], own: str) -> str:
    """Whether tokens become alike, beside Dong et al. 2021."""
    curves = measured.curves(passes)
    found = of(curves, own, "similarity")["median"]
    if pd.isna(found.iloc[0]):
        return _("There is only one token, so there is no other to compare it with.")
    ends = {name: of(curves, name, "similarity")["median"].iloc[-1] for name in _drawn(passes)}
    listed = enumeration(
        f"{terms.option(name)} {value:.2f}" for name, value in ends.items() if value == value
    )
    text = _(
        "Two tokens have a mean cosine of {start:.2f} at the input; after layer {n}: {listed}."
    )
    said = text.format(start=found.iloc[0], n=passes[0].n_layers, listed=listed) if listed else ""
    if passes[0].run.config.norm.residual:
        theory = _(
            "Dong et al. 2021 prove that attention alone, without residual connections, "
            "makes all tokens alike. With them it need not happen, and here {verdict}. "
            "Switch them off to compare."
        )
        alike = [terms.option(name) for name, value in ends.items() if value > ALIKE]
        listed = enumeration(alike)
        verdict = (
            _("they become nearly identical all the same: {listed}") if alike else _("they do not")
        )
        return f"{said} {theory.format(verdict=verdict.format(listed=listed))}"
    text = _("Dong et al. 2021 predict rank collapse without the residual connection: {verdict}.")
    is_alike = ends[own] > ALIKE
    verdict = _("this run agrees") if is_alike else _("this run does not show it (yet)")
    return f"{said} {text.format(verdict=verdict)}"


def xiong_sentence(passes: tuple[Depth, ...]) -> str:
    """How the last gradient depends on depth, beside Xiong et al. 2020."""
    table = measured.last_gradients(passes)
    said = [
        _(
            "Xiong et al. 2020 (theorem 1, at initialization): the gradient of the last "
            "feed-forward matrix does not depend on depth for post-norm, and falls as "
            "1/√depth for pre-norm."
        )
    ]
    for placement, expected in (("post", 0.0), ("pre", -0.5)):
        found = measured.slope(table[table["placement"] == placement])
        if not np.isfinite(found):
            continue
        agrees = abs(found - expected) <= SLOPE_TOLERANCE
        text = _(
            "Measured for {placement}: depth^({slope:.2f}), predicted {expected:.1f}; {verdict}."
        )
        verdict = (
            _("agrees within ±{tolerance}") if agrees else _("differs by more than {tolerance}")
        )
        said.append(
            text.format(
                placement=terms.option(placement),
                slope=found,
                expected=expected,
                verdict=verdict.format(tolerance=SLOPE_TOLERANCE),
            )
        )
    if len(said) == 1:
        said.append(_("Choose pre or post and at least 4 layers to compare with theory."))
    return " ".join(said)


def xiong_why(passes: tuple[Depth, ...]) -> str:
    """Why theory and this stack may differ."""
    config = passes[0].config
    if config.attention_only:
        return _("There is no feed-forward here: the matrix is attention's out_proj.")
    if not config.norm.residual:
        return _("The theorem assumes a residual connection, and here it is off.")
    if config.norm.norm_kind is not NormKind.LAYER_NORM:
        return _("The theorem is about LayerNorm.")
    if config.initialization != "xavier_uniform":
        return _(
            "The theorem assumes Xavier initialization, where each branch adds as much "
            "as the stream carries; here the weights are drawn otherwise, and the input "
            "of the stack weighs more."
        )
    return _("Initialized as in the theorem, except attention, which the theorem simplifies.")


def panels_alt(passes: tuple[Depth, ...], *_ghost: object) -> str:
    """The panels in words."""
    curves = measured.curves(passes)
    rows = []
    for placement in _drawn(passes):
        found = of(curves, placement, "parameter_gradient")["median"].iloc[1:]
        if found.notna().all():
            text = _("{placement}: gradient {first:.3g} in layer 1, {last:.3g} in the last")
            values = {"first": found.iloc[0], "last": found.iloc[-1]}
            rows.append(text.format(placement=terms.option(placement), **values))
    text = _("Measures of {n} layers on one axis, for each norm placement. {rows}.")
    return text.format(n=passes[0].n_layers, rows="; ".join(rows))


def last_gradients_alt(passes: tuple[Depth, ...]) -> str:
    """The gradients of the last matrix in words."""
    table = measured.last_gradients(passes).dropna()
    rows = "; ".join(
        f"{terms.option(row.placement)} {row.n_layers}: {row.median:.3g}"
        for row in table.itertuples()
    )
    text = _("Gradient of the last matrix by norm placement and number of layers: {rows}.")
    return text.format(rows=rows)


def own_sentence(run: Run, targets: tuple[int, ...]) -> str:
    """Where the trained model's gradient is, and how its loss compares."""
    trained = measured.own_pass(run, targets)
    random = measured.own_pass(measured.untrained(run), targets)
    gradient = trained.layers["parameter_gradient"][1:]
    text = _(
        "Loss of this text: {trained:.2f} nats trained, {random:.2f} with random weights (seed "
        "{seed}). Trained, layer {most} has the largest gradient and layer {least} the smallest."
    )
    return text.format(
        trained=trained.loss,
        random=random.loss,
        seed=run.seed,
        most=int(gradient.idxmax()),
        least=int(gradient.idxmin()),
    )


def own_note(run: Run) -> str:
    """What the loss is."""
    task = terms.option(starts.model(run.weights).card.task)
    if run.config.architecture == "gpt":
        text = _("Loss: next-token cross entropy on this text. Trained on: {task}.")
    else:
        text = _("Loss: cross entropy of its answers on this text. Trained on: {task}.")
    return text.format(task=task) + " " + _("In evaluation mode, nothing is updated.")


def no_own_loss() -> str:
    """Why the trained model's own layers are not shown."""
    return _(
        "For this text the model has no known answer to be measured against: give a GPT "
        "two tokens or more, or mask the encoder's pinned token."
    )


def own_alt(run: Run, targets: tuple[int, ...]) -> str:
    """The trained model's panels in words."""
    found = measured.own_pass(run, targets).layers["parameter_gradient"][1:]
    rows = "; ".join(f"{layer}: {value:.3g}" for layer, value in found.items())
    return _("Gradient norm of each layer's parameters, trained: {rows}.").format(rows=rows)
