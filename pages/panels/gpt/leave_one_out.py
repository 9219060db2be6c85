"""Which tokens make the next one likely: each is hidden in turn."""

from functools import lru_cache, partial
from itertools import chain
from typing import cast

import pandas as pd

from blocks.inspection import leave_one_out
from blocks.inspection.leave_one_out import LeftOut, Without
from blocks.model.faults import N_
from blocks.model.models import Encoder
from blocks.observe.run import Run
from pages.figures.chart import Axis, Chart, Look, bars
from pages.figures.counting import from_one, told_apart
from pages.page.declared import Panel
from pages.panels.gpt import shared
from pages.panels.gpt.leave_one_out_picture import colors, hovers
from pages.server import cached
from pages.show.parts import Beside, Note, Say, Shown, Steps, Table
from pages.show.views import pin_token
from pages.stage import tokens
from pages.words.language import _, fill, sentences
from pages.words.numbers import percent


@lru_cache(maxsize=64)
def predicted(run: Run, position: int) -> tuple[int, float]:
    """The likeliest token after a position, and log₂ of its probability."""
    found = leave_one_out.log2_probabilities(cached.recording(run).output[0, position])
    bits, token_id = found.max(-1)
    return int(token_id), float(bits)


@lru_cache(maxsize=128)
def without_each(run: Run, places: tuple[int, ...], position: int) -> tuple[Without, ...]:
    """What is predicted without each of these places."""
    token_id, _bits = predicted(run, position)
    model, seen = cast(Encoder, cached.model(run)), cached.recording(run)
    with cached.turn(run.device):
        return leave_one_out.without_each(run, places, position, token_id, model, seen)


def batches(run: Run, position: int) -> list[partial[tuple[Without, ...]]]:
    in_turn = leave_one_out.in_turn(run, position)
    return [partial(without_each, run, batch, position) for batch in in_turn]


def left_out(run: Run, position: int, n_batches: int) -> LeftOut:
    """What the first batches of places showed."""
    places = chain.from_iterable(leave_one_out.in_turn(run, position)[:n_batches])
    found = chain.from_iterable(batch() for batch in batches(run, position)[:n_batches])
    without = dict(zip(places, found, strict=True))
    return LeftOut.of(run, position, predicted(run, position), without)


def names(facts: LeftOut) -> list[str]:
    """What each place is called, the same token in two places told apart."""
    labels = told_apart(facts.run.input.labels)
    return [labels[place] for place in facts.places]


def says_first(run: Run, position: int) -> str | None:
    """Say that there is nothing to hide."""
    if leave_one_out.in_turn(run, position):
        return None
    return _("Nothing precedes the pinned token. Pin a later one, or type a longer text.")


def says_left_out(facts: LeftOut) -> str:
    """What is predicted, which token does most for it, and what comes without that."""
    text = _("After {after:token} the top prediction is {first:token} ({probability:percent}).")
    first = tokens.label(facts.run, facts.token_id)
    said = fill(text, facts, after=facts.run.input.labels[facts.position], first=first)
    against = _("Without {name:token}, the prediction would be more likely: {chance:percent}.")
    return sentences(said, _strongest(facts), _of_one(against, facts, facts.against))


def _strongest(facts: LeftOut) -> str:
    i = facts.strongest
    text = _(
        "The prediction depends most on {name:token}: hiding this token from the others "
        "lowers the probability to {chance:percent}, a drop of {bits:.1f} bits in log-"
        "probability."
    )
    if i is None:
        text = _("No single earlier token raises its log-probability by more than 0.1 bits.")
    if not facts.is_whole:
        text = _(
            "Of the {n} nearest earlier tokens (out of {n_before}), the prediction depends "
            "most on {name:token}: hiding this token from the others lowers the probability "
            "to {chance:percent}, a drop of {bits:.1f} bits in log-probability."
        )
        if i is None:
            text = _(
                "None of the {n} nearest earlier tokens (out of {n_before}) raises its "
                "log-probability by more than 0.1 bits."
            )
    said = _of_one(text, facts, i or 0)
    if i is None or facts.without[i].first == facts.token_id:
        return said
    first = tokens.label(facts.run, facts.without[i].first)
    return sentences(said, fill(_("{first:token} would then rank first."), first=first))


def _of_one(text: str, facts: LeftOut, i: int | None) -> str:
    """Fill a text about one of the hidden places; empty where there is none."""
    if i is None:
        return ""
    of_place = {"name": names(facts)[i], "chance": facts.left(i), "bits": facts.effects[i]}
    return fill(text, facts, n=len(facts.places), **of_place)


def says_nearest(facts: LeftOut) -> str | None:
    """Say where not all tokens before are hidden."""
    text = _("Only the last {n} tokens before the pinned one are hidden, one at a time.")
    n = leave_one_out.MOST_HIDDEN
    return text.format(n=n) if len(facts.places) == n else None


def table(facts: LeftOut) -> pd.DataFrame:
    """Every token that was hidden, with what is left."""
    return pd.DataFrame(
        {
            _("position"): [from_one(place) for place in facts.places],
            _("hidden token"): names(facts),
            _("effect (bits)"): facts.effects.round(3),
            _("new probability"): [percent(facts.left(i)) for i in range(len(facts.places))],
            _("new top token"): [tokens.label(facts.run, each.first) for each in facts.without],
        }
    )


def effect(facts: LeftOut) -> Chart:
    """Bits that each token adds to the prediction."""
    labels, effects = names(facts), facts.effects
    low, high = min(-1.0, 1.1 * effects.min()), max(1.0, 1.1 * effects.max())
    rows = {"bits": effects, "place": facts.places, "hover": hovers(facts, labels, _=_)}
    return Chart(
        _("Effect of each token on the prediction"),
        pd.DataFrame(rows),
        Axis(tokens=labels),
        Axis(_("gain in log-probability (bits)"), (low, high)),
        [bars("bits", Look(color=colors(effects)), column=high)],
        hover="{hover}",
        click=("place",),
        tall=250,
    )


PANEL = Panel(
    "leave-one-out",
    N_("Which tokens make it likely?"),
    of_predictions=True,
    of_attention=True,
    fields=("n_layers", "d_model", "n_heads"),
    instruments=("leave-one-out",),
    concepts=("leave_one_out",),
    code=(leave_one_out.without_each,),
    at=shared.pinned,
    absent=says_first,
    facts=left_out,
    shows=(
        Steps(
            batches,
            Say(says_left_out),
            Beside(
                Shown(effect, "left_out_bars", click=pin_token),
                Table(table, "left_out_table", n_names=2, height=330),
                widths=(6, 5),
            ),
            Note(says_nearest),
            key="leaving_out",
        ),
    ),
)
