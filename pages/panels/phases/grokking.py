"""When did it learn it? Losses on what is learned from and on what is not, and its circuit."""

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import clock, fourier
from blocks.phases.clock import Clock
from blocks.phases.facts import ClockFacts, SumFacts
from blocks.phases.setups import MODULAR, SETUPS
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, line
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.controls import choose
from pages.show.parts import Note, Say, Shown
from pages.show.ways import click_sets
from pages.state.values import State
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent


def at(_run: Run | None, state: State) -> tuple[Clock, int]:
    """The training, and the look at it."""
    series = shared.clock(state.phase_task, state)
    return series, shared.shown_step(series, state)


@chooses("phase_task", "phase_seed")
def choices(_run: Run | None) -> None:
    """The task and the seed."""
    choose("phase_task", _("Task"), SETUPS)
    shared.seed_choice("grokking")


def says_when(facts: ClockFacts) -> str:
    """How much later it generalizes than it memorizes, and what moved inside before."""
    order = _order(facts) if isinstance(facts, SumFacts) and facts.has_learned else ""
    return sentences(_memorized(facts), _learned(facts), order)


def _memorized(facts: ClockFacts) -> str:
    if facts.memorized is None:
        text = _("In the end, it answers {share} of its training questions correctly.")
        return text.format(share=percent(facts.last.learned_accuracy))
    text = _(
        "By step {step:,}, it answers more than 99% of its training questions correctly, but "
        "only {share} of those that it never sees."
    )
    return text.format(step=facts.memorized.step, share=percent(facts.memorized.accuracy))


def _learned(facts: ClockFacts) -> str:
    if facts.learned_at is None:
        text = _("Of the questions that it never sees, it answers {share} correctly in the end.")
        return text.format(share=percent(facts.last.accuracy))
    text = _(
        "The jump comes at step {jump:,}, where the held-out loss has fallen to half of its "
        "peak of {before:.2f} nats; from step {learned_at:,} on, more than 99% of the unseen "
        "questions are correct, too."
    )
    return fill(text, facts)


def _order(facts: SumFacts) -> str:
    """Which measures of the circuit moved before the held-out loss and which after it."""
    text = _(
        "Inside the model, restricted loss is halfway down by step {restricted_at:,} ({one});"
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
        "Restricted loss uses only the key frequencies {keys}: it falls as the circuit forms."
        " Excluded loss leaves them out and is measured on the training questions: it rises "
        "as the model comes to answer through the circuit. Both can be computed only after "
        "the run, when the frequencies are known. The weight norm falls last, when what was "
        "memorized is given up."
    )
    return text.format(keys=", ".join(map(str, sorted(facts.keys))))


def curves(facts: ClockFacts) -> Chart:
    """Losses above, answers in the middle, the size of the weights below; on one axis of steps."""
    table, below = facts.table.copy(), {"plot": 1, "in_legend": False}
    losses = [
        ("loss", Look(_("training examples"), palette.LEARNED)),
        ("held_out_loss", Look(_("never seen"), palette.HELD_OUT)),
    ]
    if isinstance(facts, SumFacts):
        losses += [
            ("restricted", Look(_("restricted"), palette.NORM, dash="dot")),
            ("excluded", Look(_("excluded"), palette.FEED_FORWARD, dash="dash")),
            ("guess", Look(_("blind guess"), palette.BEFORE, width=1, dash="dashdot")),
        ]
        table["guess"] = facts.guess
    names = [name for name, _look in losses]
    table[names] = table[names].clip(lower=shared.LOWEST)
    drawn = table[names].to_numpy()
    return Chart(
        _("One run on one time axis"),
        table,
        shared.steps_axis(facts),
        (
            Axis(
                _("loss, nats"),
                (float(drawn.min()), float(drawn.max())),
                is_log=True,
                is_heading=True,
                share=3,
            ),
            Axis(_("answered correctly"), (0, 1.02), is_share=True, is_heading=True, share=2),
            Axis(_("weight norm"), from_0=True, is_heading=True, n_ticks=3),
        ),
        [
            *(line(name, look, plot=0) for name, look in losses),
            line("learned_accuracy", Look(_("learned from"), palette.LEARNED), **below),
            line("accuracy", Look(_("never seen"), palette.HELD_OUT), **below),
            line("weight_norm", Look(_("weight norm"), palette.RESIDUAL), plot=2),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        click=("step",),
        tall=460,
        legend=Legend.FOOT,
        levels=shared.now(facts, 3),
    )


def says_how(facts: ClockFacts) -> str:
    """What was trained."""
    setup = facts.clock.setup
    text = _(
        "Layers: {layers}, d_model {d}, {heads} heads, dropout {dropout:g}; AdamW with a "
        "learning rate of {rate:g} and a weight decay of {decay:g} on all weights, {batch} "
        "examples per update, seed {seed}. It is measured every {every} updates."
    )
    said = text.format(
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
    if facts.clock.kind not in MODULAR:
        return said
    more = _("It learns from {percent}% of all 59 × 59 pairs and never sees the others.")
    return sentences(said, more.format(percent=setup.task.learned_percent))


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
    shows=(
        Say(says_when),
        shared.step_choice("grokking"),
        Shown(curves, "phase_curves", click=click_sets("clock_step"), room=430),
        Note(says_measures),
        Note(says_how),
    ),
)
