"""What is to be learned, and how: set before a training starts."""

import dataclasses
from functools import lru_cache
from typing import Any, NamedTuple

import streamlit as st

from blocks.corpora.stories import Language
from blocks.corpora.texts import Corpus, corpus_from_bytes
from blocks.cost.memory import bytes_text
from blocks.cost.parameters import total_parameters
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.training import optimizers, schedule
from blocks.training.examples import Place, example
from blocks.training.fast_model import needs
from blocks.training.limits import Limits, limit_faults
from blocks.training.memory import TrainingMemory, estimate_training_memory
from blocks.training.optimizers import weight_dtype
from blocks.training.recipe import RECIPE_TABLE, RECIPES, OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Task, TaskConfig, TaskKind, TokenKind
from pages.figures.curves import Steps
from pages.figures.theme import Picture
from pages.panels.training import setup_picture as schedule_figure
from pages.panels.training import shared
from pages.panels.training.shared import expected_pace
from pages.ui import chips, controls, link, runs, settings, starts, terms
from pages.ui.chart import show
from pages.ui.controls import choose, slide, slider
from pages.ui.explain import heading, note
from pages.ui.language import _, say_fault
from pages.ui.link_fields.training import CORPORA, KNOBS, LONGEST_ROW

KINDS = ("txt", "md", "csv", "py", "json", "html", "tex", "log")


def own_text() -> str | None:
    """The text that this session brought, if it did."""
    corpus = st.session_state.get("own_text")
    return corpus.text if corpus else None


def text_controls() -> None:
    """Paste or upload; what was wrong with it, or how much there is."""
    with st.container(key="own_text_controls"):
        st.file_uploader(
            _("A text file, preferably UTF-8"), KINDS, key="uploaded_text", on_change=_read_uploaded
        )
        st.text_area(
            _("… or paste a text"),
            key="pasted_text",
            height=100,
            max_chars=settings.corpus_characters(),
            on_change=_read_pasted,
        )
    for fault in st.session_state.get("own_text_faults", ()):
        st.warning(say_fault(fault))
    _summary()


def _summary() -> None:
    corpus: Corpus | None = st.session_state.get("own_text")
    if corpus is None:
        st.caption(_("Your text stays in this session; a link does not carry it."))
        return
    text = _("{n:,} characters to train on, of which the last tenth is held out for validation.")
    st.caption(text.format(n=len(corpus.text)))
    for each in corpus.notes:
        st.caption(say_fault(each))


def _read_uploaded() -> None:
    file = st.session_state["uploaded_text"]
    if file is not None:
        _read(file.getvalue())


def _read_pasted() -> None:
    if text := st.session_state["pasted_text"]:
        _read(text.encode("utf-8", errors="replace"))


def _read(raw: bytes) -> None:
    st.session_state["own_text_faults"] = ()
    try:
        corpus = corpus_from_bytes(raw, most_characters=settings.corpus_characters())
    except ConfigError as error:
        st.session_state["own_text_faults"] = error.faults
        return
    st.session_state["own_text"] = corpus


N_STEPS = (20, 50, 100, 200, 300, 400, 600, 1000, 2000, 5000, 10_000, 20_000)


BATCHES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)


RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2, 2e-2, 3e-2, 0.1, 0.3, 1.0)


LENGTHS = (4, 8, 12, 14, 16, 20, 24, 32, 48, 56, 64, 96, 128, 192, 256, 384, 512)


WARMUPS = (0, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 4000)


DECAYS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)


CLIPS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


BETAS = (0.9, 0.95, 0.98, 0.99, 0.999)


MOMENTA = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)


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


class Wanted(NamedTuple):
    """A training as it was set; `spec` and `task` are None where there is nothing to learn."""

    spec: TrainingSpec | None
    task: Task | None
    faults: tuple[Fault, ...]


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


def mend_button(fault: Fault, *, key: str) -> None:
    """Set what mends a fault."""
    if fault.mend:
        label = _("Use {mend}").format(mend=shared.mend_text(fault))
        st.button(label, key=key, on_click=_apply, args=(dict(fault.mend),))


def _apply(mend: dict[str, Any]) -> None:
    for name, value in mend.items():
        link.change("task_seq_len" if name == "seq_len" else name, value)


def start() -> None:
    """Put what is set into the queue, and the run's name into the link."""
    asked = wanted()
    if asked.spec is not None and not asked.faults:
        shared.start_spec(asked.spec)


STORY_TASKS = (TaskKind.STORIES, TaskKind.MASKED_WORDS)


N_EVAL_BATCHES = 8  # fewer than in a terminal, so that one sees the held-out loss more often


NO_TEXT = N_("There is no text yet: paste or upload one (a link does not carry it)")


def wanted() -> Wanted:
    """What would be trained now, and every reason why it cannot."""
    if is_without_text():
        return Wanted(None, None, (Fault(NO_TEXT),))
    try:
        task_config = _task_config()
        task = starts.build_task_once(task_config)
    except ConfigError as error:
        return Wanted(None, None, error.faults)
    recipe, faults = wanted_recipe()
    config, _mended = link.config().nearest(**needs(task))
    spec = TrainingSpec(
        config=config,
        task=task_config,
        recipe=recipe,
        seed=link.value("seed"),
        device=link.value("device"),
    )
    return Wanted(spec, task, (*faults, *_beyond_limits(spec, runs.runs().limits)))


def wanted_recipe() -> tuple[Recipe, tuple[Fault, ...]]:
    """The recipe with the reader's changes, brought to the nearest that can be."""
    changes = {name: link.value(name) for name in KNOBS}
    known = RECIPES[link.value("recipe")]
    changes |= {"dtype": str(controls.trained_dtype()), "n_eval_batches": N_EVAL_BATCHES}
    return known.nearest(**changes)


def is_without_text() -> bool:
    """Whether a text is to be learned from that was not brought (yet)."""
    is_own = link.value("task") == TaskKind.TEXT and link.value("corpus") == "own"
    return is_own and own_text() is None


def _task_config() -> TaskConfig:
    kind = TaskKind(link.value("task"))
    least, most = row_bounds(kind)
    is_text = kind is TaskKind.TEXT
    is_own = is_text and link.value("corpus") == "own"
    return TaskConfig(
        kind=kind,
        seq_len=min(max(link.value("task_seq_len"), least), most),
        architecture=shared.learner(kind),
        text=own_text() if is_own else None,
        token_kind=TokenKind(link.value("token_kind") if is_text else "characters"),
        language=Language(link.value("story_language") if kind in STORY_TASKS else "en"),
    )


def row_bounds(kind: TaskKind) -> tuple[int, int]:
    """The least and the largest number of tokens in a row that is offered."""
    least, most = kind.seq_len_bounds
    return least, min(most, LONGEST_ROW)


@lru_cache(maxsize=64)
def _beyond_limits(spec: TrainingSpec, limits: Limits) -> tuple[Fault, ...]:
    return tuple(limit_faults(spec, limits))


@lru_cache(maxsize=64)
def memory(spec: TrainingSpec) -> TrainingMemory:
    """What the training will take, estimated from above."""
    return estimate_training_memory(
        spec.config,
        recipe=spec.recipe,
        seq_len=spec.task.seq_len,
        dtype=weight_dtype(spec.recipe, spec.device),
    )


@lru_cache(maxsize=64)
def n_parameters(spec: TrainingSpec) -> int:
    """The parameters of the model that is trained, by formula."""
    return total_parameters(spec.config)


TASKS = {
    TaskKind.TEXT: N_(
        "Predict the next token of a text. Score: bits per character on the held-out "
        "tenth; lower is better."
    ),
    TaskKind.STORIES: N_(
        "Write small stories, token by token (autoregressive). Score: share of "
        "grammatical sentences in what the model generates by itself."
    ),
    TaskKind.INDUCTION: N_(
        "A random sequence repeats: find where the token came before, and predict what "
        "followed it (induction). Score: share of repeated tokens predicted correctly, "
        "at distances never trained on."
    ),
    TaskKind.COPY: N_("Repeat the letters. Score: share of answers that are entirely right."),
    TaskKind.REVERSE: N_(
        "Write the letters backwards. Score: share of answers that are entirely right."
    ),
    TaskKind.SORT: N_(
        "Sort the letters alphabetically. Score: share of answers that are entirely right."
    ),
    TaskKind.ADDITION: N_(
        "Add two numbers; the sum is written from its last digit to its first. Score: "
        "share of sums that are entirely right."
    ),
    TaskKind.MASKED_WORDS: N_(
        "Masked language modeling: predict hidden words from both sides. Score: share "
        "of masked words predicted correctly."
    ),
    TaskKind.TRANSLATION: N_(
        "Translate between English and Chinese; the language of the source sets the "
        "direction. Score: share of validation sentences translated exactly, both "
        "directions together."
    ),
}


def task_sentence() -> str:
    """What is asked, and how it is scored."""
    return _(TASKS[TaskKind(link.value("task"))])


def example_chips(places: tuple[Place, ...], most: int) -> list[chips.Chip]:
    """A row of the task: what has to be said stands out; dots stand for what is left out."""
    rest = [chips.Chip("…", "")] if len(places) > most else []
    return [_example_chip(place) for place in places[:most]] + rest


def _example_chip(place: Place) -> chips.Chip:
    answer = f"→ {place.answer}" if place.answer else ""
    return chips.Chip(place.label, answer, "written" if place.asked else "read")


def example_sentence(places: tuple[Place, ...]) -> str:
    """How to read the example."""
    counted = {"n": len(places), "asked": sum(place.asked for place in places)}
    is_filled_in = any(place.answer for place in places)
    if shared.learner(TaskKind(link.value("task"))) is Architecture.ENCODER_DECODER:
        text = _(
            "A validation example of {n} tokens: the source, the start token and, in "
            "violet, the {asked} target tokens to predict; the last one ends the "
            "sentence."
        )
        return text.format(**counted)
    text = (
        _("A validation example of {n} tokens; the answer is due at the {asked} violet ones.")
        if is_filled_in
        else _("A validation example of {n} tokens; the {asked} violet ones are to be predicted.")
    )
    return text.format(**counted)


def model_sentence(spec: TrainingSpec) -> str:
    """What is trained, how large it is, and what the task fixes of it."""
    config = spec.config
    n_layers = str(config.n_layers)
    if config.n_decoder_layers:
        n_layers += f" + {config.n_decoder_layers}"
    text = _(
        "{kind} · n_layers {n_layers} · d_model {d_model} · n_heads {n_heads} · "
        "{total:,} parameters · at most about {memory} of memory. The task fixes "
        "architecture, vocab_size {vocab_size} and max_seq_len {max_seq_len}; all else "
        "is set in the sidebar."
    )
    return text.format(
        kind=terms.option(config.architecture),
        n_layers=n_layers,
        d_model=config.d_model,
        n_heads=config.n_heads,
        total=n_parameters(spec),
        memory=bytes_text(memory(spec).total),
        vocab_size=config.vocab_size,
        max_seq_len=config.max_seq_len,
    )


def recipe_sentence() -> str:
    """Where the recipe comes from."""
    known = RECIPE_TABLE[link.value("recipe")]
    return f"{_(known.title)} ({known.source})."


MOST_CHIPS = 40


def set_up() -> None:
    """The button that starts, and what it starts: task and recipe side by side."""
    asked = wanted()
    start_controls(asked)
    place = st.container(horizontal=True, vertical_alignment="center", key="expected")
    if asked.spec is not None:
        note(model_sentence(asked.spec))
    left, right = st.columns(2, gap="large")
    with left:
        what_is_learned(asked)
    with right:
        how_it_is_learned()
    if asked.spec is not None and not asked.faults:
        with place:
            how_long_it_takes(asked.spec)


def how_long_it_takes(spec: TrainingSpec) -> None:
    """What it will take here, timed once all else stands; and what fits into a minute."""
    if runs.is_busy(spec.device):
        return
    with st.spinner(_("A few updates are timed …")):
        pace = expected_pace(spec)
    if pace is None:
        return
    st.caption(shared.seconds_sentence(pace.seconds(spec.recipe), spec.recipe.n_steps))
    one_minute(pace.n_steps(spec.recipe, shared.ONE_MINUTE))


def what_is_learned(asked: Wanted) -> None:
    """The task, and a row of it."""
    heading(_("What it learns"), ("tasks",), (example,), key="task_set")
    task_controls()
    st.markdown(task_sentence())
    if asked.task is not None:
        places = example(asked.task)
        note(example_sentence(places))
        chips.show(example_chips(places, MOST_CHIPS), key="example")


def how_it_is_learned() -> None:
    """The recipe, its knobs, and its schedule before it runs."""
    code = (schedule.rate_factor, optimizers.build_optimizers)
    heading(_("How it learns"), ("optimizers", "schedule"), code, key="recipe_set")
    recipe, _faults = wanted_recipe()
    recipe_controls(recipe)
    note(recipe_sentence())
    d_model = link.config().d_model
    show(draw_schedule, recipe, d_model, key="planned_rates", alt=schedule_alt)
    note(shared.schedule_sentence(recipe))


def draw_schedule(recipe: Recipe, d_model: int) -> Picture:
    """The learning rate over all steps."""
    return rates_picture(recipe, d_model, Steps(recipe.n_steps, False), now=None)


def rates_picture(recipe: Recipe, d_model: int, steps: Steps, now: int | None) -> Picture:
    """The rates of the recipe; with Muon those of the matrices, too."""
    curves = {_("learning_rate"): schedule.curve(recipe, d_model)}
    if recipe.optimizer is OptimizerKind.MUON:
        of_matrices = dataclasses.replace(recipe, learning_rate=recipe.muon_learning_rate)
        curves[_("muon_learning_rate")] = schedule.curve(of_matrices, d_model)
    return schedule_figure.rates(curves, steps, warmup=recipe.warmup_steps, now=now, _=_)


def schedule_alt(recipe: Recipe, _d_model: int) -> str:
    """Write the alt text of the schedule."""
    return shared.schedule_sentence(recipe)


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
