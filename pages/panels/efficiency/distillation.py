"""What a teacher adds: a small student that learns from it, and the same student alone."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from blocks import ConfigError
from blocks.efficiency.distillation import (
    COUNTED,
    N_UPDATES,
    SEEDS,
    Size,
    Student,
    Students,
    StudentSize,
    Way,
    longer,
    student_spec,
    teacher_faults,
)
from blocks.efficiency.distillation_facts import SURE, Curve, DistillationFacts, distillation_facts
from blocks.efficiency.recorded_students import SIZE, USUAL, recorded_students
from blocks.efficiency.teaching_time import TeachingTime
from blocks.model.faults import N_, Fault
from blocks.observe.run import Run
from blocks.training import distillation
from blocks.training.memory import training_memory_fault
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Distillation, Teaching, teaching_faults
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, band, line
from pages.page.frame import section
from pages.panels.efficiency import keeping, shared
from pages.panels.efficiency.teaching import TEACHING_FIELDS, chosen, chosen_teacher, teacher_of
from pages.server import starts
from pages.server.settings import memory_budget
from pages.show import words
from pages.show.chart import show
from pages.show.controls import switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.fold import details
from pages.show.said import say
from pages.show.steps import in_series
from pages.show.tables import show_whole
from pages.show.ways import refused, way
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, fill, say_fault, sentences
from pages.words.numbers import percent

CODE = (
    distillation.distillation_loss,
    distillation.hidden_loss,
    distillation.attention_loss,
    distillation.relation,
)
ROOM = 435  # pixels of the picture before a class, below five lines
N_LIVE = 2  # seeds that are trained while somebody waits
WAY_NAMES = {
    Way.TAUGHT: N_("with the teacher"),
    Way.ALONE: N_("alone, same tokens"),
    Way.ALONE_LONGER: N_("alone, same FLOPs"),
    Way.ALONE_AS_LONG: N_("alone, for the same time"),
}
LOOKS: dict[Way, tuple[str, dict[str, Any]]] = {
    Way.TAUGHT: (palette.ATTENTION, {}),
    Way.ALONE: (palette.FEED_FORWARD, {"width": 2}),
    Way.ALONE_LONGER: (palette.BEFORE, {"width": 2, "dash": "dot"}),
    Way.ALONE_AS_LONG: (palette.NORM, {"width": 2, "dash": "dash"}),
}


@lru_cache(maxsize=32)
def facts_of(
    weights: str, teacher: str, size: Size, how: Distillation, found: tuple[Student, ...]
) -> DistillationFacts:
    """What the trained students show; `weights` are those of a model of their kind."""
    model, taught_by = starts.calibrated(weights), starts.calibrated(teacher)
    return distillation_facts(model, taught_by, size, how, found)


def says_distillation(facts: DistillationFacts) -> str:
    """Whether the teacher helps, for as many tokens, as many FLOPs, and as much time."""
    text = _(
        "After {n} updates, the student ({share} of the teacher's parameters) has a held-out "
        "loss of {taught:.3f} nats when trained with the teacher and {alone:.3f} when trained"
        " alone; with the teacher, the loss is lower for {better} of {seeds} seeds. Trained "
        "alone with the same FLOPs ({longer} updates), it reaches {more:.3f}, and the loss "
        "with the teacher is lower for {better_longer} of the seeds."
    )
    said = text.format(
        n=facts.n_updates(Way.TAUGHT),
        share=percent(facts.share_of_teacher),
        taught=facts.loss(Way.TAUGHT),
        alone=facts.loss(Way.ALONE),
        better=facts.n_better(Way.ALONE),
        seeds=len(facts.seeds),
        longer=facts.n_updates(Way.ALONE_LONGER),
        more=facts.loss(Way.ALONE_LONGER),
        better_longer=facts.n_better(Way.ALONE_LONGER),
    )
    teacher = _("The teacher's own loss is {loss:.3f}.").format(loss=facts.teacher_loss)
    return sentences(said, _says_time(facts), teacher, _verdict(facts), _says_scores(facts))


def _says_time(facts: DistillationFacts) -> str:
    """The same for as many seconds, where they were measured."""
    if not facts.is_timed:
        return ""
    text = _(
        "Trained alone for the same time ({as_long} updates, since each update with the teacher "
        "takes {time_ratio:.2f} times as long), the student reaches a loss of {loss:.3f}; the loss "
        "with the teacher is lower for {better} of the seeds."
    )
    way = Way.ALONE_AS_LONG
    return fill(
        text, facts, as_long=facts.n_updates(way), loss=facts.loss(way), better=facts.n_better(way)
    )


def _says_scores(facts: DistillationFacts) -> str:
    """The loss is not the score: what of the task itself is right at the end."""
    if not facts.is_share:
        return ""
    taught, alone = (percent(facts.score(way)) for way in (Way.TAUGHT, Way.ALONE))
    text = _(
        "The score ({score}) is {taught} with the teacher, {alone} without it and "
        "{of_teacher} for the teacher itself."
    )
    own = percent(facts.teacher_score)
    name = _(facts.score_name)
    return text.format(score=name, taught=taught, alone=alone, of_teacher=own)


def _verdict(facts: DistillationFacts) -> str:
    if all(facts.helps(way) for way in facts.ways if way is not Way.TAUGHT):
        return _("The teacher is worth more than it costs.")
    if facts.helps(Way.ALONE):
        return _(
            "The teacher helps, but spending the same compute on more updates helps about as much."
        )
    return _(
        "The teacher does not help here: to count as help, it must lower the loss for at "
        "least {share} of the seeds."
    ).format(share=percent(SURE))


def says_how(facts: DistillationFacts, *, is_recorded: bool) -> str:
    """What was trained, and where the numbers are from."""
    how = facts.how
    said = _(
        "The task, recipe and batches are the teacher's, but the students get fewer updates; "
        "{share} of the loss on answers comes from the teacher, at temperature "
        "{temperature:g}. Bands show the range over the seeds. All losses are measured on the"
        " same held-out data."
    ).format(share=percent(how.teacher_share), temperature=how.temperature)
    if how.hidden_weight or how.attention_weight:
        inside = _(
            "The loss also includes terms for hidden states (weight {hidden:g}) and attention"
            " (weight {attention:g})."
        )
        weights = {"hidden": how.hidden_weight, "attention": how.attention_weight}
        said = sentences(said, inside.format(**weights))
    return sentences(words.trained(is_recorded=is_recorded), said, _says_where(facts))


def _says_where(facts: DistillationFacts) -> str:
    """On which processor the time is equal; without it FLOPs stand for time."""
    if facts.is_timed:
        return _("Time measured on {processor}.").format(processor=facts.processor)
    return _(
        "Equal FLOPs are used here instead of equal time, since time differs between machines."
    )


def student_table(facts: DistillationFacts) -> pd.DataFrame:
    """One row a training."""
    return pd.DataFrame(
        {
            "way": [str(each.way) for each in facts.students],
            "seed": [each.seed for each in facts.students],
            "updates": [each.updates[-1] for each in facts.students],
            "held_out_loss": [each.losses[-1] for each in facts.students],
            "score": [each.score for each in facts.students],
        }
    )


@section
def what_a_teacher_adds(run: Run, state: State) -> None:
    """The student and how it is taught; what was recorded, or trained when the reader asks."""
    place = explained(("distillation",), CODE, key="distillation")
    why = _("Students are trained on the data that their teacher was trained on.")
    if shared.needs_training(run, why, "taught"):
        return
    picture = st.container()  # above what is set, which would push it off a phone's screen
    weights = starts.original(run.weights)
    with present.aside():
        size, how = chosen(weights, state)
        teaching = Teaching(teacher=chosen_teacher(weights, state), how=how)
    model = starts.calibrated(weights)
    if faults := [*teacher_faults(model, teaching.teacher)]:
        refused(faults[0], "mend_teacher")
        way(_("Use the current model as teacher"), "shown_teaches", teacher="")
        return
    n_updates = int(state.student_updates)
    try:
        spec = student_spec(model, size, n_updates=n_updates, teaching=teaching)
    except ConfigError as error:
        _cannot_be(error.faults[0])
        return
    if too_large := training_memory_fault(spec, memory_budget(spec.device)):
        _cannot_be(too_large)
        return
    if faults := [*teaching_faults(spec.config, spec.task.seq_len, teaching)]:
        refused(faults[0], "mend_teaching")
        return
    _compared(weights, size, teaching, place, picture, state)
    with present.aside():
        switch("train_students", _("Train the students here"))
        with keeping.row(_("**Keep a student**")):
            keeping.n_updates("student_updates", state)
            keeping.start_button(_("Train a student with the teacher"), spec, key="student")
        keeping.watched_one(spec, state, key="student")


def _cannot_be(fault: Fault) -> None:
    """Why a student of this shape is not trained, and the way to one that is."""
    st.error(say_fault(fault), icon=":material/block:")
    way(_("Halve layers and width"), "half_student", student_size=str(StudentSize.HALF_BOTH))


def _compared(
    weights: str,
    size: Size,
    teaching: Teaching,
    place: DeltaGenerator,
    picture: DeltaGenerator,
    state: State,
) -> None:
    """The sentence, in its place, the curves and the numbers of all students."""
    how, is_recorded = teaching.how, not state.train_students
    teacher = teaching.teacher.name
    if is_recorded:
        found = recorded_students(weights, size, how) if teacher == weights else ()
    else:
        found = _trained(weights, size, teaching)
    if not {*COUNTED} <= {each.way for each in found}:
        if is_recorded:
            text = _("These students were not trained beforehand: train them here.")
            time = shared.expected_time(*_alone(weights, size, teaching))
            place.info(sentences(text, time), icon=":material/lightbulb:")
            if recorded_students(weights, SIZE, USUAL):
                shared.way_to_recorded("usual_students", *TEACHING_FIELDS)
            else:
                shared.recorded_models("students_of", _has_students)
        return
    at = weights, teacher, size, how, found
    with place:
        say(says_distillation, *at, facts=facts_of)
    with picture:
        show(losses, *at, facts=facts_of, key="students", room=ROOM)
    note(says_how(facts_of(*at), is_recorded=is_recorded))
    _in_numbers(facts_of(*at))


def _has_students(name: str) -> bool:
    return bool(recorded_students(name, SIZE, USUAL))


def _alone(weights: str, size: Size, teaching: Teaching) -> tuple[TrainingSpec, int]:
    """A student alone, and how many of its updates take as long as all that are trained here."""
    model = starts.calibrated(weights)
    n = longer(model, size, teaching, N_UPDATES)
    return student_spec(model, size, n_updates=N_UPDATES), N_LIVE * (N_UPDATES + 3 * n)


def _trained(weights: str, size: Size, teaching: Teaching) -> tuple[Student, ...]:
    """First how long an update takes with the teacher, then all, as far as they have come."""
    teacher, asked_by = teaching.teacher, "train_students"
    series = Students(
        teacher=teacher,
        pattern=None if teacher.name == weights else teacher_of(weights),
        size=size,
        how=teaching.how,
        seeds=SEEDS[:N_LIVE],
        budget=memory_budget("cpu"),
    )
    n, timing = len(Way) * N_LIVE, TeachingTime(series)
    times = in_series(timing, key="teaching_time", asked_by=asked_by, n_after=n).found
    if not times:
        return ()
    timed = replace(series, time=times[0])
    return tuple(in_series(timed, key="students_steps", asked_by=asked_by).found)


def names() -> dict[Way, str]:
    return {way: _(name) for way, name in WAY_NAMES.items()}


def losses(facts: DistillationFacts) -> Chart:
    """A line a way, the mean of the seeds, within the band of all; the teacher is the level."""
    curves = [facts.curve(way) for way in reversed(facts.ways)]  # the taught student lies on top
    looks = {way: Look(_(WAY_NAMES[way]), color, **more) for way, (color, more) in LOOKS.items()}
    rows = {
        c.way: pd.DataFrame({"step": c.updates, "mean": c.mean, "low": c.least, "high": c.most})
        for c in curves
    }
    highest = max(_once_learning(curve) for curve in curves)
    lowest = min(facts.teacher_loss, *(min(curve.least) for curve in curves))
    return Chart(
        _("Held-out loss of the student"),
        (),
        Axis(_("updates"), of="step", from_0=True),
        Axis(_("held-out loss, nats (logarithmic)"), (lowest, highest), is_log=True),
        [
            *(band("low", "high", LOOKS[way][0], rows=each) for way, each in rows.items()),
            *(line("mean", looks[way], rows=each) for way, each in rows.items()),
        ],
        hover=_("step {n}: {loss} nats").format(n="{x}", loss="{y:.2f}"),
        tall=290,
        legend=Legend.FOOT,
        levels=[Level(facts.teacher_loss, name=_("teacher"))],
    )


def _once_learning(curve: Curve) -> float:
    """Its largest loss after a quarter of the updates: what comes before would hide the rest."""
    start = curve.updates[-1] / 4
    seen = zip(curve.updates, curve.most, strict=True)
    return max(most for n, most in seen if n >= start)


def _in_numbers(facts: DistillationFacts) -> None:
    with details(_("In numbers")):
        ways = {way: name for way, name in names().items() if way in facts.ways}
        table = pd.DataFrame(
            {
                _("student"): list(ways.values()),
                _("updates"): [facts.n_updates(way) for way in ways],
                _("held-out loss"): [f"{facts.loss(way):.3f}" for way in ways],
                _("score"): [f"{facts.score(way):.3f}" for way in ways],
            }
        )
        show_whole(table)
        rows = student_table(facts)
        download("students.csv", lambda: rows.to_csv(index=False), "text/csv")
