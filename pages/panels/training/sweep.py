"""Which setting is best: any field of a training, some values of it, and several seeds."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep.estimate import estimate_seconds
from blocks.sweep.facts import SweepFacts, sweep_facts
from blocks.sweep.file import write_sweep
from blocks.sweep.ray_engine import nodes
from blocks.sweep.sweep import Search, Sweep
from blocks.sweep.sweeps import View
from blocks.sweep.table import points_table
from blocks.training.command import as_value
from blocks.training.limits import limit_faults
from pages.page.frame import live_section
from pages.panels.training import sweeps
from pages.panels.training.shared import expected_pace
from pages.panels.training.sweep_said import (
    as_it_is,
    curves_chart,
    in_code,
    losses_chart,
    roughly,
    says_best,
    says_cost,
    says_planned,
    says_state,
    settings_table,
)
from pages.panels.training.wanted import wanted
from pages.server import runs, settings
from pages.show.chart import columns, show
from pages.show.choices import chooses
from pages.show.controls import choose, enter, pick, slider
from pages.show.explain import explained, note
from pages.show.export import download, file_on_disk
from pages.show.fold import details
from pages.show.tables import show_table
from pages.show.typed import typed
from pages.stage import link, present
from pages.state.link_fields.sweep import FIELDS, MOST_SEEDS, MOST_TYPED, NO_FIELD, SWEPT
from pages.state.values import State
from pages.words.language import _, ngettext, say_fault, sentences

EVERY = 2.0  # seconds
MOST_SMALL = 12
LONG = 3600.0  # seconds from which on it is said aloud


def which_setting_is_best(state: State) -> None:
    """What varies, the table of what is known, its pictures, and the files."""
    with explained(("sweeps", "loss_curve"), (in_code(file_on_disk("sweep.toml")),), key="sweep"):
        text = _(
            "Every setting is trained once with every seed, and each run is a dot; everything"
            " else is as set above and in the sidebar. Look for a gap between two settings "
            "that is wider than the spread between seeds."
        )
        note(text)
    try:
        sweep = _wanted_sweep(state)
        sweeps.sweeps().check(sweep)
    except ConfigError as error:
        for fault in error.faults:
            st.info(say_fault(fault), icon=":material/block:")
        return
    is_running = sweeps.sweeps().view(sweep).is_running
    live_section(_so_far, sweep, is_running, state.sweep_price, every=EVERY if is_running else None)


@chooses(*FIELDS)
def what_varies(_run: object, state: State) -> None:
    """The fields, their values, and the seeds."""
    left, right = st.columns(2)
    with left:
        pick("sweep_field", _("Field"), SWEPT, label_of=str)
        _values_input("sweep_values", _("Values, separated by commas"), state)
    with right:
        pick("sweep_by", _("Second field"), (NO_FIELD, *SWEPT), label_of=_field_name)
        if state.sweep_by != NO_FIELD:
            _values_input("sweep_by_values", _("Values of the second field"), state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slider("sweep_seeds", _("Seeds"), least=1, most=MOST_SEEDS)
        choose("sweep_search", _("Search"), SEARCHES, label_of=_search_name)
        if state.sweep_search == Search.RANDOM:
            enter("sweep_drawn", _("Combinations drawn"))
    if settings.ray_address():
        typed("sweep_price", _("Price of one device-hour, in any currency"))


SEARCHES = {
    str(Search.GRID): N_("every combination"),
    str(Search.RANDOM): N_("some at random"),
    str(Search.HALVING): N_("successive halving"),
}


def _search_name(name: str) -> str:
    return _(SEARCHES[name])


def _field_name(name: str) -> str:
    return _("none") if name == NO_FIELD else name


def _values_input(name: str, label: str, state: State) -> None:
    st.text_input(label, max_chars=MOST_TYPED, **link.view(name, state[name]))


def _wanted_sweep(state: State) -> Sweep:
    """As it is set. Raises `ConfigError` where it cannot be, or is beyond the limits here."""
    asked = wanted(state)
    if asked.spec is None or asked.faults:
        raise ConfigError(asked.faults)
    names = [("sweep_field", "sweep_values"), ("sweep_by", "sweep_by_values")]
    fields = tuple(
        (state[name], _values(state[values])) for name, values in names if state[name] != NO_FIELD
    )
    if len({name for name, _each in fields}) < len(fields):
        raise ConfigError([Fault(N_("Both fields are the same: choose another second field"))])
    seeds = tuple(range(state.sweep_seeds))
    sweep = Sweep(
        base=asked.spec,
        fields=fields,
        seeds=seeds,
        search=Search(state.sweep_search),
        n_settings=state.sweep_drawn,
    )
    check_limits(sweep)
    return sweep


def check_limits(sweep: Sweep) -> None:
    """Raise `ConfigError` where one of its trainings is beyond the limits here."""
    limits = runs.runs().limits_on(sweep.base.device)
    for spec in sweep.specs.values():
        if faults := [*limit_faults(spec, limits)]:
            raise ConfigError(faults)


def _values(text: str) -> tuple[Any, ...]:
    words = (word.strip() for word in text.split(","))
    return tuple(dict.fromkeys(as_value(word) for word in words if word))


def _so_far(sweep: Sweep, was_running: bool, price: float) -> None:
    """What is known of it now; once it has ended, the page is drawn once more."""
    view = sweeps.sweeps().view(sweep)
    facts = sweep_facts(view)
    state_row(view, "sweep")
    if settings.ray_address() and view.found:
        note(says_cost(facts, price))
    if facts.tried:
        if facts.can_be_ranked:
            st.info(says_best(facts), icon=":material/lightbulb:")
        if facts.has_losses:
            show(losses_chart, facts, facts=as_it_is, key="sweep_losses", room=room(view))
        _small_multiples(facts)
        show_table(settings_table(facts), key="sweep_table")
    elif present.is_on():
        st.markdown(says_planned(sweep))
    with details(_("Export this sweep")):
        files_row(view, "sweep")
    if was_running and not view.is_running:
        st.rerun(scope="app")


def room(view: View) -> int:
    """Pixels of the picture before a class; fewer where a button stands above it."""
    return 400 if len(view.found) >= view.n_planned else 330


def state_row(view: View, panel: str) -> None:
    """How far it is, how long it takes, and the way to start or stop it."""
    n_found, registry, faults = len(view.found), sweeps.sweeps(), [*view.faults]
    if view.is_running or n_found:
        st.progress(min(1.0, n_found / max(1, view.n_planned)), says_state(view))
    if view.is_running:
        _button(f"stop_{panel}", _("Stop"), ":material/stop:", registry.stop, view.sweep)
    elif n_found < view.n_planned:
        faults += _say_expected(view)
        label = _("Resume") if n_found else _("Start the sweep")
        _button(f"start_{panel}", label, ":material/play_arrow:", registry.start, view.sweep)
    for fault in dict.fromkeys(map(say_fault, faults)):
        st.warning(fault, icon=":material/error:")
    _cluster()


def _button(key: str, label: str, icon: str, do: Any, sweep: Sweep) -> None:
    def pressed() -> None:
        do(sweep)
        link.redraw_everything()

    st.button(label, icon=icon, key=key, type="primary", on_click=pressed)


def _say_expected(view: View) -> Sequence[Fault]:
    """Say what it would take, before it begins; why it cannot, where a cluster is not there."""
    left = [point for point in view.points if point.key not in view.found]
    try:
        n_at_once = sweeps.engine(view.sweep.base.device).n_at_once
    except ConfigError as error:
        return error.faults
    starting = sweeps.sweeps().starting
    seconds = estimate_seconds(left, n_at_once, expected_pace, starting=starting)
    n = view.n_planned - len(view.found)
    text = ngettext("{n} run, {at_once} at a time.", "{n} runs, {at_once} at a time.", n)
    said = [text.format(n=n, at_once=n_at_once)]
    if seconds is not None:
        said += _says_time(seconds * n / max(1, len(left)), is_start_known=bool(starting))
    note(sentences(*said))
    return ()


def _says_time(seconds: float, *, is_start_known: bool) -> Sequence[str]:
    """How long, by how quick a few updates were here; others here make it longer."""
    if settings.ray_address():
        text = _("The sweep takes about {time} on devices as fast as this machine.")
    else:
        text = _(
            "The sweep takes about {time} if nothing else runs on this machine, judging by "
            "the time that a few updates took."
        )
    start = "" if is_start_known else _("Before that, the training processes have to start.")
    warning = _("Fewer values, seeds or steps shorten the sweep.") if seconds > LONG else ""
    return text.format(time=roughly(seconds)), start, warning


def _cluster() -> None:
    """Where the operator has a cluster: its nodes."""
    if not (ray := sweeps.cluster()):
        return
    found = nodes(ray)
    text = _("Trained on a Ray cluster of {n} nodes with {cpus:.0f} cores and {gpus:.0f} GPUs.")
    note(
        text.format(
            n=len(found),
            cpus=sum(each["CPU"] for each in found),
            gpus=sum(each["GPU"] for each in found),
        )
    )


def _small_multiples(facts: SweepFacts) -> None:
    """The curves of each setting, all on one scale."""
    with details(_("The curves of each setting")):
        shown = facts.tried[-MOST_SMALL:]
        losses = [loss for each in shown for curve in each.curves for _s, loss in curve]
        ends = (min(losses), max(losses))
        for i, place in enumerate(_in_columns(len(shown))):
            with place:
                show(curves_chart, (shown[i], ends), facts=as_it_is, key=f"sweep_curves_{i}")


def _in_columns(n: int) -> Sequence[Any]:
    found: list[Any] = []
    while len(found) < n:
        found += columns(3)
    return found[:n]


def _says_command(name: str) -> str:
    """What trains the file, and whether it knows what is finished here."""
    text = _(
        "With this file, the same sweep can be run elsewhere: `python -m blocks sweep {file}`."
    )
    if settings.data_folder():
        shared = _(
            "On this server's machine, the command and the app share finished runs in the "
            "folder that `BLOCKSCOPE_DATA` names, so nothing is trained twice."
        )
    else:
        shared = _(
            "This server keeps finished runs until it stops, and the command keeps its own in"
            " `runs`. They share them if both are started with `BLOCKSCOPE_DATA` set to the "
            "same folder."
        )
    more = _("Values that belong together go into its `[[settings]]`, one table for each setting.")
    return sentences(text.format(file=file_on_disk(name)), more, shared)


def files_row(view: View, panel: str) -> None:
    """The sweep as a file, and what came of it as a table."""
    note(_says_command(f"{panel}.toml"))
    with st.container(horizontal=True):
        download(f"{panel}.toml", lambda: write_sweep(view.sweep), "application/toml")
        if view.found:
            table = points_table(view.points, view.found)
            download(f"{panel}.csv", lambda: table.to_csv(index=False), "text/csv")
