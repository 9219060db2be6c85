"""All that depth does, layer by layer: plots above each other on one axis of layers."""

import math
from collections.abc import Iterator

import pandas as pd

from blocks.inspection.depth_facts import LayerCurves
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, Series, band, line
from pages.figures.series import placement_look
from pages.figures.theme import faint
from pages.panels.normalization import shared
from pages.show.controls import pick
from pages.stage import present
from pages.state.link_fields.normalization import EVERY_CURVE
from pages.state.values import State
from pages.words.language import _, enumeration, fill

PLOT, ALONE = 138, 170  # pixels of one of several, and of one alone
MARKED_UP_TO, MOST_LAYER_TICKS, LOG_ABOVE = 16, 16, 15.0
LOGARITHMIC = ("parameter_gradient", "stream_gradient")
SHARES, LINEAR = ("cosine", "similarity"), ("cosine", "similarity", "entropy_bits")
GHOST = faint(palette.BEFORE, 0.45)
TITLES = {  # in the order in which they are drawn
    "parameter_gradient": N_("Gradient norm of each layer's parameters"),
    "stream_gradient": N_("Gradient norm of the stream after each layer"),
    "stream_norm": N_("Size of the residual stream (mean norm of a token)"),
    "attention_share": N_("Attention output, relative to the stream"),
    "feed_forward_share": N_("Feed-forward output, relative to the stream"),
    "cosine": N_("Cosine similarity with the previous layer"),
    "similarity": N_("Similarity of tokens (mean pairwise cosine)"),
    "entropy_bits": N_("Entropy of attention (bits)"),
}


def by_layer(title: str, curves: LayerCurves, before: LayerCurves | None = None) -> Chart:
    """Every measure that these layers have; `before`: the same of the setting before.

    Gradients have a logarithmic scale, and so has what is positive and far apart. What is no finite
    number (or, on a logarithmic scale, zero) is left out.
    """
    known = set(curves.table.dropna(subset="median")["measure"])
    shown = [measure for measure in TITLES if measure in known]
    step = max(1, -(-curves.n_layers // MOST_LAYER_TICKS))
    ends = -0.02 * curves.n_layers - 0.1, curves.n_layers * 1.02 + 0.1
    named = set[str]()
    of_all = [_of(curves, measure, before) for measure in shown]
    return Chart(
        title if len(shown) > 1 else _(TITLES[shown[0]]) if shown else title,
        {},
        Axis(_("layer (0: input)"), ends, of="layer", ticks=range(0, curves.n_layers + 1, step)),
        tuple(
            _axis(_(TITLES[m]), *of, is_alone=len(shown) == 1)
            for m, of in zip(shown, of_all, strict=True)
        )
        or Axis(),
        [each for plot, of in enumerate(of_all) for each in _curves(*of, plot, named)],
        tall=PLOT * len(shown) if len(shown) > 1 else ALONE,
        levels=[
            Level(y, name=name, plot=shown.index(measure), is_named_right=True)
            for measure, y, name in (
                ("entropy_bits", curves.even_bits, _("uniform weights")),
                ("similarity", 1.0, _("all tokens alike")),
            )
            if measure in shown
        ],
    )


def _of(
    curves: LayerCurves, measure: str, before: LayerCurves | None
) -> tuple[pd.DataFrame, pd.DataFrame, bool]:
    """What is drawn of a measure, what stood there before, and whether it is logarithmic."""
    found, ghost = (
        pd.DataFrame() if each is None else each.table[each.table["measure"] == measure]
        for each in (curves, before)
    )
    is_log = _is_log(found)
    return _drawable(found, is_log), _drawable(ghost, is_log), is_log


def _is_log(found: pd.DataFrame) -> bool:
    values = found["median"].dropna()
    positive = values[values > 0]
    if found["measure"].isin(LINEAR).any() or (values < 0).any() or positive.empty:
        return False
    if found["measure"].isin(LOGARITHMIC).any():
        return True
    return bool(positive.max() / positive.min() > LOG_ABOVE) or bool((values == 0).any())


def _drawable(found: pd.DataFrame, is_log: bool) -> pd.DataFrame:
    kept = found.dropna(subset="median") if len(found) else found
    return kept[kept["least"] > 0] if is_log and len(kept) else kept


def _axis(
    title: str, found: pd.DataFrame, ghost: pd.DataFrame, is_log: bool, *, is_alone: bool
) -> Axis:
    if is_log:
        values = pd.concat([found, ghost])["median"]
        return Axis(
            title,
            (values.min(), values.max()),
            is_log=True,
            said=_power,
            room=0.15,
            is_heading=not is_alone,
        )
    from_0 = not found["measure"].isin(SHARES).any()
    return Axis(title, from_0=from_0, n_ticks=5, is_heading=not is_alone)


def _power(tick: float) -> str:
    power = round(math.log10(tick))
    is_plain = 1e-3 <= tick < 1e5 or not math.isclose(tick, 10.0**power)
    return f"{tick:g}" if is_plain else f"10<sup>{power}</sup>"


def _curves(
    found: pd.DataFrame, ghost: pd.DataFrame, _is_log: bool, plot: int, named: set[str]
) -> Iterator[Series]:
    """The median of each placement as a line, least to most as a band around it.

    `named`: the placements that stand in the legend already.
    """
    if len(ghost):
        look, hover = Look(_("previous settings"), GHOST, width=5), "{name}: {y:.4g}"
        yield line("median", look, rows=ghost, plot=plot, hover=hover, in_legend=plot == 0)
    names = shared.names(found["placement"].unique())
    text = _("layer {n}").format(n="{x}") + " · {name}<br>{y:.4g} ({least:.4g} … {most:.4g})"
    for placement, rows in found.groupby("placement", sort=False):
        symbol = "circle" if len(rows) <= MARKED_UP_TO + 1 else ""
        look = placement_look(str(placement), names[str(placement)], symbol=symbol, size=5)
        if (rows["least"] != rows["most"]).any():
            yield band("least", "most", str(look.color), rows=rows, plot=plot)
        is_new = look.name not in named
        how = {"plot": plot, "in_legend": is_new, "click": ("least", "most")}
        yield line("median", look, rows=rows, hover=text, **how)
        named.add(look.name)


def curve_choice(place: str = "", *, state: State) -> str:
    """Which measure of the layers is drawn, or `EVERY_CURVE`; `place` as in `pick`."""
    every = {} if present.is_on() else {EVERY_CURVE: _("all")}
    called = every | {name: _(title) for name, title in TITLES.items()}
    shown = drawn(state)
    pick("depth_curve", _("Curves"), called, label_of=called.__getitem__, shown=shown, place=place)
    return shown


def drawn(state: State) -> str:
    """The measure that is drawn, or `EVERY_CURVE`; a class, who has one screen, sees one."""
    is_every = state.depth_curve == EVERY_CURVE and present.is_on()
    return next(iter(TITLES)) if is_every else str(state.depth_curve)


def says_ends(curves: LayerCurves) -> str:
    """How the one measure that is drawn begins and ends."""
    found = curves.ends(curves.alone)
    if not found:
        return ""
    text, called = (
        _("{name} from {first:readable} to {last:readable}"),
        shared.names(curves.placements),
    )
    listed = enumeration(fill(text, each, name=called[each.placement]) for each in found)
    said, measure = (
        _("{measure}, layers {a.first_layer} to {n_layers}: {listed}."),
        _(TITLES[curves.alone]),
    )
    return fill(said, curves, a=found[0], measure=measure, listed=listed)
