"""Data repeated: the loss at equal tokens seen, and what a repeated token is worth."""

import pandas as pd

from blocks.scaling.repeated import EPOCHS, Learned, expected_worth, worth
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, dots, line
from pages.panels.scaling.charts import ROOM, tried_axis
from pages.panels.scaling.shared import size
from pages.show.parts import Beside, Note, Say, Shown
from pages.words.language import _, sentences

Found = tuple[Learned, ...]


def says_again(found: Found) -> str:
    """What repetition costs, and how much of it the formula expects."""
    of = {each.epochs: each.excess for each in found[: len(EPOCHS)]}
    few, most = EPOCHS[2], EPOCHS[-1]
    text = _(
        "Every model here sees {d} tokens. With fresh text only, the loss is {fresh:.3f} nats"
        " above the entropy; with 1/{most} of the text seen {most} times, it is {worst:.3f}."
    )
    said = text.format(d=size(found[0].unique), fresh=of[1], most=most, worst=of[most])
    text = _(
        "Text seen {few} times is worth {here:.1f} times as much as text seen once; the "
        "formula of Muennighoff et al. 2023 predicts {there:.1f}."
    )
    values = worth(found)
    value = text.format(few=few, here=values[few], there=expected_worth(few))
    return sentences(
        said, value, _says_peak(found), _says_late(most not in _held(found), values[most])
    )


def _says_peak(found: Found) -> str:
    """How often text has been seen where it is worth most, beyond what was said of before."""
    values = worth(found)
    best = max(_held(found), key=lambda each: values.get(each, 1.0))
    text = _("It is worth most when seen {best} times: {peak:.1f} times as much.")
    return text.format(best=best, peak=values[best]) if best > EPOCHS[2] else ""


def _held(found: Found) -> list[int]:
    """Epochs after which the text is worth as much as seen once, or more: so far it is measured."""
    return [each.epochs for each in found if each.excess <= found[-1].excess]


def _says_late(is_lost: bool, value: float) -> str:
    """What the most epochs bring; `is_lost`: a loss above that of the same text once."""
    text = _("Seen {most} times, it is worth {late:.1f} times as much, not {far:.1f}.")
    if is_lost:
        text = _(
            "Seen {most} times, it is worth less than seen once, far from the {far:.1f} times"
            " that the formula predicts."
        )
    most = EPOCHS[-1]
    return text.format(most=most, late=value, far=expected_worth(most))


def loss_chart(found: Found) -> Chart:
    """The loss against how often each token comes."""
    again, fresh = found[: len(EPOCHS)], (found[0], *found[len(EPOCHS) :])
    rows = pd.DataFrame(
        {
            "epochs": EPOCHS,
            "again": [each.excess for each in again],
            "once": [each.excess for each in fresh],
            "unique": [size(each.unique) for each in again],
        }
    )
    return Chart(
        _("Fewer unique tokens, seen more often"),
        rows,
        _epochs_axis(),
        Axis(_("nats above the entropy"), from_0=True),
        [
            line("again", Look(_("all see the same number of tokens"), palette.PINNED, "circle")),
            line("once", Look(_("unique tokens, once"), palette.BEFORE, "circle", dash="dot")),
        ],
        hover="{unique}: {y:.4f}",
        legend=Legend.FOOT,
        tall=330,
    )


def worth_chart(found: Found) -> Chart:
    """How many times once the repeated text is worth, measured and expected."""
    values = {1: 1.0, **worth(found)}
    rows = pd.DataFrame(
        {
            "epochs": EPOCHS,
            "worth": [values[each] for each in EPOCHS],
            "expected": [expected_worth(each) for each in EPOCHS],
            "fresh": EPOCHS,
        }
    )
    held, look = rows["epochs"].isin(_held(found)), Look(_("measured"), palette.PINNED, "circle")
    below = Look(_("below 1: worth less than once"), palette.PINNED, "triangle-down-open", size=12)
    under = {"rows": rows[~held].assign(worth=1.0), "hover": _("{epochs}: below 1")}
    ends = (min(1.0, *rows["worth"]), float(max(EPOCHS)))
    title = _("worth relative to text seen once (logarithmic)")
    return Chart(
        _("What repeated text is worth"),
        rows,
        _epochs_axis(),
        Axis(title, ends, is_log=True, ticks=EPOCHS, said="{:g}".format),
        [
            line("fresh", Look(_("as good as fresh text"), palette.NORM, dash="dash")),
            line(
                "expected",
                Look(_("formula of Muennighoff et al. 2023"), palette.ATTENTION, dash="dot"),
            ),
            line("worth", look, rows=rows[held]),
            *([] if held.all() else [dots("worth", below, **under)]),
        ],
        hover="{epochs}: {y:.2f}",
        legend=Legend.FOOT,
        tall=330,
    )


def _epochs_axis() -> Axis:
    title = _("epochs: how often each token is seen (logarithmic)")
    return tried_axis(title, "epochs", EPOCHS)


def says_how(found: Found) -> str:
    """How the worth is read off."""
    return _(
        "The amount of fresh text that gives the same loss is interpolated between runs on "
        "{least} to {most} fresh tokens, each with its own cosine schedule; a loss higher "
        "than all of theirs counts as that of the run on the fewest tokens."
    ).format(least=size(found[-1].unique), most=size(found[0].unique))


AGAIN = (
    Say(says_again),
    Beside(
        Shown(loss_chart, "again_loss", room=ROOM), Shown(worth_chart, "again_worth", room=ROOM)
    ),
    Note(says_how),
)
