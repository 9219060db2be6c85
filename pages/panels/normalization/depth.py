"""What norm and residual connection do for depth: all layers of a stack, forward and back."""

import zlib

import numpy as np
import pandas as pd
import streamlit as st

from blocks import ConfigError
from blocks.inspection import depth as measures
from blocks.inspection import stack
from blocks.inspection.stack import DEPTHS, N_CLASSES, WIDTHS
from blocks.model.faults import N_
from blocks.model.kinds import Initialization, NormKind
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.panels.normalization import depth_facts, depth_picture, shared
from pages.panels.normalization.depth_picture import Panel
from pages.ui import link, starts, terms
from pages.ui.chart import show
from pages.ui.controls import pick, slide, slider
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.fold import fold
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration
from pages.ui.link_fields.normalization import joined
from pages.ui.steps import in_steps

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


def setting(passes: tuple[depth_facts.Depth, ...]) -> str:
    """What was built and measured, with all that is needed to do it again."""
    depth, config = passes[0], passes[0].config
    run, loss = depth.run, depth_facts.depth_pass(depth).loss
    text = _(
        "n_layers {n}, d_model {d_model}, n_heads {heads}, d_ff {d_ff}, seq_len "
        "{tokens}, {dtype}. Random weights drawn for this test ({drawn}, seeds {seeds}), "
        "dropout off. Input: {read}. Loss: cross entropy of a linear probe that predicts one of "
        "{classes} random classes at each token ({loss} in the first stack)."
    )
    seeds = enumeration(map(str, dict.fromkeys(each.seed for each in passes)))
    said = text.format(
        n=depth.n_layers,
        d_model=config.d_model,
        heads=config.n_heads,
        d_ff=config.d_ff,
        tokens=run.input.shape[1] * min(run.input.shape[0], depth_facts.MOST_SEQUENCES),
        dtype=run.dtype,
        seeds=seeds,
        drawn=terms.option(config.initialization),
        read=_read(depth),
        classes=N_CLASSES,
        loss=_("{nats:.2f} nats").format(nats=loss) if np.isfinite(loss) else _("not finite"),
    )
    return f"{said} {_modes(run)}".strip()


def _read(depth: depth_facts.Depth) -> str:
    if depth_facts.reads_own_stream(depth.run, depth.width):
        return _("the input of this run's first layer")
    return _("random vectors for its words, since this run's own are wider")


def _modes(run: Run) -> str:
    if run.config.norm.norm_kind is NormKind.BATCH_NORM:
        return _("BatchNorm uses the statistics of the batch, as in training.")
    return ""


def gradient_sentence(passes: tuple[depth_facts.Depth, ...], own: str) -> str:
    """What reaches the first layer against the last, in every placement that is drawn."""
    curves = depth_facts.measured_curves(passes)
    said = []
    for placement in _drawn(passes):
        found = of(curves, placement, "parameter_gradient")["median"][1:]
        if found.isna().any():
            continue
        name = terms.option(placement)
        if placement == own:
            name = _("{placement} (yours)").format(placement=name)
        said.append(f"{name}: {_way_back(found.iloc[0], found.iloc[-1], passes)}")
    text = _("Gradient in layer 1 against layer {n}: {listed}.")
    whole = text.format(n=passes[0].n_layers, listed="; ".join(said)) if said else ""
    return f"{whole} {not_finite(passes)}".strip()


def _way_back(first: float, last: float, passes: tuple[depth_facts.Depth, ...]) -> str:
    """What becomes of a gradient between the last layer and the first."""
    if first == 0:
        text = _("vanishes to exactly 0, below the smallest number of {dtype}")
        return text.format(dtype=passes[0].run.dtype)
    if last == 0:
        return _("0 in the last layer")
    ratio = first / last
    if ratio < shared.VANISHED:
        return _("vanishes to {ratio:.1e} times its size").format(ratio=ratio)
    if ratio > 1 / shared.VANISHED:
        return _("explodes to {ratio:.1e} times").format(ratio=ratio)
    return _("{ratio:.2g} times as large").format(ratio=ratio)


def _drawn(passes: tuple[depth_facts.Depth, ...]) -> list[str]:
    """The placements, in the order in which they are drawn."""
    return list(dict.fromkeys(each.placement for each in passes))


def not_finite(passes: tuple[depth_facts.Depth, ...]) -> str:
    """Where numbers left the number format: which placements, from which layer on."""
    said = []
    text = _("{placement}: from layer {layer} on the stream overflows {dtype}.")
    back = _("{placement}: the stream stays finite in {dtype}, its gradients do not.")
    for placement in _drawn(passes):
        layers = [depth_facts.depth_pass(d).layers for d in passes if d.placement == placement]
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


def collapse_sentence(passes: tuple[depth_facts.Depth, ...], own: str) -> str:
    """Whether tokens become alike, beside Dong et al. 2021."""
    curves = depth_facts.measured_curves(passes)
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
        alike = [terms.option(name) for name, value in ends.items() if value > shared.ALIKE]
        listed = enumeration(alike)
        verdict = (
            _("they become nearly identical all the same: {listed}") if alike else _("they do not")
        )
        return f"{said} {theory.format(verdict=verdict.format(listed=listed))}"
    text = _("Dong et al. 2021 predict rank collapse without the residual connection: {verdict}.")
    is_alike = ends[own] > shared.ALIKE
    verdict = _("this run agrees") if is_alike else _("this run does not show it (yet)")
    return f"{said} {text.format(verdict=verdict)}"


def xiong_sentence(passes: tuple[depth_facts.Depth, ...]) -> str:
    """How the last gradient depends on depth, beside Xiong et al. 2020."""
    table = depth_facts.last_gradients(passes)
    said = [
        _(
            "Xiong et al. 2020 (theorem 1, at initialization): the gradient of the last "
            "feed-forward matrix does not depend on depth for post-norm, and falls as "
            "1/√depth for pre-norm."
        )
    ]
    for placement, expected in (("post", 0.0), ("pre", -0.5)):
        found = depth_facts.slope(table[table["placement"] == placement])
        if not np.isfinite(found):
            continue
        agrees = abs(found - expected) <= shared.SLOPE_TOLERANCE
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
                verdict=verdict.format(tolerance=shared.SLOPE_TOLERANCE),
            )
        )
    if len(said) == 1:
        said.append(_("Choose pre or post and at least 4 layers to compare with theory."))
    return " ".join(said)


def xiong_why(passes: tuple[depth_facts.Depth, ...]) -> str:
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


def panels_alt(passes: tuple[depth_facts.Depth, ...], *_ghost: object) -> str:
    """Write the alt text of the panels."""
    curves = depth_facts.measured_curves(passes)
    rows = []
    for placement in _drawn(passes):
        found = of(curves, placement, "parameter_gradient")["median"].iloc[1:]
        if found.notna().all():
            text = _("{placement}: gradient {first:.3g} in layer 1, {last:.3g} in the last")
            values = {"first": found.iloc[0], "last": found.iloc[-1]}
            rows.append(text.format(placement=terms.option(placement), **values))
    text = _("Measures of {n} layers on one axis, for each norm placement. {rows}.")
    return text.format(n=passes[0].n_layers, rows="; ".join(rows))


def last_gradients_alt(passes: tuple[depth_facts.Depth, ...]) -> str:
    """Write the alt text of the gradients of the last matrix."""
    table = depth_facts.last_gradients(passes).dropna()
    rows = "; ".join(
        f"{terms.option(row.placement)} {row.n_layers}: {row.median:.3g}" for row in each_row(table)
    )
    text = _("Gradient of the last matrix by norm placement and number of layers: {rows}.")
    return text.format(rows=rows)


def own_sentence(run: Run, targets: tuple[int, ...]) -> str:
    """Where the trained model's gradient is, and how its loss compares."""
    trained = depth_facts.own_pass(run, targets)
    random = depth_facts.own_pass(depth_facts.untrained(run), targets)
    gradient = trained.layers["parameter_gradient"][1:]
    text = _(
        "Loss of this text: {trained:.2f} nats trained, {random:.2f} with random weights (seed "
        "{seed}). Trained, layer {most} has the largest gradient and layer {least} the smallest."
    )
    return text.format(
        trained=trained.loss,
        random=random.loss,
        seed=run.seed,
        most=gradient.index[int(gradient.argmax())],
        least=gradient.index[int(gradient.argmin())],
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
    """Write the alt text of the trained model's panels."""
    found = depth_facts.own_pass(run, targets).layers["parameter_gradient"][1:]
    rows = "; ".join(f"{layer}: {value:.3g}" for layer, value in found.items())
    return _("Gradient norm of each layer's parameters, trained: {rows}.").format(rows=rows)


def depth_controls(run: Run) -> None:
    """How deep, how wide, how many seeds, and which placements are drawn together."""
    left, middle, right, last = st.columns([4, 3, 3, 3])
    with left:
        slide("depth", _("Number of layers"), DEPTHS, link.value("depth"))
    with middle:
        widest = run.config.d_model
        widths = [*(width for width in WIDTHS if width < widest), widest]
        slide(
            "depth_width",
            _("Largest width, d_model"),
            widths,
            min(link.value("depth_width"), widest),
        )
    with right:
        label = _("Seeds · median and range")
        slider("n_depth_seeds", label, link.value("n_depth_seeds"))
    with last:
        pick("depth_initialization", _("Weight initialization"), Initialization)
    mine = own_placement(run.config)
    others = tuple(name for name in possible_placements(run.config) if name != mine)
    several("depth_placements", _("Also draw"), others)


def several(name: str, label: str, options: tuple[str, ...]) -> None:
    """Some of several words; the state holds them as one, with commas."""
    chosen = [word for word in link.value(name).split(",") if word in options]
    key = f"{name}__{zlib.crc32(repr((options, current_language())).encode()):x}"
    st.session_state[key] = chosen
    with st.container(key=name):
        st.pills(
            label,
            options,
            selection_mode="multi",
            format_func=terms.option,
            wrap=True,
            key=key,
            on_change=_several_chosen,
            args=(name, key, options),
        )


def _several_chosen(name: str, key: str, options: tuple[str, ...]) -> None:
    found = st.session_state[key]
    link.change(name, joined([word for word in options if word in found]))


def experiments(run: Run) -> None:
    """What makes deep stacks fail, one click away; the curves of before stay as a ghost."""
    has_norm = run.config.norm.norm_kind is not NormKind.NONE
    residual = (
        (_("Residual connection off"), "residual", False)
        if run.config.norm.residual
        else (_("Residual connection on"), "residual", True)
    )
    norm = (
        (_("Leave the norm out"), "norm_kind", str(NormKind.NONE))
        if has_norm
        else (_("Add LayerNorm"), "norm_kind", str(NormKind.LAYER_NORM))
    )
    with st.container(horizontal=True, key="experiments"):
        for label, name, value in (residual, norm):
            st.button(label, on_click=_change, args=(name, value), key=f"try_{name}")


def _change(name: str, value: object) -> None:
    link.change(name, value)
    link.redraw_everything()


def curves_before(current: tuple[depth_facts.Depth, ...]) -> tuple[depth_facts.Depth, ...] | None:
    """The reader's own curves that this session showed before these."""
    newest, before = st.session_state.get("depths", (None, None))
    if current != newest:
        newest, before = current, newest
        st.session_state["depths"] = (newest, before)
    return before


CODE = (measures.measure_depth, stack.measure_stack, stack.random_probe)


@section
def what_depth_does(run: Run) -> None:
    """One stack for each placement and seed: every measure of every layer on one axis."""
    place = explained(("placement_depth", "residual"), CODE, key="depth_story")
    wanted = stacks(run, link.value("depth"))
    if fault := depth_facts.depth_fault(wanted[0]):
        shared.refused(fault)
        return
    passes = measured_stacks(wanted, "depth_work")
    if not passes:
        return
    own = own_placement(run.config)
    mine = tuple(each for each in passes if each.placement == own)
    place.info(gradient_sentence(passes, own), icon=":material/lightbulb:")
    ghost = curves_before(mine)
    show(draw_depth, passes, ghost, key="depth_panels", alt=panels_alt)
    note(collapse_sentence(passes, own))
    note(setting(passes))
    experiments(run)
    download(
        "depth.csv", lambda: depth_facts.measured_curves(passes).to_csv(index=False), "text/csv"
    )


def which_stacks(run: Run) -> None:
    """How deep and wide the stacks are, on one line that opens to change them."""
    text = _("Stacks of {n} layers · median of {k} seeds")
    label = text.format(n=link.value("depth"), k=link.value("n_depth_seeds"))
    opened = fold(label, key="stacks", icon=":material/tune:")
    if opened.open:
        with opened:
            depth_controls(run)


@section
def how_it_scales(run: Run) -> None:
    """The gradient of the last matrix in stacks of growing depth, beside theory."""
    place = explained(("placement_depth",), CODE, key="scaling_story")
    depth = link.value("depth")
    if depth_facts.depth_fault(stacks(run, depth)[0]):
        return
    depths = depth_facts.depths_below(depth)
    wanted = tuple(each for n_layers in depths for each in stacks(run, n_layers))
    passes = measured_stacks(wanted, "scaling_work")
    if not passes:
        return
    place.info(xiong_sentence(passes), icon=":material/menu_book:")
    show(draw_scaling, passes, key="depth_scaling", alt=last_gradients_alt)
    note(xiong_why(passes))


def stacks(run: Run, n_layers: int) -> tuple[depth_facts.Depth, ...]:
    """What is to be measured, the reader's own placement first, seed by seed."""
    seeds = range(run.seed, run.seed + link.value("n_depth_seeds"))
    width = min(link.value("depth_width"), run.config.d_model)
    drawn = link.value("depth_initialization")
    return tuple(
        depth_facts.Depth(run, placement, n_layers, width, drawn, seed)
        for seed in seeds
        for placement in shared.chosen_placements(run)
    )


def measured_stacks(
    wanted: tuple[depth_facts.Depth, ...], key: str
) -> tuple[depth_facts.Depth, ...]:
    """Measure one after the other; those that are done."""
    steps = [lambda each=each: depth_facts.depth_pass(each) for each in wanted]
    try:
        done = in_steps(steps, what=wanted, key=key)
    except ConfigError as error:
        shared.refused(error.faults[0])
        return ()
    return wanted[: len(done.found)]


@section
def the_trained_layers(run: Run) -> None:
    """The layers of a trained model, on its own loss."""
    place = explained(("placement_depth",), CODE[:1], key="own_layers")
    if not run.weights:
        place.info(_("The weights are random: no loss means anything yet."), icon=":material/info:")
        return
    targets = depth_facts.own_targets(run)
    if targets is None:
        place.info(no_own_loss())
        return
    place.info(own_sentence(run, targets), icon=":material/lightbulb:")
    show(draw_own, run, targets, key="own_panels", alt=own_alt)
    note(own_note(run))


def draw_depth(
    passes: tuple[depth_facts.Depth, ...], ghost: tuple[depth_facts.Depth, ...] | None
) -> Picture:
    """All measures of all layers."""
    curves = depth_facts.measured_curves(passes)
    return depth_picture.panels(
        curves,
        panels(curves, depth_facts.depth_pass(passes[0]).even_bits),
        shared.names(list(dict.fromkeys(curves["placement"]))),
        n_layers=passes[0].n_layers,
        title=_("Effect of {n} layers").format(n=passes[0].n_layers),
        ghost=depth_facts.measured_curves(ghost) if ghost else None,
        _=_,
    )


def draw_scaling(passes: tuple[depth_facts.Depth, ...]) -> Picture:
    """The last gradient against depth."""
    table = depth_facts.last_gradients(passes)
    names = shared.names(list(dict.fromkeys(table["placement"])))
    title = _("Gradient of the last matrix against depth (thin: theory)")
    return depth_picture.last_gradients(table, names, title=title, _=_)


def draw_own(run: Run, targets: tuple[int, ...]) -> Picture:
    """The trained layers, and the same with random weights."""
    curves = depth_facts.own_curves(run, targets)
    return depth_picture.panels(
        curves,
        panels(curves, depth_facts.own_pass(run, targets).even_bits),
        shared.names(list(dict.fromkeys(curves["placement"]))),
        n_layers=run.config.n_layers,
        title=_("Loss after each layer"),
        _=_,
    )


def panels(curves: pd.DataFrame, even_bits: float) -> list[Panel]:
    """The measures that this setting has, with what each may be compared with."""
    levels = {
        "entropy_bits": (even_bits, _("uniform weights")),
        "similarity": (1.0, _("uniform over tokens")),
    }
    known = set(curves.dropna(subset="median")["measure"])
    return [
        Panel(measure, _(title), levels.get(measure))
        for measure, title in TITLES.items()
        if measure in known
    ]
