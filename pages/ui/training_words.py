"""Sentences of the training page: what is asked, what is set, and what a run shows."""

import math

import pandas as pd

from blocks.cost.memory import bytes_text
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.training.events import Answer, Sample
from blocks.training.examples import Place
from blocks.training.recipe import RECIPE_TABLE, Recipe, ScheduleKind
from blocks.training.smoothing import half_life
from blocks.training.tasks import TaskKind
from blocks.training.training_run import RunState, RunView
from pages.ui import chips, link, starts, terms
from pages.ui.language import _
from pages.ui.training_spec import Wanted, learner, memory, n_parameters

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
SCHEDULES = {
    ScheduleKind.CONSTANT: N_("Warm-up over {warmup} steps, then constant at {peak:g}."),
    ScheduleKind.COSINE: N_(
        "Warm-up over {warmup} steps to {peak:g}, then cosine decay to {last:g}."
    ),
    ScheduleKind.TRAPEZOID: N_(
        "Warm-up over {warmup} steps to {peak:g}, constant, then linear decay to "
        "{last:g} over the last {share:.0%}."
    ),
    ScheduleKind.PAPER: N_(
        "Rises for {warmup} steps, then falls with the inverse square root of the step; "
        "wider models get smaller rates."
    ),
}
ONE_MINUTE = 60.0  # seconds
STATES = {
    RunState.QUEUED: N_("waiting"),
    RunState.RUNNING: N_("running"),
    RunState.PAUSED: N_("paused"),
    RunState.FINISHED: N_("finished"),
    RunState.STOPPED: N_("stopped"),
    RunState.FAILED: N_("failed"),
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
    if learner(TaskKind(link.value("task"))) is Architecture.ENCODER_DECODER:
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


def model_sentence(asked: Wanted) -> str:
    """What is trained, how large it is, and what the task fixes of it."""
    config = asked.spec.config
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
        total=n_parameters(asked.spec),
        memory=bytes_text(memory(asked.spec).total),
        vocab_size=config.vocab_size,
        max_seq_len=config.max_seq_len,
    )


def seconds_sentence(seconds: float, n_steps: int) -> str:
    """How long it will take here."""
    text = _(
        "About {time} here for {n:,} updates: a few of them were just timed. Scores and samples "
        "come on top."
    )
    return text.format(time=_duration(seconds), n=n_steps)


def _duration(seconds: float) -> str:
    if seconds < ONE_MINUTE:
        return _("{n:.0f} s").format(n=max(1, seconds))
    return _("{n:.0f} min").format(n=seconds / ONE_MINUTE)


def recipe_sentence() -> str:
    """Where the recipe comes from."""
    known = RECIPE_TABLE[link.value("recipe")]
    return f"{_(known.title)} ({known.source})."


def schedule_sentence(recipe: Recipe) -> str:
    """The schedule in words."""
    return _(SCHEDULES[recipe.schedule]).format(
        warmup=recipe.warmup_steps,
        peak=recipe.learning_rate,
        last=recipe.learning_rate * recipe.final_share,
        share=recipe.decay_share,
    )


def state_sentence(view: RunView, position: int | None, wait: float | None) -> str:
    """Where the run is, and how long it will take."""
    text = _("{state} · step {step:,} of {n_steps:,} · {seconds:.0f} s on the device")
    state = _("stopping …") if view.is_leaving_off else _(STATES[view.state])
    said = text.format(state=state, step=view.step, n_steps=view.n_steps, seconds=view.seconds)
    return " · ".join((said, *_waiting(view, position, wait)))


def _waiting(view: RunView, position: int | None, wait: float | None) -> list[str]:
    found = []
    if view.state is RunState.QUEUED and position:
        found.append(_("number {n} in the queue").format(n=position))
        if wait is not None:
            found.append(_("starts in about {seconds:.0f} s").format(seconds=wait))
    if view.state is RunState.RUNNING and view.seconds_left is not None:
        found.append(_("about {seconds:.0f} s left").format(seconds=view.seconds_left))
    return found


def run_sentence(view: RunView) -> str:
    """What the curves of this run say."""
    guess = guessing(view)
    if view.evaluations.empty:
        text = _(
            "A uniform guess over {n:,} tokens costs {nats:.2f} nats: an untrained "
            "model starts near that."
        )
        return text.format(n=view.spec.config.vocab_size, nats=guess)
    newest = view.evaluations.iloc[-1]
    text = _(
        "After {step:,} steps the validation loss is {loss:.2f} nats ({bits:.2f} bits), "
        "perplexity {perplexity:.1f}: as uncertain as choosing among {perplexity:.1f} "
        "equally likely tokens, of {n:,}. {score_name}: {score}."
    )
    said = text.format(
        step=int(newest.step),
        loss=newest.held_out_loss,
        bits=newest.held_out_loss / math.log(2),
        perplexity=math.exp(min(newest.held_out_loss, 50)),
        n=view.spec.config.vocab_size,
        score_name=score_name(view),
        score=score_text(view, newest.score),
    )
    return f"{said} {_learning(view)}".strip()


def _learning(view: RunView) -> str:
    """Whether it has learned the rule, the rows, or not yet anything."""
    losses = view.evaluations["held_out_loss"]
    if losses.iloc[-1] > losses.min() + 0.1:
        return _(
            "The validation loss is rising again: overfitting, the model begins to memorize "
            "its training examples."
        )
    if losses.iloc[-1] > 0.9 * guessing(view):
        return _("So far that is hardly better than random guessing.")
    return ""


def guessing(view: RunView) -> float:
    """The loss of guessing all tokens alike, in nats."""
    return math.log(view.spec.config.vocab_size)


def is_share(view: RunView) -> bool:
    """Whether the score is a share; of a text it is bits."""
    return view.spec.task.kind is not TaskKind.TEXT


def score_name(view: RunView) -> str:
    """What the score counts."""
    return _(starts.build_task_once(view.spec.task).score_name)


def score_text(view: RunView, score: float) -> str:
    """The score as people say it."""
    return f"{score:.1%}" if is_share(view) else f"{score:.2f}"


def sample_sentence(sample: Sample) -> str:
    """When it was written, and how much of it is right where that can be told."""
    said = _("after {n:,} steps").format(n=sample.step)
    if not sample.answers:
        return said
    n_right = sum(answer.written == answer.right for answer in sample.answers)
    text = _(
        "{when}: {right} of {n} validation examples right, taking the most probable token each time"
    )
    return text.format(when=said, right=n_right, n=len(sample.answers))


def answers_table(answers: tuple[Answer, ...]) -> pd.DataFrame:
    """What was asked, what the model wrote, and what is right, a row each."""
    rows = [
        (
            chips.literally(answer.question),
            chips.literally(answer.written) or _("(nothing)"),
            "✓" if answer.written == answer.right else chips.literally(answer.right),
        )
        for answer in answers
    ]
    return pd.DataFrame(rows, columns=[_("source"), _("generated"), _("reference answer")])


def smoothing_note(view: RunView) -> str:
    """How the smooth curve is made."""
    text = _(
        "Smoothed: moving average over the steps, half-life {n:g} steps. Validation "
        "(held out): {rows} examples never trained on, the same at each evaluation."
    )
    recipe = view.spec.recipe
    return text.format(n=half_life(view.n_steps), rows=recipe.n_eval_batches * recipe.batch_size)
