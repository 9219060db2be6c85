"""What is learned and how: the choices of the training page."""

import streamlit as st

from blocks.corpora.stories import Language
from blocks.model.faults import ConfigError, Fault
from blocks.training.recipe import RECIPES, OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskKind, TokenKind
from pages.ui import controls, link, runs
from pages.ui.controls import choose, slide, slider
from pages.ui.language import _, enumeration, say_fault
from pages.ui.own_text import text_controls
from pages.ui.training_fields import CORPORA
from pages.ui.training_spec import STORY_TASKS, Wanted, learner, row_bounds, wanted

N_STEPS = (20, 50, 100, 200, 300, 400, 600, 1000, 2000, 5000, 10_000, 20_000)
BATCHES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2, 2e-2, 3e-2, 0.1, 0.3, 1.0)
LENGTHS = (4, 8, 12, 14, 16, 20, 24, 32, 48, 56, 64, 96, 128, 192, 256, 384, 512)
WARMUPS = (0, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 4000)
DECAYS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
CLIPS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
BETAS = (0.9, 0.95, 0.98, 0.99, 0.999)
MOMENTA = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)


def model_controls() -> None:
    """The model to train, as the task's learner has it."""
    architecture = learner(TaskKind(link.value("task")))
    controls.to_train(link.config().nearest(architecture=architecture)[0])


def task_controls() -> None:
    """The task and what belongs to it."""
    choose("task", _("Task"), TaskKind)
    kind = TaskKind(link.value("task"))
    if kind in STORY_TASKS:
        choose("story_language", _("Language of the stories"), Language)
    if kind is TaskKind.TEXT:
        _text_choice()
    if len(kind.architectures) > 1:
        choose("learner", _("Architecture"), kind.architectures)
    least, most = row_bounds(kind)
    lengths = [n for n in (least, *LENGTHS, most) if least <= n <= most]
    shown = min(max(link.value("task_seq_len"), least), most)
    slide("task_seq_len", _("seq_len · tokens per example"), lengths, shown)


def _text_choice() -> None:
    choose("corpus", _("Text"), CORPORA)
    if link.value("corpus") == "own":
        text_controls()
    choose("token_kind", _("Tokens"), TokenKind)


def recipe_controls(recipe: Recipe) -> None:
    """Where to start, and the knobs; only those that this optimizer and schedule have."""
    choose("recipe", _("Start from recipe"), RECIPES)
    left, right = st.columns(2)
    with left:
        slide("n_steps", _("n_steps · training steps"), N_STEPS, link.value("n_steps"))
        choose("optimizer", _("Optimizer"), OptimizerKind)
        _rates(recipe)
    with right:
        slide("batch_size", _("batch_size · examples per step"), BATCHES, link.value("batch_size"))
        choose("schedule", _("Schedule"), ScheduleKind)
        warmups = [n for n in WARMUPS if n <= link.value("n_steps")]
        slide("warmup_steps", _("warmup_steps"), warmups, link.value("warmup_steps"))
    with st.expander(_("Weight decay, label smoothing, clipping, momentum"), key="knobs"):
        _more(recipe)


def _rates(recipe: Recipe) -> None:
    is_muon = recipe.optimizer is OptimizerKind.MUON
    label = _("learning_rate · for the embedding tables") if is_muon else _("learning_rate")
    if recipe.schedule is ScheduleKind.PAPER:
        label = _("learning_rate · factor before the formula")
    slide("learning_rate", label, RATES, link.value("learning_rate"))
    if is_muon:
        label = _("muon_learning_rate · for the matrices")
        slide("muon_learning_rate", label, RATES, link.value("muon_learning_rate"))


def _more(recipe: Recipe) -> None:
    if recipe.optimizer is not OptimizerKind.SGD:
        slide("beta1", _("beta1 · decay of the gradient average"), BETAS, link.value("beta1"))
        slide(
            "beta2", _("beta2 · decay of the squared-gradient average"), BETAS, link.value("beta2")
        )
    if recipe.optimizer is not OptimizerKind.ADAMW:
        slide("momentum", _("momentum"), MOMENTA, link.value("momentum"))
    slide("weight_decay", _("weight_decay"), DECAYS, link.value("weight_decay"))
    smoothing = link.value("label_smoothing")
    slider("label_smoothing", _("label_smoothing"), smoothing, most=0.5, step=0.05)
    slide("clip_norm", _("clip_norm · 0 clips nothing"), CLIPS, link.value("clip_norm"))
    if recipe.schedule in (ScheduleKind.COSINE, ScheduleKind.TRAPEZOID):
        share = link.value("final_share")
        slider("final_share", _("final_share · final over peak rate"), share, step=0.05)
    if recipe.schedule is ScheduleKind.TRAPEZOID:
        share = link.value("decay_share")
        slider("decay_share", _("decay_share · share of steps with decay"), share, step=0.05)


def start_controls(asked: Wanted) -> None:
    """Start, or why one cannot, with the way out."""
    faults = (*asked.faults, *st.session_state.pop("refused", ()))
    for i, fault in enumerate(faults):
        st.info(say_fault(fault), icon=":material/block:")
        mend_button(fault, key=f"mend_{i}")
    st.button(
        _("Start training"),
        icon=":material/play_arrow:",
        type="primary",
        key="start_training",
        disabled=bool(asked.faults),
        on_click=start,
    )


def one_minute(n_steps: int) -> None:
    """As many updates as a minute holds here, of those that are offered."""
    most = max((n for n in N_STEPS if n <= n_steps), default=N_STEPS[0])
    text = _("One minute: {n:,} updates")
    st.button(
        text.format(n=most),
        icon=":material/timer:",
        type="tertiary",
        key="one_minute",
        disabled=most == link.value("n_steps"),
        on_click=_for_a_minute,
        args=(most,),
    )


def _for_a_minute(n_steps: int) -> None:
    """With a warm-up that leaves time to learn."""
    link.change("n_steps", n_steps)
    if link.value("warmup_steps") > n_steps // 5:
        link.change("warmup_steps", max(n for n in WARMUPS if n <= n_steps // 5))


def mend_button(fault: Fault, *, key: str) -> None:
    """Set what mends a fault."""
    if fault.mend:
        label = _("Use {mend}").format(mend=mend_text(fault))
        st.button(label, key=key, on_click=_apply, args=(dict(fault.mend),))


def mend_text(fault: Fault) -> str:
    """The values that mend a fault."""
    return enumeration(f"{name} = {value}" for name, value in fault.mend.items())


def _apply(mend: dict) -> None:
    for name, value in mend.items():
        link.change("task_seq_len" if name == "seq_len" else name, value)


def start() -> None:
    """Put what is set into the queue, and the run's name into the link."""
    asked = wanted()
    if asked.spec is not None and not asked.faults:
        start_spec(asked.spec)


def start_spec(spec: TrainingSpec) -> None:
    """The same for a training that is known already."""
    try:
        run = runs.runs().start(spec, owner=runs.owner())
    except ConfigError as error:
        st.session_state["refused"] = error.faults
        return
    show_run(run.id)


def show_run(run_id: str) -> None:
    """Look at a run, at its newest weights."""
    runs.remember(run_id)
    link.restore("at_step")
    link.change("run", run_id)
