"""What a token costs in texts longer than the model was made for, where it is trained."""

from collections.abc import Hashable, Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from blocks.corpora.paragraphs import language_of, paragraph
from blocks.efficiency.own_text import LEAST_TOKENS, windows
from blocks.inspection import beyond_length
from blocks.inspection.beyond_length import LossFacts
from blocks.model.faults import N_
from blocks.model.kinds import Architecture, PositionKind
from blocks.model.randomness import generator
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, band, line
from pages.page.declared import Panel
from pages.panels.positions import trained
from pages.server import brought, cached, starts
from pages.show.parts import Item, Note, Say, Shown, Steps
from pages.show.ways import way
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, fill, literal, sentences

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
def loss_facts(run: Run, n: int, trained_len: int, n_steps: int) -> LossFacts:
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
    kind = terms.option(facts.kind)
    if facts.last is None:
        text = _(
            "In the second half of the trained length ({trained_len} tokens), the loss is "
            "{inside:.2f} bits per token ({kind})."
        )
        return fill(text, facts, kind=kind)
    text = _(
        "In the second half of the trained length ({trained_len} tokens), the loss is "
        "{inside:.2f} bits per token; at the last positions, up to position {n}, it is "
        "{last:.2f} ({kind}). {reading}"
    )
    return fill(text, facts, kind=kind, reading=_reading(facts))


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
    text = _(
        "The loss is measured on {n_examples} validation examples, taken from random "
        "positions (seed {seed})."
    )
    said = fill(text, facts)
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
    return sentences(said, fill(text, facts))


def by_position(facts: LossFacts) -> Chart:
    """Bits per token by position, within two standard errors, the trained length marked."""
    bands, edge = facts.bands, facts.trained_len + 0.5
    error = 2 * bands["error"]
    rows = bands.assign(low=bands["bits"] - error, high=bands["bits"] + error)
    is_reached = edge <= bands["last"].max() + 1
    ends = 0, float(bands["last"].max()) * 1.01
    hover = _("positions {first} to {last}: {bits} bits per token, {n} tokens").format(
        first="{first:.0f}", last="{last:.0f}", bits="{bits:.3f}", n="{count:,.0f}"
    )
    return Chart(
        _("Bits per token by position ({kind})").format(kind=terms.option(facts.kind)),
        rows,
        Axis(_("position in the text (from 1)"), ends, of="position"),
        Axis(_("bits per token"), (0, 1.08 * float(rows["high"].max()))),
        [
            band("low", "high", palette.HELD_OUT),
            line("bits", Look(_("mean, ± 2 standard errors"), palette.HELD_OUT, "circle", size=6)),
        ],
        hover=hover,
        tall=246,
        levels=[Level(x=edge, name=f"L = {facts.trained_len}")] if is_reached else [],
    )


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
    text = _(
        "At positions {a[first]:.0f} to {a[last]:.0f}, a token costs {a[bits]:.2f} ± "
        "{a[error]:.2f} bits on average; at positions {z[first]:.0f} to {z[last]:.0f}, it costs "
        "{z[bits]:.2f} ± {z[error]:.2f} ({kind})."
    )
    said = fill(text, a=facts.bands.iloc[0], z=facts.bands.iloc[-1], kind=terms.option(facts.kind))
    falls = _("What the model has read so far makes the next token easier to predict.")
    return sentences(said, falls if facts.falls else "")


def text_of(run: Run, state: State) -> tuple[str, bool]:
    """The text that is typed, or where it is short, one that ships; and whether it ships."""
    tokenizer, text = starts.model(run.weights).tokenizer, state.text
    is_short = len(tokenizer.encode(text)) < LEAST_TOKENS
    return paragraph(language_of(tokenizer)) if is_short else text, is_short


def says_windows(facts: LossFacts, is_shipped: bool) -> str:
    """Which text it was, and how far it reaches."""
    text = _(
        "Windows of {length} tokens are used ({n} in all), each starting later in the text "
        "than the one before."
    )
    if is_shipped:
        text = _(
            "The sidebar's text has fewer than {least} tokens, so a text that ships with "
            "Blockscope is used. It is read in windows of {length} tokens, each starting "
            "later than the one before: {n} in all."
        )
    error = _("± is the standard error over the tokens, treated as independent.")
    reach = _("The model's file allows texts of up to {trained_len:,} tokens.")
    said = text.format(n=facts.n_examples, length=facts.n + 1, least=LEAST_TOKENS)
    return sentences(said, error, fill(reach, facts))


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
    return _(
        "{name} came without a training task that can be repeated here, so there are no "
        "validation examples on which to measure its loss, at any length."
    ).format(name=literal(brought.title(run.weights)))


def lacking(run: Run, state: State) -> str | None:
    """Why there is no loss; None where there is one."""
    if reads_on(run):
        return None
    if lack := says_lack(run):
        return lack
    if trained.task_of(run, trained.longest_measured(run, trained.length(run, state))) is None:
        return _("The task of this model has no examples of this length. Choose another L.")
    return None


def way_to_a_loss(run: Run) -> None:
    """The way to a model, or a length, that has one."""
    if says_lack(run):
        label, icon = _("Open the trained story model"), ":material/model_training:"
        way(label, "open_trained", icon=icon, preset=TRAINED)
    else:
        label = _("Use {mend}").format(mend=f"L = {trained.own_length(run)}")
        way(label, "own_length", trained_len=None)


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """The text and whether it ships, or how many positions are measured and the trained length."""
    if reads_on(run):
        return (run, *text_of(run, state))
    length = trained.length(run, state)
    return run, trained.longest_measured(run, length), length


def text_steps(run: Run, text: str) -> list[partial[NDArray[np.float64]]]:
    return [partial(text_bits, run, text, step) for step in range(N_WINDOWS)]


def task_steps(run: Run, n: int) -> list[partial[NDArray[np.float64]]]:
    return [partial(measured_bits, run, n, step) for step in range(N_STEPS)]


def shown(run: Run, state: State) -> Sequence[Item]:
    """The loss by position of a text, or of the task that the model was trained on."""
    if reads_on(run):
        is_short = text_of(run, state)[1]
        notes = Note(lambda facts: says_windows(facts, is_short), text_facts)
        parts = Say(says_text, text_facts), Shown(by_position, "loss_far", facts=text_facts), notes
        return (Steps(text_steps, *parts, key="text_steps"),)
    notes = Note(lambda facts: says_examples(facts, run.config.max_seq_len))
    return (
        Steps(task_steps, Say(says_loss), Shown(by_position, "loss_far"), notes, key="costs_steps"),
    )


PANEL = Panel(
    "loss",
    N_("Does the loss rise with length?"),
    fields=("position_kind", "n_layers"),
    of_attention=True,
    concepts=("beyond_length", "surprise"),
    code=(beyond_length.bits_by_position,),
    at=at,
    absent=lacking,
    mend=way_to_a_loss,
    facts=loss_facts,
    shows=shown,
)
