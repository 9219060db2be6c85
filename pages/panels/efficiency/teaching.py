"""Who teaches, and how: the model that is shown, and what the reader has set."""

import hashlib
from pathlib import Path
from uuid import uuid4

import streamlit as st

from blocks import ConfigError, ModelConfig
from blocks.cost.parameters import total_parameters
from blocks.efficiency.distillation import Shape, Size, StudentSize, student_config
from blocks.model.faults import N_
from blocks.model.legal import divisors
from blocks.training.teaching import AttentionTarget, Distillation, Teacher
from blocks.weights.model_file import ModelFile
from blocks.weights.pocket import pocket_names
from pages.page.sidebar import preset_label
from pages.server import brought, machine, runs, starts
from pages.show.controls import choose, pick, slide
from pages.show.explain import note
from pages.show.fold import fold
from pages.state.link_fields.efficiency import (
    INNER_WEIGHTS,
    OWN_SHAPE,
    STUDENT_SIZES,
    TEACHER_SHARES,
    TEMPERATURES,
)
from pages.state.values import State
from pages.words.language import _, say_fault

TEACHING_FIELDS = (
    "teacher",
    "student_size",
    "distil_temperature",
    "teacher_share",
    "hidden_weight",
    "attention_weight",
    "attention_target",
)
MOST_KEPT = 16  # files of teachers
SIZE_NAMES: dict[str, str] = {
    StudentSize.HALF_LAYERS: N_("half the layers"),
    StudentSize.HALF_WIDTH: N_("half the width"),
    StudentSize.HALF_BOTH: N_("half the layers and width"),
    OWN_SHAPE: N_("custom shape"),
}
LAYER_COUNTS, STUDENT_WIDTHS = (1, 2, 3, 4, 6, 8, 12), (8, 16, 32, 48, 64, 96, 128, 192, 256)
HIDDEN_WIDTHS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
TARGET_NAMES = {
    AttentionTarget.PATTERNS: N_("attention weights of every head"),
    AttentionTarget.RELATIONS: N_("self-attention relations, last layer"),
}


def teacher_of(weights: str) -> Teacher:
    """The model of this name; one that does not ship is laid where other processes find it."""
    file = starts.calibrated(weights).file
    if weights in pocket_names():
        return Teacher(name=weights, config=file.config)
    folder = machine.folder() / "teachers"
    folder.mkdir(exist_ok=True)
    place = folder / f"{hashlib.sha256(weights.encode()).hexdigest()[:16]}.safetensors"
    if place.exists():
        place.touch()
    else:
        _lay(file, place)
    return Teacher(name=weights, config=file.config, file=place)


def _lay(file: ModelFile, place: Path) -> None:
    """Written whole or not at all; the one that nobody used for longest makes room."""
    new = place.with_suffix(f".{uuid4().hex}")
    new.write_bytes(file.to_bytes(next(iter(file.tensors.values())).dtype))
    new.replace(place)
    by_age = sorted(place.parent.glob("*.safetensors"), key=lambda each: each.stat().st_mtime)
    for old in by_age[:-MOST_KEPT]:
        old.unlink(missing_ok=True)


def chosen_teacher(shown: str, state: State) -> Teacher:
    """The model that is shown, by its weights, or the one that the reader has chosen."""
    name = state.teacher
    its = starts.start(name).weights if name and starts.is_known(name) else ""
    return teacher_of(its if its and starts.has_task(its) else shown)


def _choose_teacher(shown: str, state: State) -> None:
    """All trained models with a task: those that ship, and what this reader trained or brought."""
    mine = (*map(runs.preset_of, runs.mine()), *brought.mine())
    others = (name for name in (*pocket_names(), *mine, state.teacher) if name)
    known = (name for name in dict.fromkeys(others) if starts.is_known(name))
    weights = {name: starts.start(name).weights for name in known}
    can_teach = [name for name, its in weights.items() if its != shown and starts.has_task(its)]
    labels = {"": _("the current model")} | {n: preset_label(n) for n in can_teach}
    pick("teacher", _("Teacher"), labels, label_of=labels.__getitem__)


def chosen(shown: str, state: State) -> tuple[Size, Distillation]:
    """Who teaches, the student, and what it learns from."""
    teacher, student, temperature, share = st.columns([4, 6, 4, 5])
    with teacher:
        _choose_teacher(shown, state)
    with student:
        sizes = {str(size): _(name) for size, name in SIZE_NAMES.items()}
        choose("student_size", _("Student"), STUDENT_SIZES, label_of=sizes.__getitem__)
    with temperature:
        choose("distil_temperature", _("Temperature"), TEMPERATURES, label_of=str)
    with share:
        choose("teacher_share", _("Teacher's share of the loss"), TEACHER_SHARES, label_of=str)
    size = _size(starts.calibrated(shown).file.config, state)
    with (inside := fold(_inside_label(state), key="inside_teacher")):
        if inside.open:
            _choose_inside()
    return size, _how(state)


def _size(teacher: ModelConfig, state: State) -> Size:
    """Half of the model, or the shape that the reader sets."""
    if state.student_size != OWN_SHAPE:
        return StudentSize(state.student_size)
    wanted = _wanted_shape(student_config(teacher, StudentSize.HALF_BOTH), state)
    try:
        config, faults = teacher.nearest(**wanted.changes(teacher))
    except ConfigError:
        return wanted  # no student can be made of it, which is said where one is to be
    layers, width, heads, units = st.columns(4)
    with layers:
        slide("student_layers", "n_layers", LAYER_COUNTS, config.n_layers)
    with width:
        slide("student_width", "d_model", STUDENT_WIDTHS, config.d_model)
    with heads:
        slide("student_heads", "n_heads", divisors(config.d_model), config.n_heads)
    with units:
        slide("student_units", "d_ff", HIDDEN_WIDTHS, config.d_ff)
    for fault in faults:
        st.warning(say_fault(fault), icon=":material/info:")
    text = _("The student has {n:,} parameters; the model shown has {of:,}.")
    note(text.format(n=total_parameters(config), of=total_parameters(teacher)))
    return wanted


def _wanted_shape(half: ModelConfig, state: State) -> Shape:
    """As the link says; where it is silent, half of the model."""
    return Shape(
        n_layers=state.student_layers or half.n_layers,
        d_model=state.student_width or half.d_model,
        n_heads=state.student_heads or half.n_heads,
        d_ff=state.student_units or half.d_ff,
    )


def _inside_label(state: State) -> str:
    """What it opens; what is set in it can be read while it is closed."""
    hidden, attention = state.hidden_weight, state.attention_weight
    if hidden == attention == "0":
        return _("Match the teacher's hidden states and attention")
    text = _("Match the teacher's hidden states ({hidden}) and attention ({attention})")
    return text.format(hidden=hidden, attention=attention)


def _choose_inside() -> None:
    left, middle, right = st.columns(3)
    with left:
        choose("hidden_weight", _("Hidden-state loss weight"), INNER_WEIGHTS, label_of=_or_none)
    with middle:
        choose("attention_weight", _("Attention loss weight"), INNER_WEIGHTS, label_of=_or_none)
    with right:
        targets = {str(target): _(name) for target, name in TARGET_NAMES.items()}
        label = _("Attention target")
        choose("attention_target", label, AttentionTarget, label_of=targets.__getitem__)
    note(
        _(
            "The loss also includes the relative squared distance between the residual "
            "streams at the same relative depth (0: equal, 1: as far away as a zero vector "
            "would be), and the KL divergence of attention, in nats."
        )
    )


def _or_none(weight: str) -> str:
    return _("none") if weight == "0" else weight


def _how(state: State) -> Distillation:
    return Distillation(
        temperature=float(state.distil_temperature),
        teacher_share=float(state.teacher_share),
        hidden_weight=float(state.hidden_weight),
        attention_weight=float(state.attention_weight),
        attention_target=AttentionTarget(state.attention_target),
    )
