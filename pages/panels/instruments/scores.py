"""How sure the scores are: intervals, chance, and controls that must not do better."""

from collections.abc import Iterable

import pandas as pd

from blocks.known.cells import RIGHT
from blocks.known.chart import ChartFacts, chart_facts
from blocks.known.scores import Score, score
from blocks.known.words import INSTRUMENTS, QUESTIONS
from blocks.model.faults import N_
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots, line
from pages.page.declared import Panel
from pages.panels.instruments.chart import says_red
from pages.show.parts import Note, OffScreen, Say, Shown, Table, Text
from pages.words.language import _, bracketed, enumeration, fill, sentences


def says_scores(facts: ChartFacts) -> str:
    """How many instruments are better than chance, and why those may be wrong."""
    low, worst = facts.not_above, facts.worst
    text = _("For {n_above} of {n} instruments, the whole interval lies above chance.")
    said = fill(text, facts)
    if low:
        text = _("The interval reaches down to chance for {names}.")
        names = enumeration(_(INSTRUMENTS[each.instrument]) for each in low)
        said = sentences(said, text.format(names=names))
    text = _(
        "“{name}” was right about {n_right} of {n} models but has a mean score of {mean:.0%}:"
        " to count as right, precision and recall must be at least {right:.0%}, while the "
        "mean score also counts answers that are partly right."
    )
    name = _(INSTRUMENTS[worst.instrument])
    return sentences(said, fill(text, worst, name=name, right=RIGHT), says_red(facts) or "")


def says_controls(facts: ChartFacts) -> str:
    """Whether the controls hold, above their table."""
    held = _("None of the {n_controls} controls is above chance, as it should be.")
    return says_red(facts) or fill(held, facts)


def says_stable(facts: ChartFacts) -> str:
    """How far scores differ between seeds."""
    text = _(
        "Each model is tested under three seeds, with different texts and with the two "
        "trained models trained again. Between seeds, the mean score of “{name}” changes "
        "most, by {points:.0f} percentage points; on a single trained model, with six texts "
        "per seed, a score changes by up to {trained:.0f}."
    )
    least = facts.least_stable
    return fill(text, least, name=_(INSTRUMENTS[least.instrument]), trained=facts.trained_points)


def intervals(facts: ChartFacts) -> Chart:
    """The mean score of each instrument with its interval, and chance; by its lower end."""
    scores = sorted(facts.scores.values(), key=lambda each: -each.mean_ends[0])
    names = [_(INSTRUMENTS[each.instrument]) for each in scores]
    rows = pd.DataFrame(
        {
            "row": range(len(scores)),
            "name": names,
            "mean": [each.mean for each in scores],
            "chance": [each.chance for each in scores],
            "least": [each.mean_ends[0] for each in scores],
            "most": [each.mean_ends[1] for each in scores],
        }
    )
    ends = rows.melt(["row", "name", "mean", "chance"], ["least", "most"], value_name="end")
    look = Look(_("95% interval"), palette.EMBEDDING, width=3)
    spans = [
        line("end", look, rows=span, in_legend=row == 0, hover="")
        for row, span in ends.groupby("row")
    ]
    return Chart(
        _("Mean score of each instrument"),
        rows,
        Axis(_("mean score (F1)"), (0, 1.02), is_share=True),
        Axis(
            ends=(len(names) - 0.4, -0.6),
            of="row",
            ticks=range(len(names)),
            said=lambda i: names[int(i)],
        ),
        [
            *spans,
            dots("mean", Look(_("mean score"), palette.EMBEDDING, "circle", size=11)),
            dots("chance", Look(_("chance"), palette.FEED_FORWARD, "x", size=9)),
        ],
        hover=_("{name}: {mean:.0%}, interval {least:.0%} to {most:.0%}, chance {chance:.0%}"),
        tall=30 * len(names) + 130,
        legend=Legend.ABOVE,
    )


def score_table(facts: ChartFacts) -> pd.DataFrame:
    """Each instrument with its question, in how many models it was right, and its mean score."""
    return _table(facts.scores.values())


def control_table(facts: ChartFacts) -> pd.DataFrame:
    """Planted instruments and models that know nothing, of which none may do better than chance."""
    on_ignorant = _table(facts.on_ignorant).assign(
        **{_("models"): _("random weights, shuffled answers")}
    )
    planted = _table(facts.planted).assign(**{_("models"): _("known answers")})
    return pd.concat([planted, on_ignorant], ignore_index=True)


def _table(scores: Iterable[Score]) -> pd.DataFrame:
    return pd.DataFrame([_row(each) for each in scores])


def _row(score: Score) -> dict[str, object]:
    interval = _("{low:.0%} to {high:.0%}")
    low, high = score.ends
    least, most = score.mean_ends
    return {
        _("instrument"): _(INSTRUMENTS[score.instrument]),
        _("right in"): _("{n_right} of {n}").format(n_right=score.n_right, n=score.n),
        _("chance"): f"{score.chance:.0%}",
        _("mean score (95 %)"): bracketed(
            f"{score.mean:.0%}", interval.format(low=least, high=most)
        ),
        _("precision"): f"{score.precision:.0%}",
        _("recall"): f"{score.recall:.0%}",
        _("right (95 %)"): interval.format(low=low, high=high),
        _("question"): _(QUESTIONS[score.question]),
    }


PANEL = Panel(
    "scores",
    N_("How sure is that?"),
    reads_input=False,
    of_this_run=False,
    at=lambda: (),
    facts=chart_facts,
    concepts=("known_truth",),
    code=(score,),
    shows=(
        Say(says_scores),
        Shown(intervals, "score_intervals", room=500),
        OffScreen(
            Text(N_("**The instruments, tested on models whose answers are known**")),
            Table(score_table, "instrument_scores"),
            Text(says_stable),
            Text(N_("**Controls, which must not score above chance**")),
            Text(says_controls),
            Table(control_table, "control_scores", height=360),
        ),
        Note(
            N_(
                "The mean score is F1, the harmonic mean of precision and recall, over "
                "models; its interval comes from a bootstrap over models and seeds, or is "
                "Wilson's where all scores are equal. The highest lower end stands on top. Chance "
                "is the score that the same number of answers would get if they were assigned "
                "at random. Models with random weights, or trained on shuffled answers, are "
                "judged by the known answers of other models of the same shape."
            )
        ),
    ),
)
