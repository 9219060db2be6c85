"""When did it learn it? Losses on what is learned from and on what is not, and its circuit."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import clock, fourier
from blocks.phases.clock import Clock
from blocks.phases.facts import N_LAST, ClockFacts, SumFacts
from blocks.phases.setups import SETUPS
from blocks.training.tasks import TaskKind
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, line
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.controls import choose
from pages.show.parts import Item, Note, Say, Shown
from pages.show.ways import take
from pages.stage import link, present
from pages.state.values import State
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent

TOGETHER = 0.1  # the most by which two shares differ that rise together

LEARNS = {
    TaskKind.MODULAR_ADDITION: N_(
        "The model learns to add on a clock of 59 hours: 41 + 30 = 71, which is 59 + 12, so the "
        "answer is 12."
    ),
    TaskKind.MODULAR_SUBTRACTION: N_(
        "The model learns to subtract on a clock of 59 hours: 30 − 41 = −11, which is 48 − 59, "
        "so the answer is 48."
    ),
    TaskKind.PARITY: N_(
        "The model reads zeros and ones and says after each whether the number of ones so far is "
        "odd: for 1101 the answer is 1001."
    ),
    TaskKind.BRACKETS: N_(
        "The model reads a row of brackets and says which bracket closes the innermost open "
        "one: after ([] the answer is )."
    ),
    TaskKind.INDUCTION: N_(
        "The model reads a random sequence of tokens that repeats and learns to predict the "
        "repetition."
    ),
}


def at(_run: Run | None, state: State) -> tuple[Clock, int]:
    """The training, and the look at it."""
    series = shared.clock(state.phase_task, state)
    return series, shared.shown_step(series, state)


@chooses("phase_task", "phase_seed")
def choices(_run: Run | None) -> None:
    """The task and the seed."""
    left, right = st.columns([3, 2])
    with left:
        choose("phase_task", _("Task"), SETUPS)
    with right:
        shared.seed_choice("grokking")


def says_when(facts: ClockFacts) -> str:
    """What it learns, when it answers what it learns from, and when what it never sees."""
    task = _(LEARNS[facts.clock.kind])
    return sentences(task, _split(facts), _memorized(facts), _learned(facts))


def _split(facts: ClockFacts) -> str:
    if not isinstance(facts, SumFacts):
        return ""
    text = _("It sees {percent}% of all such questions again and again, and never the others.")
    return text.format(percent=facts.clock.setup.task.learned_percent)


def _memorized(facts: ClockFacts) -> str:
    if facts.memorized is None:
        text = _(
            "On average over the last {n} measurements, it answers {share} of its training "
            "questions correctly."
        )
        return text.format(n=N_LAST, share=percent(facts.ends["learned_accuracy"]))
    text = _(
        "By step {step:,}, it answers more than 99% of its training questions correctly, and "
        "{share} of those that it never sees."
    )
    return text.format(step=facts.memorized.step, share=percent(facts.memorized.accuracy))


def _learned(facts: ClockFacts) -> str:
    if facts.learned_at is None:
        text = _(
            "Of the questions that it never sees, it answers {share} correctly on average over the "
            "last {n} measurements."
        )
        return sentences(
            text.format(n=N_LAST, share=percent(facts.ends["accuracy"])), _together(facts)
        )
    text = _(
        "From step {learned_at:,} on, it answers more than 99% of the unseen questions "
        "correctly, too."
    )
    if facts.memorized and facts.memorized.accuracy < 0.5:
        text = sentences(text, _("Such late understanding is called **grokking**."))
    return fill(text, facts)


def _together(facts: ClockFacts) -> str:
    """That nothing is late, where the unseen questions are learned with the others."""
    text = _("Nothing is late here, for both shares differ by {n:.1f} percentage points at most.")
    return text.format(n=100 * facts.apart) if facts.apart < TOGETHER else ""


def says_stretches(facts: ClockFacts) -> str | None:
    """How many updates either kind of question took on its way, which may be as sudden."""
    if not (isinstance(facts, SumFacts) and facts.has_learned and facts.memorized):
        return None
    text = _(
        "From 10% to 90% correct takes {n:,} updates for the questions that it sees (steps {a:,} "
        "to {b:,}) and {m:,} for the others (steps {c:,} to {d:,})."
    )
    (a, b, n), (c, d, m) = (facts.stretch(each) for each in ("learned_accuracy", "accuracy"))
    return text.format(n=n, m=m, a=a, b=b, c=c, d=d)


def says_order(facts: ClockFacts) -> str | None:
    """Which measures of the circuit moved before the held-out loss and which after it."""
    if not (isinstance(facts, SumFacts) and facts.has_learned):
        return None
    text = _(
        "The held-out loss falls to half of its peak of {before:.2f} nats at step {jump:,}: the "
        "jump. Inside the model, restricted loss is halfway down by step {restricted_at:,} ({one});"
        " excluded loss is lowest at step {excluded_at:,} ({other}), and by the jump it has "
        "risen from {least:.1f} to {most:.1f} nats."
    )
    one, other = (_distance(each, facts.jump) for each in (facts.restricted_at, facts.excluded_at))
    least, most = facts.excluded_rise
    return fill(text, facts, one=one, other=other, least=least, most=most)


def _distance(step: int, jump: int) -> str:
    """Whether a measure moves before the jump or after it, and by how many updates."""
    if step == jump:
        return _("at the jump")
    text = _("{n:,} updates after the jump") if step > jump else _("{n:,} updates before the jump")
    return text.format(n=abs(step - jump))


def says_measures(facts: ClockFacts) -> str | None:
    """What the two measures of the circuit read."""
    if not isinstance(facts, SumFacts):
        return None
    text = _(
        "Restricted loss uses only the key frequencies {keys}, on all questions: it falls as "
        "the circuit forms. Excluded loss leaves them out, on the training questions: if it "
        "is near 0, these have been memorized in another way; if it is above a blind guess "
        "({guess:.2f} nats), the answers depend on the key frequencies. Both can be computed "
        "only after the run, when the frequencies are known. Losses below {lowest:g} are "
        "drawn at the edge."
    )
    frequencies = ", ".join(map(str, sorted(facts.keys)))
    keys = text.format(keys=frequencies, guess=facts.guess, lowest=shared.LOWEST)
    return sentences(keys, _norm(facts) if facts.has_learned else "")


def _norm(facts: SumFacts) -> str:
    """How the size of the weights goes down, up and down again."""
    text = _(
        "The weight norm, the size of all weights together, falls from {start:.0f} to "
        "{least:.0f} by step {low:,}, rises to {most:.0f} by step {high:,}, and falls again, to "
        "{end:.0f} in the end."
    )
    low, high = facts.norm_turns
    return text.format(
        start=facts.kept[0].weight_norm,
        least=low.weight_norm,
        low=low.step,
        most=high.weight_norm,
        high=high.step,
        end=facts.last.weight_norm,
    )


def curves(facts: ClockFacts) -> Chart:
    """Answers above, losses in the middle, the size of the weights below; on one axis of steps."""
    chart = large(facts)
    weights = line("weight_norm", Look(_("weight norm"), palette.RESIDUAL), plot=2)
    return replace(
        chart,
        y=(*chart.y_axes, Axis(_("weight norm"), from_0=True, is_heading=True, n_ticks=3)),
        series=[*chart.series, weights],
        levels=shared.now(facts, 3),
    )


def large(facts: ClockFacts) -> Chart:
    """Answers and losses alone, of which the sentence speaks: so each has more room."""
    table, above = facts.table.copy(), {"plot": 0, "in_legend": False}
    losses = [
        ("loss", Look(_("training examples"), palette.LEARNED)),
        ("held_out_loss", Look(_("never seen"), palette.HELD_OUT)),
    ]
    if isinstance(facts, SumFacts):
        losses += [
            ("restricted", Look(_("restricted: key frequencies only"), palette.NORM, dash="dot")),
            ("excluded", Look(_("excluded: without them"), palette.FEED_FORWARD, dash="dash")),
            ("guess", Look(_("blind guess"), palette.BEFORE, width=1, dash="dashdot")),
        ]
        table["guess"] = facts.guess
    names = [name for name, _look in losses]
    table[names] = table[names].clip(lower=shared.LOWEST)
    drawn = table[names].to_numpy()
    ends = (float(drawn.min()), float(drawn.max()))
    return Chart(
        _("One run on one time axis"),
        table,
        shared.steps_axis(facts),
        (
            Axis(_("answered correctly"), (0, 1.02), is_share=True, is_heading=True, share=2),
            Axis(_("loss, nats"), ends, is_log=True, is_heading=True, share=3),
        ),
        [
            *(line(name, look, plot=1) for name, look in losses),
            line("learned_accuracy", Look(_("learned from"), palette.LEARNED), **above),
            line("accuracy", Look(_("never seen"), palette.HELD_OUT), **above),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        click=("step",),
        tall=320,
        legend=Legend.FOOT,
        levels=shared.now(facts, 2),
    )


def set_step(customdata: list[int]) -> None:
    """Look at the step that was clicked."""
    kind = TaskKind(link.now().phase_task)
    take({shared.step_field(kind): int(customdata[0])})


def says_how(facts: ClockFacts) -> str:
    """What was trained."""
    setup = facts.clock.setup
    text = _(
        "Layers: {layers}, d_model {d}, {heads} heads, dropout {dropout:g}; AdamW with a "
        "learning rate of {rate:g} and a weight decay of {decay:g} on all weights, {batch} "
        "examples per update, seed {seed}. The model is measured every {every} updates."
    )
    return text.format(
        layers=setup.config.n_layers,
        d=setup.config.d_model,
        heads=setup.config.n_heads,
        dropout=setup.config.dropout,
        rate=setup.recipe.learning_rate,
        decay=setup.recipe.weight_decay,
        batch=setup.recipe.batch_size,
        seed=facts.clock.seed,
        every=setup.every,
    )


SHOWS = (
    Say(says_when),
    Shown(curves, "phase_curves", click=set_step),
    shared.step_choice("grokking"),
    Note(says_stretches),
    Note(says_order),
    Note(says_measures),
    Note(says_how),
)


def shows() -> Sequence[Item]:
    """Before a class the sentence and the curves that it speaks of."""
    before_a_class = (Say(says_when), Shown(large, "phase_curves_large", room=465))
    return before_a_class if present.is_on() else SHOWS


PANEL = Panel(
    "grokking",
    N_("When did it learn it?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=shared.facts_of,
    absent=shared.says_untrained,
    mend=lambda series: shared.train(series, "grokking"),
    concepts=("grokking",),
    code=(clock.look, fourier.restricted_loss, fourier.excluded_loss),
    shows=shows,
)
