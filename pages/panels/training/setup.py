"""What is to be learned, and how: set before a training starts."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from blocks.corpora.stories import Language
from blocks.cost.parameters import total_parameters
from blocks.cost.units import bytes_text
from blocks.inspection.learning import ExampleFacts
from blocks.model.faults import N_, Fault
from blocks.model.kinds import Architecture
from blocks.training import optimizers, schedule
from blocks.training.examples import Place, example
from blocks.training.memory import TrainingMemory, estimate_training_memory
from blocks.training.optimizers import weight_dtype
from blocks.training.recipe import RECIPE_TABLE, RECIPES, OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskKind, TokenKind
from pages.page import device_line
from pages.panels.training import own_text, setup_picture, shared
from pages.panels.training.setup_picture import plan
from pages.panels.training.shared import expected_pace
from pages.panels.training.wanted import STORY_TASKS, row_bounds, wanted, wanted_recipe
from pages.server import runs, starts
from pages.show import everything
from pages.show.chart import show
from pages.show.controls import choose, slide, slider
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.ways import use_mend, way
from pages.stage import link, present
from pages.state.link_fields.training import CORPORA
from pages.state.values import State
from pages.words import chips, terms
from pages.words.language import _, bracketed, literal, say_fault

MOST_CHIPS, MOST_SHOWN = 40, 160  # of which the second are characters
# Below the button that starts: how long it will take, once that is known.
EXPECTED: ContextVar[Any] = ContextVar("expected", default=None)
N_STEPS = (20, 50, 100, 200, 300, 400, 600, 1000, 2000, 5000, 10_000, 20_000)
BATCHES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 5e-3, 7e-3, 1e-2, 2e-2, 3e-2, 0.1, 0.3, 1.0)
LENGTHS = (4, 8, 12, 14, 16, 20, 24, 32, 48, 56, 64, 96, 128, 192, 256, 384, 512)
WARMUPS = (0, 5, 10, 20, 50, 100, 200, 400, 1000, 2000, 4000)
DECAYS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
CLIPS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
MTP_WEIGHTS = (0.0, 0.1, 0.3, 0.5, 1.0, 2.0)
BETAS = (0.9, 0.95, 0.98, 0.99, 0.999)
BASE_WIDTHS = (0, 16, 32, 64, 128, 256, 512)
MOMENTA = (0.0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.99)
TASKS = {
    TaskKind.TEXT: N_(
        "Predict the next token of a text. The score is bits per character on the "
        "held-out tenth; lower is better."
    ),
    TaskKind.STORIES: N_(
        "Write short stories, token by token (autoregressive). The score is the share of "
        "generated sentences that are grammatical."
    ),
    TaskKind.MARKOV: N_(
        "Predict a text of known entropy: each symbol is drawn with a probability that "
        "depends on the two before it. The score is how far the expected loss lies above the "
        "lowest possible loss, in nats; lower is better."
    ),
    TaskKind.INDUCTION: N_(
        "A random sequence repeats. Find where the current token occurred before, and predict"
        " what followed it (induction). The score is the share of repeated tokens predicted "
        "correctly, at distances not seen in training."
    ),
    TaskKind.COPY: N_(
        "Repeat the letters. The score is the share of answers that are entirely right."
    ),
    TaskKind.REVERSE: N_(
        "Write the letters backward. The score is the share of answers that are entirely right."
    ),
    TaskKind.SORT: N_(
        "Sort the letters alphabetically. The score is the share of answers that are "
        "entirely right."
    ),
    TaskKind.ADDITION: N_(
        "Add two numbers; the sum is written from its last digit to its first. The score "
        "is the share of sums that are entirely right."
    ),
    TaskKind.MASKED_WORDS: N_(
        "Masked language modeling: predict masked words from the context on both sides. "
        "The score is the share of masked words predicted correctly."
    ),
    TaskKind.TRANSLATION: N_(
        "Translate between English and Chinese; the language of the source sets the "
        "direction. The score is the share of validation sentences translated exactly, "
        "over both directions."
    ),
    TaskKind.MODULAR_ADDITION: N_(
        "Add two numbers on a clock of 59 hours: 40 + 30 = 11. The model learns from 40% of all "
        "pairs; the score is the share of the other pairs that it answers correctly."
    ),
    TaskKind.MODULAR_SUBTRACTION: N_(
        "Subtract two numbers on a clock of 59 hours: 11 − 30 = 40. The model learns from 40% of "
        "all pairs; the score is the share of the other pairs that it answers correctly."
    ),
    TaskKind.PARITY: N_(
        "Say, bit by bit, whether the number of ones so far is odd. The score is the share of "
        "answers that are entirely right."
    ),
    TaskKind.BRACKETS: N_(
        "Say which bracket closes the innermost open one. The score is the share of correct "
        "answers."
    ),
}


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
    return total_parameters(spec.config)


def says_model(spec: TrainingSpec) -> str:
    """What is trained, how large it is, and what the task fixes of it."""
    config = spec.config
    n_layers = str(config.n_layers)
    if config.n_decoder_layers:
        n_layers += f" + {config.n_decoder_layers}"
    text = _(
        "{kind} · n_layers {n_layers} · d_model {d_model} · n_heads {n_heads} · {total:,} "
        "parameters · up to about {memory} of memory. The task fixes the architecture, "
        "vocab_size {vocab_size} and max_seq_len {max_seq_len}; everything else is set in "
        "the sidebar."
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


def example_chips(places: tuple[Place, ...], most: int) -> list[chips.Chip]:
    """A row of the task: what has to be said stands out; dots stand for what is left out."""
    rest = [chips.Chip("…", "")] if len(places) > most else []
    return [_example_chip(place) for place in places[:most]] + rest


def _example_chip(place: Place) -> chips.Chip:
    answer = f"→ {place.answer}" if place.answer else ""
    return chips.Chip(place.label, answer, "written" if place.asked else "read")


def says_example(facts: ExampleFacts) -> str:
    """How to read the example."""
    if facts.is_of_pairs:
        text = _(
            "A validation example of {n} tokens: the source, the start token and, in violet, "
            "the {asked} target tokens to predict; the last one marks the end of the target."
        )
    elif facts.is_filled_in:
        text = _(
            "A validation example of {n} tokens; at those in violet ({asked}), the model has "
            "to predict what follows the arrow."
        )
    else:
        text = _(
            "A validation example of {n} tokens; the model has to predict those in violet "
            "({asked})."
        )
    return text.format(n=len(facts.places), asked=facts.n_asked)


def start_row(state: State) -> None:
    """The button that starts, or why it cannot with the way out; what it starts."""
    asked = wanted(state)
    is_beyond = any({"most", "budget"} & {*fault.values} for fault in asked.faults)
    for i, fault in enumerate((*asked.faults, *shared.REFUSED.take())):
        st.info(say_fault(fault), icon=":material/block:")
        with st.container(horizontal=True):
            if is_beyond and not i and state.preset != starts.FAST:
                way(_("Train “Fast learner” instead"), "train_fast", preset=starts.FAST)
            _mend(fault, key=f"mend_{i}")
    if is_beyond:
        note(device_line.says_training(state.device))
    with st.container(horizontal=True, vertical_alignment="center", key="expected"):
        st.button(
            _("Start training"),
            icon=":material/play_arrow:",
            type="primary",
            key="start_training",
            disabled=bool(asked.faults),
            on_click=_start,
        )
    if asked.spec is not None:
        note(says_model(asked.spec))
    EXPECTED.set(st.container(horizontal=True, vertical_alignment="center"))


def _mend(fault: Fault, *, key: str) -> None:
    use_mend(fault, key, change=_change, type="secondary")


def _change(name: str, value: Any) -> None:
    link.change("task_seq_len" if name == "seq_len" else name, value)


def _start() -> None:
    """Put what is set into the queue, and the run's name into the link."""
    asked = wanted(link.now())
    if asked.spec is not None and not asked.faults:
        shared.start_spec(asked.spec)


def how_long(state: State) -> None:
    """What it will take here, timed once all else stands; and what fits into a minute."""
    place, spec = EXPECTED.get(), wanted(state).spec
    EXPECTED.set(None)
    if place is None or spec is None or wanted(state).faults or runs.is_busy(spec.device):
        return
    with place:
        with st.spinner(_("Timing a few updates …")):
            pace = expected_pace(spec)
        if pace is None:
            return
        st.caption(shared.says_seconds(pace.seconds(spec.recipe), spec.recipe.n_steps))
        _one_minute(pace.n_steps(spec.recipe, shared.ONE_MINUTE), state)


def _one_minute(n_steps: int, state: State) -> None:
    """Start as many updates as a minute holds here, where those that are set take far from one."""
    most = max((n for n in N_STEPS if n <= n_steps), default=N_STEPS[0])
    if most == state.n_steps or n_steps / 2 < state.n_steps < 2 * n_steps:
        return
    st.button(
        _("Start with {n:,} updates, about a minute").format(n=most),
        icon=":material/timer:",
        type="tertiary",
        key="one_minute",
        on_click=_for_a_minute,
        args=(most,),
    )


def _for_a_minute(n_steps: int) -> None:
    """Start, with a warm-up that leaves time to learn."""
    link.change("n_steps", n_steps)
    if link.value("warmup_steps") > n_steps // 5:
        link.change("warmup_steps", max(n for n in WARMUPS if n <= n_steps // 5))
    _start()


def task_controls(state: State) -> None:
    """The task and what belongs to it."""
    choose("task", _("Task"), TaskKind)
    kind = TaskKind(state.task)
    if kind in STORY_TASKS:
        choose("story_language", _("Language of the stories"), Language)
    if kind is TaskKind.TEXT:
        _text_choice(state)
    if len(kind.architectures) > 1:
        choose("learner", _("Architecture"), kind.architectures)
    least, most = row_bounds(kind)
    lengths = [n for n in (least, *LENGTHS, most) if least <= n <= most]
    shown = min(max(state.task_seq_len, least), most)
    slide("task_seq_len", _("seq_len · tokens per example"), lengths, shown)


def _text_choice(state: State) -> None:
    choose("corpus", _("Text"), CORPORA)
    if state.corpus == "own":
        own_text.choice()
    choose("token_kind", _("Tokenization"), TokenKind)


def recipe_controls(recipe: Recipe, state: State) -> None:
    """The knobs that this optimizer and schedule have."""
    choose("optimizer", _("Optimizer"), OptimizerKind)
    _rates(recipe)
    choose("schedule", _("Schedule"), ScheduleKind)
    warmups = [n for n in WARMUPS if n <= state.n_steps]
    slide("warmup_steps", _("warmup_steps"), warmups)
    with details(_("Weight decay, label smoothing, clipping, momentum"), key="knobs"):
        _more(recipe, state)


def _rates(recipe: Recipe) -> None:
    is_muon = recipe.optimizer is OptimizerKind.MUON
    label = _("learning_rate · for all other parameters (AdamW)") if is_muon else _("learning_rate")
    if recipe.schedule is ScheduleKind.PAPER:
        label = _("learning_rate · multiplies the schedule's formula")
    slide("learning_rate", label, RATES)
    if is_muon:
        label = _("muon_learning_rate · for the layers' matrices")
        slide("muon_learning_rate", label, RATES)


def _more(recipe: Recipe, state: State) -> None:
    if recipe.optimizer is not OptimizerKind.SGD:
        slide("beta1", _("beta1 · decay rate of the gradient average"), BETAS)
        label = _("beta2 · decay rate of the squared-gradient average")
        slide("beta2", label, BETAS)
        label = _("base_width · muP: matrices learn as in a model this wide (0: off)")
        slide("base_width", label, BASE_WIDTHS)
    if recipe.optimizer is not OptimizerKind.ADAMW:
        slide("momentum", _("momentum"), MOMENTA)
    slide("weight_decay", _("weight_decay"), DECAYS)
    smoothing = state.label_smoothing
    slider("label_smoothing", _("label_smoothing"), smoothing, most=0.5, step=0.05)
    slide("clip_norm", _("clip_norm · 0: no clipping"), CLIPS)
    if state.config.n_mtp_modules:
        label = _("mtp_weight · λ, weight of the MTP loss")
        slide("mtp_weight", label, MTP_WEIGHTS)
    if recipe.schedule in (ScheduleKind.COSINE, ScheduleKind.TRAPEZOID):
        share = state.final_share
        slider("final_share", _("final_share · final ÷ peak learning rate"), share, step=0.05)
    if recipe.schedule is ScheduleKind.TRAPEZOID:
        label = _("decay_share · share of steps in the decay phase")
        slider("decay_share", label, step=0.05)


def says_learning(spec: TrainingSpec) -> str:
    """What a training does, for who has never seen one."""
    return _(
        "Training repeats three moves, here {n_steps:,} times: the model guesses, its guesses"
        " are compared with the right answers, and each of its {total:,} numbers (parameters)"
        " is shifted a little so that the same guesses would be less wrong. The recipe sets "
        "how large these shifts are."
    ).format(n_steps=spec.recipe.n_steps, total=n_parameters(spec))


def says_untrained(text: str, spec: TrainingSpec) -> str:
    """What a model writes that has learned nothing, and why it looks as it does."""
    said = _(
        "**Before training** the weights are random, and any of the {n:,} tokens in the vocabulary "
        "may come next: {text}"
    )
    if spec.task.kind is TaskKind.STORIES:
        said = _(
            "**Before training** the weights are random, and any of the {n:,} tokens in the "
            "vocabulary may come next, English words as well as Chinese characters and single "
            "bytes such as `\\xe6`: {text}"
        )
    shown = text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
    return said.format(n=spec.config.vocab_size, text=literal(" ".join(shown.split())))


def what_is_learned(state: State) -> Callable[[], None]:
    """The task, how far it is practised, and a row of it."""
    asked = wanted(state)
    place = explained(("tasks",), (example,), key="task_set")
    with place:
        st.markdown(_(TASKS[TaskKind(state.task)]))
    with present.aside():
        if asked.spec is not None and (text := shared.untrained_text(asked.spec)):
            st.markdown(says_untrained(text, asked.spec))
    left, right = _beside_its_plan()[:: -1 if present.is_on() else 1]
    with left:
        task_controls(state)
    with right:
        _plan(state)
    with right, present.aside():
        slide("n_steps", _("n_steps · training steps"), N_STEPS)
        slide("batch_size", _("batch_size · examples per step"), BATCHES)
    if asked.task is not None:
        learner = shared.learner(TaskKind(state.task), state)
        is_of_pairs = learner is Architecture.ENCODER_DECODER
        facts = ExampleFacts(example(asked.task), is_of_pairs)
        note(says_example(facts))
        chips.show(example_chips(facts.places, MOST_CHIPS), key="example")
    return partial(how_long, state)


def how_it_is_learned(state: State) -> Callable[[], None]:
    """The recipe, its knobs, and its schedule before it runs."""
    code = (schedule.rate_factor, optimizers.build_optimizers)
    recipe, _faults = wanted_recipe(state)
    known = RECIPE_TABLE[state.recipe]
    with explained(("optimizers", "schedule"), code, key="recipe_set"):
        if (spec := wanted(state).spec) is not None:
            st.markdown(says_learning(spec))
        choose("recipe", _("Starting recipe"), RECIPES)
    note(_("{said}.").format(said=bracketed(_(known.title), known.source)))
    knobs, plan = _beside_its_plan()[:: 1 if present.is_on() else -1]
    with plan:
        if not everything.is_all():
            _plan(state)
            note(shared.says_schedule(recipe))
    with knobs:
        recipe_controls(recipe, state)
    return partial(how_long, state)


def _beside_its_plan() -> Sequence[Any]:
    """Two places side by side; before a class the first is the sidebar."""
    if present.is_on():
        return st.sidebar, st.container()
    return st.columns(2, gap="large")


def _plan(state: State) -> None:
    recipe, _faults = wanted_recipe(state)
    show(setup_picture.rates, recipe, state.config.d_model, facts=plan, key="planned_rates")
