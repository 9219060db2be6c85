"""Sentences of the page that compares, computed from both models."""

import pandas as pd

from blocks import ModelConfig
from blocks.cost.fit import n_parameters
from blocks.inspection.settings import moved_along
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.compare import frames, measured, sides, tables, trade_offs
from pages.ui.compare.fields import MOST_KEPT
from pages.ui.compare.measured import PairTimes
from pages.ui.compare.sides import Pair
from pages.ui.compare.trade_offs import Axes, Candidate, cache_format
from pages.ui.cost import amounts
from pages.ui.cost import names as cost_names
from pages.ui.cost.units import duration
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import readable
from pages.ui.words import parameter_count

SAME_WITHIN = 0.005
MOST_NAMED = 8
MOST_SPREAD = 0.3  # between quartiles, of the median


def who_is_who(pair: Pair) -> str:
    """Both in one line each."""
    said = (
        f"**{literal(name)}** — {_model(run)}"
        for name, run in zip(sides.names(pair), pair.both, strict=True)
    )
    return "  \n".join(said)


def _model(run: Run) -> str:
    config = run.config
    text = _("{kind}, {n_layers} × {d_model}, {heads}, {weights} · {parameters}")
    return text.format(
        kind=terms.option(str(config.architecture)),
        n_layers=config.n_layers + config.n_decoder_layers,
        d_model=config.d_model,
        heads=terms.attention_kind(config),
        weights=_("trained weights") if run.weights else _("random weights"),
        parameters=_parameter_counts(config),
    )


def _parameter_counts(config: ModelConfig) -> str:
    """Of the whole, and of each block where all of them are alike."""
    whole = parameter_count(config)
    if config.architecture not in (Architecture.ENCODER, Architecture.GPT):
        return whole
    text = _("{whole}, {n:,} in each block")
    return text.format(whole=whole, n=n_parameters(config.one_block()))


def how_many_differ(pair: Pair) -> str:
    """The settings that differ, counted; or that there is none."""
    found = tables.settings_frame(pair)
    if found.empty:
        return _(
            "A and B are the same: change something in the sidebar to see the difference here."
        )
    names = list(found.iloc[:, 0])
    more = "" if len(names) <= MOST_NAMED else " …"
    text = _("Settings that differ ({n}): {names}")
    said = text.format(n=len(names), names=enumeration(names[:MOST_NAMED]) + more)
    led = enumeration(moved_along(pair.a.config, pair.b.config))
    return (
        f"{said}  \n" + _("Not set, but changed along: {names}.").format(names=led) if led else said
    )


def dearer(pair: Pair, n: int, weight_format: str) -> str:
    """What B costs more or less than A, and which part makes the difference."""
    a, b = (measured.summary(run.config, n, weight_format) for run in pair.both)
    by_kind = measured.by_kind(pair.a.config, pair.b.config)
    said = [_parameters(a.parameters, b.parameters, by_kind), _reading(pair, n)]
    said.append(_cache(a.cache_bytes, b.cache_bytes, cache_format(weight_format)))
    return " ".join(filter(None, said))


def _parameters(a: int, b: int, by_kind: pd.DataFrame) -> str:
    if a == b:
        return _("Both have {n:,} parameters.").format(n=a)
    text = _(
        "B has {ratio} times the parameters of A ({change}), mostly in {part} ({part_change})."
    )
    part, change = _largest_change(by_kind, b - a)
    return text.format(
        ratio=readable(b / a),
        change=tables.signed(b - a, "{:,}".format),
        part=tables.kind(part),
        part_change=tables.signed(round(change), "{:,}".format),
    )


def _reading(pair: Pair, n: int) -> str:
    table = measured.by_operation(pair.a.config, pair.b.config, n)
    a, b = float(table["a"].sum()), float(table["b"].sum())
    if abs(b / a - 1) < SAME_WITHIN:
        text = _("Per token read (text of {n:,} tokens), both need about {flops}.")
        return text.format(n=n, flops=amounts.flops(b))
    part, change = _largest_change(table, b - a)
    text = _(
        "Per token read (text of {n:,} tokens), B needs {ratio} times the FLOPs of A, "
        "mostly in {part} ({change})."
    )
    return text.format(
        n=n,
        ratio=readable(b / a),
        part=cost_names.operation(part),
        change=tables.signed(change, amounts.flops),
    )


def _largest_change(table: pd.DataFrame, total: float) -> tuple[str, float]:
    """The row that does most towards the change of the total."""
    change = table["b"] - table["a"]
    i = (change if total > 0 else -change).idxmax()
    return table["name"][i], float(change[i])


def _cache(a: int, b: int, number_format: str) -> str:
    if not a or not b:
        return ""
    if a == b:
        text = _("Each token takes {n} of KV cache in both ({number_format}).")
        return text.format(n=amounts.in_bytes(a), number_format=number_format)
    text = _(
        "In the KV cache ({number_format}) each token takes {b} instead of {a}: {ratio} times as "
        "much."
    )
    return text.format(
        number_format=number_format,
        a=amounts.in_bytes(a),
        b=amounts.in_bytes(b),
        ratio=readable(b / a),
    )


def numbers_note(n: int, weight_format: str) -> str:
    """What the numbers are."""
    return _(
        "Exact counts, nothing is built: matrix products for texts of {n:,} tokens; 1 "
        "GB = 10⁹ bytes, in {weight_format}, whatever format A and B run in here. "
        "Memory for inference is an estimate. A dash: not applicable."
    ).format(n=n, weight_format=weight_format)


def time_sentence(pair: Pair, found: PairTimes) -> str:
    """Which is faster here, and whether the spread allows to say so."""
    (a_low, a_high), (b_low, b_high) = found.a.quartiles, found.b.quartiles
    text = _(
        "Measured here on {device}, {rounds} alternating rounds, medians (quartiles): A "
        "{a} ({a_low} to {a_high}), B {b} ({b_low} to {b_high})."
    )
    said = text.format(
        device=pair.b.device,
        rounds=len(found.a.seconds),
        a=duration(found.a.median),
        a_low=duration(a_low),
        a_high=duration(a_high),
        b=duration(found.b.median),
        b_low=duration(b_low),
        b_high=duration(b_high),
    )
    return f"{said} {_verdict(found)} {_against_flops(pair, found)}"


def _verdict(found: PairTimes) -> str:
    """Who is faster, where the rounds agree; and what to make of it where they do not."""
    ratios = [b / a for a, b in zip(found.a.seconds, found.b.seconds, strict=True)]
    low, high = min(ratios), max(ratios)
    if low > 1:
        text = _("B was slower in every round: median {ratio} times A.")
    elif high < 1:
        text = _("B was faster in every round: median {ratio} times A.")
    else:
        text = _(
            "Round by round B took a median of {ratio} times A ({low} to {high}): no clear winner."
        )
    said = text.format(ratio=readable(found.ratio), low=readable(low), high=readable(high))
    low, high = found.b.quartiles
    if high - low <= MOST_SPREAD * found.b.median:
        return said
    busy = _("Other work keeps this device busy: the fastest rounds are the most reliable.")
    return f"{said} {busy}"


def _against_flops(pair: Pair, found: PairTimes) -> str:
    """Whether FLOPs alone would have told."""
    n = pair.b.input.shape[1]
    table = measured.by_operation(pair.a.config, pair.b.config, n)
    expected = float(table["b"].sum() / table["a"].sum())
    text = _("FLOPs alone would give {expected} times.")
    return text.format(expected=readable(expected))


def time_note(pair: Pair) -> str:
    """What is timed."""
    n_a, n_b = (run.input.shape[1] for run in pair.both)
    tokens = str(n_b) if n_a == n_b else f"{n_a} / {n_b}"
    return _(
        "One forward pass over your text ({tokens} tokens), no gradient, nothing "
        "recorded; A and B alternate, each warmed up first."
    ).format(tokens=tokens)


def parameters_alt(pair: Pair) -> str:
    """Parameters by kind in words."""
    return _("Parameters by kind. {rows}").format(rows=in_rows(frames.parameters(pair)))


def operations_alt(pair: Pair, n: int) -> str:
    """FLOPs by operation in words."""
    return _("FLOPs by operation. {rows}").format(rows=in_rows(frames.operations(pair, n)))


def in_rows(table: pd.DataFrame) -> str:
    """Bars two by two in words."""
    return "; ".join(f"{row.label}: A {row.said_a}, B {row.said_b}" for row in table.itertuples())


def front_sentence(found: tuple[Candidate, ...], axes: Axes, n: int) -> str:
    """Which lie on the front, what beats B, and how many have no such number."""
    table = trade_offs.points(found, axes, n)
    if table.empty:
        return _("No configuration has both numbers.")
    front = table[table["on_front"]].sort_values("x")
    names = [literal(name) for name in front["name"]]
    more = "" if len(names) <= MOST_NAMED else " …"
    text = _("{n} of {all} lie on the front: {names}.")
    said = text.format(n=len(front), all=len(table), names=enumeration(names[:MOST_NAMED]) + more)
    return " ".join(filter(None, (said, _of_b(table, axes), _left_out(found, table))))


def _of_b(table: pd.DataFrame, axes: Axes) -> str:
    own = table[table["kind"] == "b"]
    if own.empty or bool(own["on_front"].iloc[0]):
        return ""
    x, y = float(own["x"].iloc[0]), float(own["y"].iloc[0])
    as_good_x = table["x"] >= x if axes.x_more else table["x"] <= x
    as_good_y = table["y"] >= y if axes.y_more else table["y"] <= y
    beats = table[as_good_x & as_good_y & table["on_front"] & (table["kind"] != "b")]
    text = _("B is dominated: {name} is no worse on either axis and better on one.")
    return text.format(name=literal(beats["name"].iloc[0]))


def _left_out(found: tuple[Candidate, ...], table: pd.DataFrame) -> str:
    n = len(found) - len(table)
    if not n:
        return ""
    text = _("{n} are not drawn: the number does not apply to them (an encoder has no cache).")
    return text.format(n=n)


def front_alt(found: tuple[Candidate, ...], axes: Axes, n: int) -> str:
    """The dots in words."""
    text = _("{x} and {y}, one dot per configuration. {sentence}")
    return text.format(
        x=trade_offs.title(axes.x, n, axes.weight_format),
        y=trade_offs.title(axes.y, n, axes.weight_format),
        sentence=front_sentence(found, axes, n),
    )


def caption(pair: Pair) -> str:
    """What was compared, for the page that is taken along."""
    return " | ".join(
        f"{name}: {_model(run)}" for name, run in zip(sides.names(pair), pair.both, strict=True)
    )


def how_to_begin() -> str:
    """What to do where nothing is kept."""
    return _(
        "Nothing is kept yet. Set a model in the sidebar, press “Compare” at the top "
        "and “Keep as A”, then change something: the new setting is B. On every page "
        "with pictures A stands beside B; the differences are listed here."
    )


def front_note() -> str:
    """How to read the dots."""
    return _(
        "Filled: on the Pareto front, where no other is as good on both axes and better "
        "on one. Hollow: dominated. Both axes are logarithmic. Names are shown where "
        "there is room, under the cursor always. Click a dot to set it as B."
    )


def list_note(n: int) -> str:
    """How many are kept, and where."""
    text = _("{n} of {most} kept, all in the link of this page.")
    return text.format(n=n, most=MOST_KEPT)
