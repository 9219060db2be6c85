"""What norm and residual connection do for depth: all layers of a stack, forward and back."""

from blocks import ConfigError
from blocks.inspection import depth as measures
from blocks.inspection import stack
from blocks.model.placements import own_placement
from blocks.observe.run import Run
from pages.figures import depth
from pages.figures.depth import Panel
from pages.ui import link
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.normalization import controls, depth_words, measured
from pages.ui.normalization.measured import Depth
from pages.ui.steps import in_steps

CODE = (measures.measure_depth, stack.measure_stack, stack.random_probe)


@section
def what_depth_does(run: Run) -> None:
    """One stack for each placement and seed: every measure of every layer on one axis."""
    place = explained(("placement_depth", "residual"), CODE, key="depth_story")
    wanted = stacks(run, link.value("depth"))
    if fault := measured.depth_fault(wanted[0]):
        controls.refused(fault)
        return
    passes = measured_stacks(wanted, "depth_work")
    if not passes:
        return
    own = own_placement(run.config)
    mine = tuple(each for each in passes if each.placement == own)
    place.info(depth_words.gradient_sentence(passes, own), icon=":material/lightbulb:")
    note(depth_words.collapse_sentence(passes, own))
    ghost = controls.curves_before(mine)
    show(draw_depth, passes, ghost, key="depth_panels", alt=depth_words.panels_alt)
    note(depth_words.setting(passes))
    download("depth.csv", lambda: measured.curves(passes).to_csv(index=False), "text/csv")


def which_stacks(run: Run) -> None:
    """How deep and wide the stacks are, and what makes deep ones fail."""
    controls.depth_controls(run)
    controls.experiments(run)


@section
def how_it_scales(run: Run) -> None:
    """The gradient of the last matrix in stacks of growing depth, beside theory."""
    place = explained(("placement_depth",), CODE, key="scaling_story")
    depth = link.value("depth")
    if measured.depth_fault(stacks(run, depth)[0]):
        return
    depths = measured.depths_below(depth)
    wanted = tuple(each for n_layers in depths for each in stacks(run, n_layers))
    passes = measured_stacks(wanted, "scaling_work")
    if not passes:
        return
    place.info(depth_words.xiong_sentence(passes), icon=":material/menu_book:")
    show(draw_scaling, passes, key="depth_scaling", alt=depth_words.last_gradients_alt)
    note(depth_words.xiong_why(passes))


def stacks(run: Run, n_layers: int) -> tuple[Depth, ...]:
    """What is to be measured, the reader's own placement first, seed by seed."""
    seeds = range(run.seed, run.seed + link.value("n_depth_seeds"))
    width = min(link.value("depth_width"), run.config.d_model)
    drawn = link.value("depth_initialization")
    return tuple(
        Depth(run, placement, n_layers, width, drawn, seed)
        for seed in seeds
        for placement in controls.chosen_placements(run)
    )


def measured_stacks(wanted: tuple[Depth, ...], key: str) -> tuple[Depth, ...]:
    """Measure one after the other; those that are done."""
    steps = [lambda each=each: measured.depth_pass(each) for each in wanted]
    try:
        done = in_steps(steps, what=wanted, key=key)
    except ConfigError as error:
        controls.refused(error.faults[0])
        return ()
    return wanted[: len(done.found)]


@section
def the_trained_layers(run: Run) -> None:
    """The layers of a trained model, on its own loss."""
    place = explained(("placement_depth",), CODE[:1], key="own_layers")
    if not run.weights:
        place.info(_("The weights are random: no loss means anything yet."), icon=":material/info:")
        return
    targets = measured.own_targets(run)
    if targets is None:
        place.info(depth_words.no_own_loss())
        return
    place.info(depth_words.own_sentence(run, targets), icon=":material/lightbulb:")
    show(draw_own, run, targets, key="own_panels", alt=depth_words.own_alt)
    note(depth_words.own_note(run))


def draw_depth(passes: tuple[Depth, ...], ghost: tuple[Depth, ...] | None):
    """All measures of all layers."""
    curves = measured.curves(passes)
    return depth.panels(
        curves,
        panels(curves, measured.depth_pass(passes[0]).even_bits),
        depth_words.names(list(dict.fromkeys(curves["placement"]))),
        n_layers=passes[0].n_layers,
        title=_("Effect of {n} layers").format(n=passes[0].n_layers),
        ghost=measured.curves(ghost) if ghost else None,
        _=_,
    )


def draw_scaling(passes: tuple[Depth, ...]):
    """The last gradient against depth."""
    table = measured.last_gradients(passes)
    names = depth_words.names(list(dict.fromkeys(table["placement"])))
    title = _("Gradient of the last matrix against depth (thin: theory)")
    return depth.last_gradients(table, names, title=title, _=_)


def draw_own(run: Run, targets: tuple[int, ...]):
    """The trained layers, and the same with random weights."""
    curves = measured.own_curves(run, targets)
    return depth.panels(
        curves,
        panels(curves, measured.own_pass(run, targets).even_bits),
        depth_words.names(list(dict.fromkeys(curves["placement"]))),
        n_layers=run.config.n_layers,
        title=_("Loss after each layer"),
        _=_,
    )


def panels(curves, even_bits: float) -> list[Panel]:
    """The measures that this setting has, with what each may be compared with."""
    levels = {
        "entropy_bits": (even_bits, _("uniform weights")),
        "similarity": (1.0, _("uniform over tokens")),
    }
    known = set(curves.dropna(subset="median")["measure"])
    return [
        Panel(measure, _(title), levels.get(measure))
        for measure, title in depth_words.TITLES.items()
        if measure in known
    ]
