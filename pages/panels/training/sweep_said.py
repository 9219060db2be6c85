"""What a sweep says and draws: the best setting, its seeds, and the curves."""

from math import isfinite
from typing import Any

import pandas as pd

from blocks.sweep.facts import SweepFacts, Tried
from blocks.sweep.sweep import Sweep
from blocks.sweep.sweeps import View
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, Series, band, dots, line
from pages.figures.theme import Translate
from pages.figures.units import duration, flops, long_duration
from pages.words.language import _, enumeration, ngettext, sentences

COLORS = (
    *(palette.ATTENTION, palette.FEED_FORWARD, palette.NORM, palette.EMBEDDING, palette.PINNED),
    *(palette.CROSS_ATTENTION, palette.MTP, palette.RESIDUAL),
)

CODE = """\
from pathlib import Path
from blocks.sweep import LocalEngine, Store, Sweep, trained
from blocks.sweep.file import read_sweep

base = read_sweep(Path("{file}").read_text("utf-8")).base
sweep = Sweep(base=base, fields=(("learning_rate", (0.001, 0.01)),), seeds=(0, 1, 2))
store = Store(Path("runs/mine"))
engine = LocalEngine(store.unfinished, store.folder, n_at_once=2)
for point, event in trained(sweep, engine, store):
    print(point.setting, point.spec.seed, event)
"""


def says_best(facts: SweepFacts) -> str:
    """The best setting, by how much, and whether the seeds agree."""
    best, other, *_more = facts.whole
    text = _(
        "Best: **{name}**, with a held-out loss of {loss:.3f} nats on average over {n} seeds "
        "({least:.3f} to {most:.3f}). The second best, {other}, has {next:.3f}."
    )
    said = text.format(
        name=setting_name(best),
        loss=best.mean,
        n=len(best.losses),
        least=best.least,
        most=best.most,
        other=setting_name(other),
        next=other.mean,
    )
    return sentences(said, _says_seeds(facts), _says_end(facts))


def _says_seeds(facts: SweepFacts) -> str:
    if facts.n_seeds == 1:
        return _("One seed cannot say whether this is more than chance: use three or more.")
    if facts.is_clear:
        return _(
            "Every seed of the best setting has a lower loss than every seed of the second best."
        )
    return _("The losses of their seeds overlap, so these runs do not tell the two apart.")


def _says_end(facts: SweepFacts) -> str:
    if not facts.is_at_end:
        return ""
    text = _("The best {field} is at the end of the values tried: a better one may lie beyond.")
    return text.format(field=facts.fields[0])


def says_planned(sweep: Sweep) -> str:
    """What is tried, before anything is trained."""
    text = _(
        "Values tried: {values}. Seeds: {n_seeds}. A picture appears as soon as the first runs "
        "have ended."
    )
    values = (f"`{name}` = {' · '.join(map(str, each))}" for name, each in sweep.fields)
    return text.format(values=enumeration(values), n_seeds=len(sweep.seeds))


def says_cost(facts: SweepFacts, price: float) -> str:
    """Hours of a device of what is finished, and money at the price that was typed, if any."""
    text = _(
        "The finished runs took {hours:.3g} device-hours, {each:.3g} each (on one core or "
        "GPU, counting only updates and evaluations)."
    )
    said = text.format(hours=facts.device_hours, each=facts.of_each(facts.device_hours))
    if not price:
        return said
    money = _("At {price:g} per device-hour that is {money:.4g}, or {each:.3g} each.")
    cost = facts.cost(price)
    return sentences(said, money.format(price=price, money=cost, each=facts.of_each(cost)))


def setting_name(tried: Tried) -> str:
    """The values that set it apart."""
    return enumeration(f"{name} {_short(value)}" for name, value in tried.setting)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_it_is(shown: Any) -> Any:
    """What a chart is of."""
    return shown


def in_code(file: str) -> str:
    """The sweep in a few lines of Python."""
    return CODE.format(file=file)


def losses_chart(facts: SweepFacts, *, _: Translate) -> Chart:
    """Held-out loss over the first field, a line for each value of the second."""
    whole, first = facts.whole, facts.fields[0]
    found = [each for each in facts.tried if each in whole or not whole]
    values = [*dict.fromkeys(dict(each.setting)[first] for each in found)]
    lines: dict[str, list[dict[str, Any]]] = {}
    for each in found:
        setting = dict(each.setting)
        if not each.losses or not isfinite(each.mean):
            continue
        row = {
            "row": values.index(setting[first]),
            "mean": each.mean,
            "least": each.least,
            "most": each.most,
            "n": len(each.losses),
            "name": setting_name(each),
            "losses": each.losses,
        }
        lines.setdefault(_of_second(facts, setting), []).append(row)
    return Chart(
        _("Held-out loss by {field}").format(field=first),
        pd.DataFrame({"row": range(len(values))}),
        Axis(first, names=[*map(_short, values)]),
        Axis(_("held-out loss, nats")),
        [*_lines(lines, _("each seed"))],
        hover="{name}<br>{mean:.4f} ({least:.4f} – {most:.4f}, n = {n})",
        tall=300,
    )


def _of_second(facts: SweepFacts, setting: dict[str, Any]) -> str:
    return f"{facts.fields[1]} {_short(setting[facts.fields[1]])}" if facts.fields[1:] else ""


def _lines(lines: dict[str, list[dict[str, Any]]], seeds: str) -> list[Series]:
    series: list[Series] = []
    for i, (name, rows) in enumerate(lines.items()):
        color = COLORS[i % len(COLORS)]
        table = pd.DataFrame(rows).sort_values("row")
        look = Look(name, color, "circle")
        series.append(band("least", "most", color, rows=table))
        series.append(line("mean", look, rows=table, in_legend=bool(name)))
        each = Look(seeds, color, "circle-open", size=7)
        of_seeds = table.explode("losses").astype({"losses": float})
        hover = "{name}<br>{losses:.4f}"
        series.append(
            dots("losses", each, rows=of_seeds, hover=hover, in_legend=i == len(lines) - 1)
        )
    return series


def curves_chart(shown: tuple[Tried, tuple[float, float]], *, _: Translate) -> Chart:
    """Held-out loss after each look, a line a seed; with the ends of the axis of all charts."""
    tried, ends = shown
    tables = [pd.DataFrame(curve, columns=["step", "loss"]) for curve in tried.curves]
    return Chart(
        setting_name(tried),
        tables[0],
        Axis(_("updates"), of="step"),
        Axis(_("held-out loss, nats"), ends),
        [line("loss", Look(color=palette.HELD_OUT, width=1.5), rows=each) for each in tables],
        hover="{step}: {loss:.3f}",
        tall=170,
    )


def settings_table(facts: SweepFacts) -> pd.DataFrame:
    """A row a setting, the best of those that are whole first."""
    whole = facts.whole
    rows = [
        {
            **{name: _short(value) for name, value in each.setting},
            _("held-out loss"): f"{each.mean:.4f}" if each.losses else "",
            _("range over the seeds"): f"{each.least:.4f} – {each.most:.4f}" if each.losses else "",
            _("seeds finished"): len(each.losses),
            _("parameters"): f"{each.n_parameters:,}" if each.losses else "",
            _("compute"): flops(each.flops) if each.losses else "",
            _("time"): duration(each.seconds) if each.losses else "",
        }
        for each in (*whole, *(each for each in facts.tried if each not in whole))
    ]
    return pd.DataFrame(rows)


def says_state(view: View) -> str:
    """How many trainings are finished, which go on, and how long the others take."""
    text = _("{n} of {all} runs finished")
    said = [text.format(n=len(view.found), all=view.n_planned)]
    if view.is_running and view.live:
        said.append(
            ngettext("{n} is being trained", "{n} are being trained", len(view.live)).format(
                n=len(view.live)
            )
        )
    elif view.is_running and len(view.found) < view.n_planned:
        said.append(_says_waiting(view))
    if view.is_running and view.seconds_left is not None:
        said.append(_("about {time} left").format(time=roughly(view.seconds_left)))
    return " · ".join(said)


def _says_waiting(view: View) -> str:
    """For what it waits while nothing is trained."""
    if not view.waiting:
        return _("waiting for its turn")
    if n := min(view.waiting.values()):
        text = ngettext("waiting for {n} run ahead of it", "waiting for {n} runs ahead of it", n)
        return text.format(n=n)
    return _("starting the training processes")


def roughly(seconds: float) -> str:
    """No more digits than are known beforehand: 8 s, 40 s, 2 min, 5 hours."""
    return long_duration(max(1.0, float(f"{seconds:.{1 if seconds < 60 else 2}g}")), _=_)
