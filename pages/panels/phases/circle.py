"""What is the circle? The embedding of the numbers of a modular sum, and what it is worth."""

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import fourier
from blocks.phases.clock import Clock
from blocks.phases.facts import SumFacts
from blocks.training.algorithms import MODULUS
from blocks.training.tasks import MODULAR, TaskKind
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, bars, line
from pages.page.declared import Panel
from pages.panels.phases import shared
from pages.show.choices import chooses
from pages.show.controls import choose
from pages.show.parts import Beside, Controls, Note, OffScreen, Say, Shown, Text
from pages.state.values import State
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent

QUESTIONS = {  # those that the curves of the same runs name first: a, b, the answer, the sign of b
    TaskKind.MODULAR_ADDITION: (41, 30, 12, 1),
    TaskKind.MODULAR_SUBTRACTION: (30, 41, 48, -1),
}
NAMED_EVERY = 3  # of the numbers on the circle: all would lie on each other
ROUND_BELOW = 0.2  # the wobble of what is called a circle; that of scattered points is a half


def at(_run: Run | None, state: State) -> tuple[Clock, int, int]:
    """The training, the look at it, and which key frequency."""
    series = shared.clock(state.sum_task, state)
    return series, shared.shown_step(series, state), int(state.key_frequency)


@chooses("sum_task", "phase_seed")
def choices(_run: Run | None) -> None:
    """The task and the seed."""
    left, right = st.columns([3, 2])
    with left:
        choose("sum_task", _("Task"), MODULAR)
    with right:
        shared.seed_choice("circle")


def facts_of(series: Clock, step: int) -> SumFacts:
    """Those of a modular sum."""
    found = shared.facts_of(series, step)
    assert isinstance(found, SumFacts)
    return found


def drawn_of(series: Clock, step: int, place: int) -> tuple[SumFacts, int]:
    """With the key frequency that is drawn: the one of the link, or the last there is."""
    facts = facts_of(series, step)
    return facts, min(place, len(facts.keys) - 1)


def says_circle(drawn: tuple[SumFacts, int]) -> str:
    """How much of the embedding a few frequencies hold, and what goes without them."""
    facts = drawn[0]
    text = _(
        "In the end, {n} of 29 frequencies hold {share} of the embedding's energy ({chance} if all "
        "frequencies were equal)."
    )
    said = text.format(
        n=len(facts.keys), share=percent(facts.key_share()), chance=percent(facts.chance_share)
    )
    here = _("At step {step:,}, they hold {now}.")
    here = here.format(step=facts.now.step, now=percent(facts.key_share(facts.i)))
    here = "" if facts.now is facts.last else here
    return sentences(said, here, _cut(facts), _says_round(drawn))


def _says_round(drawn: tuple[SumFacts, int]) -> str:
    """Why the numbers lie on a circle, where they do, and how one question is answered on it."""
    facts, place = drawn
    k, wobble = facts.keys[place], facts.wobble(place, facts.i)
    if wobble > ROUND_BELOW:
        text = _(
            "In the plane of k = {k}, the numbers do not lie on a circle at this step: their "
            "distances from the center have a standard deviation of {wobble} of their mean."
        )
        return text.format(k=k, wobble=percent(wobble))
    text = _(
        "The model turns each number into an angle and calculates with angles. That is why the "
        "numbers lie on a circle in the plane of k = {k}."
    )
    return sentences(text.format(k=k), _says_angles(facts, place))


def _says_angles(facts: SumFacts, place: int) -> str:
    """Two measured angles, what they make together, and where the answer lies."""
    text = _(
        "Measured from 0, {a} lies at {of_a:.0f}° and {b} at {of_b:.0f}°. Their sum without full "
        "turns is {together:.0f}°, and the answer {c} lies at {of_c:.0f}°."
    )
    a, b, c, sign = QUESTIONS[facts.clock.kind]
    if sign < 0:
        text = _(
            "Measured from 0, {a} lies at {of_a:.0f}° and {b} at {of_b:.0f}°. Their difference "
            "without full turns is {together:.0f}°, and the answer {c} lies at {of_c:.0f}°."
        )
    turned = facts.turned(place)
    of_a, of_b, of_c = (round(turned[number]) for number in (a, b, c))  # the sum is one of these
    together = (of_a + sign * of_b) % 360
    return text.format(a=a, b=b, c=c, of_a=of_a, of_b=of_b, of_c=of_c, together=together)


def _says_neighbors(k: int) -> str:
    """Which numbers lie side by side on the circle, and why."""
    step = min(pow(k, -1, MODULUS), pow(-k, -1, MODULUS))
    text = _(
        "Neighbors on the circle differ by {step}, because {step} · {k} = {turns} · 59 {one}, so "
        "their angles differ by 1/59 of a full turn."
    )
    one = "+ 1" if step * k % MODULUS == 1 else "− 1"
    return text.format(k=k, step=step, turns=round(step * k / MODULUS), one=one)


def _cut(facts: SumFacts) -> str:
    text = _(
        "When these frequencies are removed from the embedding, the answers are lost: the loss on "
        "all pairs goes from {whole:.3f} to {lost:.2f} nats (a blind guess: {guess:.2f}). When the"
        " same number of other frequencies is removed, the loss is {kept_without_others:.3f}."
    )
    return fill(text, facts, whole=facts.whole[-1])


def says_wobble(drawn: tuple[SumFacts, int]) -> str:
    """How far from a circle the numbers are."""
    facts, place = drawn
    wobble = facts.wobble(place, facts.i)
    text = _(
        "In the plane of k = {k}, the distances of the numbers from their center have a "
        "standard deviation that is {now} of their mean at step {step:,}. On a circle it "
        "would be 0%; at step 0 it is {first}."
    )
    said = text.format(
        k=facts.keys[place],
        now=percent(wobble),
        step=facts.now.step,
        first=percent(facts.wobble(place, 0)),
    )
    return sentences(said, _says_neighbors(facts.keys[place]) if wobble <= ROUND_BELOW else "")


def frequency_choice(series: Clock, step: int, place: int) -> None:
    """Which of the key frequencies is drawn."""
    facts, shown = drawn_of(series, step, place)
    keys = facts.keys
    label = _("Key frequency k, the strongest first")
    places = map(str, range(len(keys)))
    choose("key_frequency", label, places, shown=str(shown), label_of=lambda i: str(keys[int(i)]))


def circle(drawn: tuple[SumFacts, int]) -> Chart:
    """The numbers in the plane in which one frequency turns in the end."""
    facts, place = drawn
    table, k = facts.circle(place), facts.keys[place]
    told = table["number"].isin([0, *QUESTIONS[facts.clock.kind][:3]])
    beside = told.shift(fill_value=False) | told.shift(-1, fill_value=False)
    has_name = told | (table.index % NAMED_EVERY == 0) & ~beside
    table["name"] = table["number"].astype(str).where(has_name & (table.index < MODULUS), "")
    most = 1.25 * float(abs(facts.back["circle"][facts.i, place]).max())
    text = _("Plane of k = {k}, step {step:,}")
    return Chart(
        text.format(k=k, step=facts.now.step),
        table,
        Axis(_("first direction"), (-most, most), of="x", has_zero=True),
        Axis(_("second direction"), (-most, most), has_zero=True, is_as_wide=True),
        [
            line(
                "y",
                Look(
                    _("in the order of k · a mod 59"), palette.EMBEDDING, "circle", size=6, width=1
                ),
                text="{name}",
                text_at=[*map(shared.beyond, table["x"], table["y"])],
            )
        ],
        hover="{number}",
        tall=310,
        legend=Legend.NONE,
    )


def spectrum(facts: SumFacts) -> Chart:
    """The share of each frequency in the embedding at the step."""
    table = facts.spectrum
    highest = float(facts.back["energy"].max())
    return Chart(
        _("Fourier energy of the embedding, step {step:,}").format(step=facts.now.step),
        table,
        Axis(_("frequency k"), of="k"),
        Axis(_("share of the energy"), (0, highest), is_share=True),
        [
            bars("share", Look(_("key frequencies"), palette.NORM), rows=table[table["is_key"]]),
            bars("share", Look(_("others"), palette.BEFORE), rows=table[~table["is_key"]]),
        ],
        hover=_("k = {k}: {share}").format(k="{k}", share="{share:.1%}"),
        stack="stack",  # bars of both are equally wide, wherever the key frequencies lie
        tall=230,
        legend=Legend.FOOT,
    )


def ablated(facts: SumFacts) -> Chart:
    """The loss with the key frequencies taken out of the embedding, and with others."""
    table = facts.table.assign(whole=facts.whole)
    names = ["whole", "without_keys", "without_others"]
    table[names] = table[names].clip(lower=shared.LOWEST)
    drawn = table[names].to_numpy()
    return Chart(
        _("Removed from the embedding"),
        table,
        shared.steps_axis(facts),
        Axis(_("loss on all pairs, nats"), (float(drawn.min()), float(drawn.max())), is_log=True),
        [
            line("whole", Look(_("nothing removed"), palette.HELD_OUT)),
            line("without_keys", Look(_("without the key frequencies"), palette.NORM)),
            line(
                "without_others",
                Look(_("without the same number of other frequencies"), palette.BEFORE, dash="dot"),
            ),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        tall=230,
        legend=Legend.FOOT,
        levels=shared.now(facts),
    )


PANEL = Panel(
    "circle",
    N_("What is the circle?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=facts_of,
    absent=shared.says_untrained,
    mend=lambda series: shared.train(series, "circle"),
    concepts=("grokking",),
    code=(fourier.energy, fourier.planes, fourier.without),
    shows=(
        Say(says_circle, facts=drawn_of),
        Controls(frequency_choice),
        Beside(
            (
                Shown(circle, "number_circle", facts=drawn_of, room=440),
                OffScreen(Text(says_wobble, facts=drawn_of)),
            ),
            (
                shared.step_choice("circle", is_aside=False),
                Shown(spectrum, "embedding_energy", room=330),
                OffScreen(Shown(ablated, "without_frequencies")),
            ),
            widths=(2, 3),
        ),
        Note(
            N_(
                "Every step is shown in the plane computed at the end of the run, so that the"
                " picture does not rotate as you move through it. The planes of several "
                "frequencies are not at right angles to each other, so each is read in a way "
                "that hides the other key frequencies. The wobble that remains at the end "
                "comes from the weaker frequencies; where the cosine and the sine of a "
                "frequency are not equally strong, the numbers lie on an ellipse. Key "
                "frequencies are the strongest ones at the end: as many as it takes to hold "
                "90% of the energy, but at most six (Nanda et al. 2023)."
            )
        ),
    ),
)
