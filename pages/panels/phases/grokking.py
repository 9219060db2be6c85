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

LOWEST = 1e-4  # nats: below it a loss is drawn at the edge


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
    """How much later it generalizes than it memorizes."""
    text = _(
        "The loss on what it learns from falls to half by step {memorized_at:,}. On questions that "
        "it never sees the loss peaks at {before:.2f} nats and falls to half of that only by step "
        "{jump:,}."
    )
    said = fill(text, facts)
    return sentences(said, _learned(facts), _now(facts))


def _learned(facts: ClockFacts) -> str:
    if facts.learned_at is None:
        text = _("In the end it answers {share} of them correctly.")
        return text.format(share=percent(facts.last.accuracy))
    text = _("From step {step:,} on it answers more than 99% of them correctly.")
    return text.format(step=facts.learned_at)


def _now(facts: ClockFacts) -> str:
    text = _("At step {step:,}, where the line stands, it is {share}.")
    return text.format(step=facts.now.step, share=percent(facts.now.accuracy))


def says_order(facts: ClockFacts) -> str | None:
    """Which measure of the circuit moved before the held-out loss and which after it."""
    if not isinstance(facts, SumFacts):
        return None
    order = _(
        "Restricted loss is half-way down by step {restricted:,}, {one}, excluded loss half-way up "
        "by step {excluded:,}, {other}."
    )
    meant = _(
        "The jump is step {jump:,}, where the held-out loss has fallen to half. Restricted loss "
        "reads the key frequencies {keys} alone, and excluded loss leaves them out. Both need the "
        "end of the run to know the frequencies."
    )
    one, other = (_order(each, facts.jump) for each in (facts.restricted_at, facts.excluded_at))
    said = order.format(
        restricted=facts.restricted_at, excluded=facts.excluded_at, one=one, other=other
    )
    keys = ", ".join(map(str, sorted(facts.keys)))
    return sentences(said, meant.format(jump=facts.jump, keys=keys))


def _order(step: int, jump: int) -> str:
    """Whether a measure moves before the jump or after it, and by how many updates."""
    if step == jump:
        return _("at the jump")
    text = _("{n:,} updates after the jump") if step > jump else _("{n:,} updates before the jump")
    return text.format(n=abs(step - jump))


def curves(facts: ClockFacts) -> Chart:
    """Losses above, shares in the middle, the size of the weights below; on one axis of steps."""
    losses = [
        ("loss", Look(_("training examples"), palette.LEARNED)),
        ("held_out_loss", Look(_("never seen"), palette.HELD_OUT)),
    ]
    if isinstance(facts, SumFacts):
        losses += [
            ("restricted", Look(_("restricted"), palette.NORM, dash="dot")),
            ("excluded", Look(_("excluded"), palette.FEED_FORWARD, dash="dash")),
        ]
    table = facts.table.copy()
    names = [name for name, _look in losses]
    table[names] = table[names].clip(lower=LOWEST)
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
            Axis(_("share"), (0, 1), is_share=True, is_heading=True, share=2),
            Axis(_("weight norm"), from_0=True, is_heading=True, n_ticks=3),
        ),
        [
            *(line(name, look, plot=0) for name, look in losses),
            line("accuracy", Look(_("correct, never seen"), palette.ATTENTION), plot=1),
            line("sink_mass", Look(_("attention on the first token"), palette.BEFORE), plot=1),
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
        Shown(curves, "phase_curves", click=click_sets("clock_step")),
        Note(says_order),
        Note(says_how),
    ),
)
