"""What a token costs in texts longer than the model was made for, where it is trained."""

from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from blocks.corpora.paragraphs import language_of, paragraph
from blocks.efficiency.own_text import LEAST_TOKENS, windows
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import LossFacts
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.randomness import generator
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.panels.positions import beyond_picture, trained
from pages.ui import brought, cached, link, starts, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.ways import way

TRAINED = "stories-en-zh"
N_STEPS, ROWS_A_STEP = 6, 8
N_WINDOWS, LONGEST, N_BANDS = 6, 256, 8  # of a text


@lru_cache(maxsize=64)
def measured_bits(run: Run, n: int, step: int) -> NDArray[np.float64]:
    """Bits by position over some held-out rows, others at each step."""
    task = trained.task_of(run, n)
    if task is None:
        raise ValueError("nothing was learned that could be asked for")
    rows = task.held_out(ROWS_A_STEP, generator(run.seed, "beyond length", "bits", str(step)))
    with cached.turn(run.device):
        return beyond_length.bits_by_position(cached.model(run), rows.to(run.device))


@lru_cache(maxsize=32)
def loss_facts(run: Run, n: int, n_steps: int, trained_len: int) -> LossFacts:
    """What a token costs within and beyond the trained length."""
    bits = np.sum([measured_bits(run, n, step) for step in range(n_steps)], axis=0)
    return beyond_length.loss_facts(
        bits,
        run.config.position.position_kind,
        seed=run.seed,
        trained_len=trained_len,
        n=n,
        n_examples=n_steps * ROWS_A_STEP,
    )


def says_loss(facts: LossFacts) -> str:
    """What a token costs within and beyond the trained length."""
    if facts.inside is None:
        return _("No target position lies in the second half of the trained length.")
    said = {"length": facts.trained_len, "kind": terms.option(facts.kind), "inside": facts.inside}
    if facts.last is None:
        text = _(
            "In the second half of the trained length ({length} tokens), the loss is "
            "{inside:.2f} bits per token ({kind})."
        )
        return text.format(**said)
    text = _(
        "In the second half of the trained length ({length} tokens), the loss is "
        "{inside:.2f} bits per token; in the last positions, up to {n}, it is {last:.2f} "
        "({kind}). {reading}"
    )
    return text.format(n=facts.n, last=facts.last, reading=_reading(facts), **said)


def _reading(facts: LossFacts) -> str:
    if facts.is_worse:
        return _(
            "Beyond the trained length, the model runs but does worse: running is not generalizing."
        )
    if facts.is_better:
        return _(
            "Beyond the trained length, the model does better: it has more context, and nothing "
            "breaks."
        )
    return _("Beyond the trained length, the model does about as well as within it.")


def says_examples(facts: LossFacts, max_seq_len: int) -> str:
    """On what it was measured, and where that ends before four times the length, why."""
    text = _("{n} validation examples, taken from random positions, seed {seed}.")
    said = text.format(n=facts.n_examples, seed=facts.seed)
    if facts.n >= facts.wanted:
        return said
    text = _(
        "Examples of this task have at most {n} tokens, so the measurement ends before "
        "position {wanted}."
    )
    if facts.kind is PositionKind.LEARNED and facts.n == max_seq_len:
        text = _(
            "The learned table has {n} rows: position {n} (counting from 0) has none, so the "
            "measurement ends before position {wanted}."
        )
    return sentences(said, text.format(n=facts.n, wanted=facts.wanted))


def draw_loss(facts: LossFacts, *, _: Translate) -> Picture:
    """The loss by position."""
    return beyond_picture.loss(facts, terms.option(facts.kind), _=_)


@lru_cache(maxsize=64)
def text_bits(run: Run, text: str, step: int) -> NDArray[np.float64]:
    """Bits by position in one window of a text."""
    tokenizer, most = starts.model(run.weights).tokenizer, min(LONGEST, run.config.max_seq_len - 1)
    window = windows(tokenizer, text, most, N_WINDOWS)[step]
    with cached.turn(run.device):
        return beyond_length.bits_by_position(cached.model(run), window.to(run.device))


@lru_cache(maxsize=32)
def text_facts(run: Run, text: str, n_steps: int) -> LossFacts:
    """What a token of a text costs by its position, with no length that counts as trained."""
    bits = np.sum([text_bits(run, text, step) for step in range(n_steps)], axis=0)
    return LossFacts(
        run.config.position.position_kind,
        seed=run.seed,
        trained_len=run.config.max_seq_len,
        n=bits.shape[1],
        n_examples=n_steps,
        bands=beyond_length.bits_in_bands(bits, -(-bits.shape[1] // N_BANDS)),
        inside=None,
        last=None,
    )


def says_text(facts: LossFacts) -> str:
    """What a token costs at the beginning of a window and at its end."""
    first, last = facts.bands.iloc[0], facts.bands.iloc[-1]
    text = _(
        "At positions {a} to {b}, a token costs {first:.2f} ± {first_error:.2f} bits on "
        "average; at positions {c} to {d}, it costs {last:.2f} ± {last_error:.2f} ({kind})."
    )
    said = text.format(
        a=int(first["first"]),
        b=int(first["last"]),
        c=int(last["first"]),
        d=int(last["last"]),
        first=first["bits"],
        first_error=first["error"],
        last=last["bits"],
        last_error=last["error"],
        kind=terms.option(facts.kind),
    )
    if facts.falls:
        return sentences(
            said, _("What the model has read so far makes the next token easier to predict.")
        )
    return said


def says_windows(facts: LossFacts, is_shipped: bool) -> str:
    """Which text it was, and how far it reaches."""
    text = _("Windows of {length} tokens, each starting later in the text, are used: {n} of them.")
    if is_shipped:
        text = _(
            "The sidebar's text has fewer than {least} tokens, so a text that ships with "
            "Blockscope is used. Windows of {length} tokens, each beginning further on in it:"
            " {n}."
        )
    error = _("± is the standard error over the tokens, treated as independent.")
    reach = _("The model's file allows texts of up to {longest:,} tokens.")
    return sentences(
        text.format(n=facts.n_examples, length=facts.n + 1, least=LEAST_TOKENS),
        error,
        reach.format(longest=facts.trained_len),
    )


def of_a_text(run: Run, place: DeltaGenerator) -> None:
    """The loss by position of the text that is typed, or where it is short, of one that ships."""
    tokenizer, text = starts.model(run.weights).tokenizer, link.value("text")
    is_short = len(tokenizer.encode(text)) < LEAST_TOKENS
    text = paragraph(language_of(tokenizer)) if is_short else text
    steps = [partial(text_bits, run, text, step) for step in range(N_WINDOWS)]
    n_steps = len(in_steps(steps, what=(run, text), key="text_steps").found)
    if not n_steps:
        return
    shown = run, text, n_steps
    with place:
        say(says_text, *shown, facts=text_facts)
    show(draw_loss, *shown, facts=text_facts, key="loss_far")
    note(says_windows(text_facts(*shown), is_short))


def reads_on(run: Run) -> bool:
    """Whether a model without a task of its own can be asked for the tokens of a text."""
    has_words = bool(run.weights) and run.config.architecture is Architecture.GPT
    return has_words and trained.spec(run) is None and not starts.measuring_fault(run.weights)


def says_lack(run: Run) -> str:
    """What the model lacks for a loss to be measured; empty where it lacks nothing."""
    if not run.weights:
        return _("The weights are random, so losses mean nothing yet.")
    if trained.spec(run) is not None:
        return ""
    text = _(
        "{name} came without a training task that can be repeated here, so there are no "
        "validation examples on which to measure its loss, at any length."
    )
    return text.format(name=literal(brought.title(run.weights)))


@section
def what_it_costs(run: Run) -> None:
    """The loss by position, where the weights are trained."""
    place = explained(("beyond_length", "surprise"), (beyond_length.bits_by_position,), key="costs")
    if reads_on(run):
        of_a_text(run, place)
        return
    if lack := says_lack(run):
        place.info(lack, icon=":material/info:")
        label, icon = _("Open the trained story model"), ":material/model_training:"
        way(label, "open_trained", icon=icon, preset=TRAINED)
        return
    length = trained.length(run)
    n = trained.longest_measured(run, length)
    if trained.task_of(run, n) is None:
        text = _("The task of this model has no examples of this length. Choose another L.")
        place.info(text, icon=":material/info:")
        label = _("Use {mend}").format(mend=f"L = {trained.own_length(run)}")
        way(label, "own_length", trained_len=None)
        return
    steps = [partial(measured_bits, run, n, step) for step in range(N_STEPS)]
    n_steps = len(in_steps(steps, what=(run, n), key="costs_steps").found)
    if not n_steps:
        return
    shown = run, n, n_steps, length
    with place:
        say(says_loss, *shown, facts=loss_facts)
    show(draw_loss, *shown, facts=loss_facts, key="loss_far")
    note(says_examples(loss_facts(*shown), run.config.max_seq_len))
