"""Time: what a layer takes at best on this device, and what it takes."""

from collections.abc import Sequence

import streamlit as st

from blocks.cost import device_peak, operation_time, roofline
from blocks.cost.device_peak import DevicePeak
from blocks.cost.pass_time import PassTime
from blocks.observe.run import Run
from pages.figures import device_rates, time_sums
from pages.figures import roofline as pictures
from pages.ui.chart import show
from pages.ui.cost import device_speed, measured, measured_controls, measured_tables
from pages.ui.cost import measured_words as words
from pages.ui.cost.device_speed import Place, Speed
from pages.ui.cost.measured import Case
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.steps import in_steps

CODE = (
    roofline.estimate_seconds,
    operation_time.prepare,
    device_peak.measure_matmul,
    device_peak.measure_bandwidth,
)


@section
def how_fast_here(run: Run) -> None:
    """The device first, then each operation of a layer, then the layer, then the model."""
    with explained(("roofline",), CODE, key="roofline"):
        measured_controls.phase_control(run)
    case = measured_controls.case(run)
    is_asked = measured_controls.measure_button(
        "measure_device", _("Measure this device"), again=_("Measure again")
    )
    if not is_asked:
        text = _(
            "FLOPs and bytes are exact; to know how long they take, this device is measured first."
        )
        note(text)
        measured_tables.show(measured_tables.counted(case))
        return
    if speed := measured_device(case.place):
        measured_operations(run, case, speed.peak)
    else:
        measured_tables.show(measured_tables.counted(case))


def measured_device(place: Place) -> Speed | None:
    """What the roof is made of; None where the reader stopped."""
    steps = device_speed.steps(place)
    done = in_steps(steps, what=place, key="device_steps", is_asked=True)
    if done.is_stopped:
        device_so_far(place, done.found)
        return None
    speed = device_speed.speed(place)
    st.info(words.device_sentence(place, speed), icon=":material/speed:")
    show(draw_device, place, speed, key="device_rates", alt=words.device_alt)
    note(words.device_note(speed))
    return speed


def device_so_far(place: Place, found: Sequence[object]) -> None:
    """What was measured before the reader stopped, and why no operation is estimated."""
    st.info(words.no_roof_sentence(), icon=":material/speed:")
    speed = device_speed.so_far(found)
    if speed.products:
        show(draw_device, place, speed, key="device_rates", alt=words.so_far_alt)


def measured_operations(run: Run, case: Case, peak: DevicePeak) -> None:
    """Hollow and filled dots, as far as they are measured."""
    rows = measured.counted(case.config, case.tokens, case.itemsize)
    left_out = measured.left_out(case, peak)
    wanted = tuple(name for name in rows["operation"] if name not in left_out)
    done = in_steps(
        measured.steps(case, wanted), what=(case, wanted), key="operation_steps", is_asked=True
    )
    names = wanted[: len(done.found)]
    st.info(words.bound_sentence(case, peak), icon=":material/lightbulb:")
    if said := words.too_large(case, peak):
        st.warning(said, icon=":material/block:")
    left, right = st.columns([6, 5])
    with left:
        show(draw_roofline, case, peak, names, key="roofline_dots", alt=words.roofline_alt)
    with right:
        show(draw_durations, case, peak, names, key="operation_times", alt=words.durations_alt)
    if said := words.measured_sentence(case, peak, names):
        st.info(said, icon=":material/query_stats:")
    measured_tables.show(measured_tables.timed(case, peak, names))
    note(words.measured_note(case))
    table = measured.table(case, peak, names)
    download("roofline.csv", lambda: table.to_csv(index=False), "text/csv")
    if names == tuple(rows["operation"]):
        the_whole_beside(run, case, peak, names)


def the_whole_beside(run: Run, case: Case, peak: DevicePeak, names: tuple[str, ...]) -> None:
    """One layer at once, and the model, where they fit."""
    if not measured.layer_fits(case, peak):
        return
    has_model = measured.model_fits(case, peak)
    steps = [lambda: measured.layer_time(case)]
    steps += [lambda: measured.model_time(case, run.untouched)][:has_model]
    found = in_steps(steps, what=(case, has_model), key="layer_steps", is_asked=True).found
    if not found:
        return
    st.info(words.sums_sentence(case, peak, names, found[0]), icon=":material/functions:")
    show(draw_sums, case, peak, names, found[0], key="layer_sums", alt=words.sums_alt)
    for whole in found[1:]:
        st.info(words.model_sentence(case, peak, names, whole), icon=":material/layers:")


def draw_device(place: Place, speed: Speed):
    """Products and traffic against their size."""
    return device_rates.rates(
        device_speed.products_table(speed),
        device_speed.moved_table(speed),
        words.traffics(),
        device_speed.best(speed),
        title=_("Speed measured on this device"),
        _=_,
    )


def draw_roofline(case: Case, peak: DevicePeak, names: tuple[str, ...]):
    """The roof and the dots below it."""
    table = measured_tables.dots(case, peak, names)
    roof = pictures.Roof(peak.flops_per_s, peak.bytes_per_s)
    title = _("Roofline: speed reached against speed possible")
    return pictures.roofline(table, roof, words.groups(table), title=title, _=_)


def draw_durations(case: Case, peak: DevicePeak, names: tuple[str, ...]):
    """A row an operation."""
    table = measured_tables.dots(case, peak, names)
    title = _("Time of each operation, run once")
    return pictures.durations(table, words.groups(table), title=title, _=_)


def draw_sums(case: Case, peak: DevicePeak, names: tuple[str, ...], layer: PassTime):
    """Three bars."""
    rows = {
        "estimated_s": _("at best"),
        "measured_s": _("operations, one by one"),
        "layer": _("the layer, whole"),
    }
    parts = measured.sums(case, peak, names)
    return time_sums.sums(
        parts.assign(row=parts["column"].map(rows)),
        words.groups(parts),
        tuple(rows.values()),
        measured.milliseconds(layer),
        title=_("One layer, estimated and measured"),
        _=_,
    )
