"""Which tokens make the next one likely: each is hidden in turn."""

from functools import lru_cache, partial
from itertools import chain
from typing import cast

import pandas as pd

from blocks.inspection import leave_one_out
from blocks.inspection.leave_one_out import LeftOut, Without
from blocks.model.models import Encoder
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.panels.gpt import leave_one_out_picture
from pages.ui import cached, labelled, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, literal, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.views import pin_token


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


def left_out(run: Run, n_batches: int, position: int) -> LeftOut:
    """What the first batches of places showed."""
    batches = leave_one_out.in_turn(run, position)[:n_batches]
    found = chain.from_iterable(without_each(run, batch, position) for batch in batches)
    without = dict(zip(chain.from_iterable(batches), found, strict=True))
    return LeftOut.of(run, position, predicted(run, position), without)


def names(facts: LeftOut) -> list[str]:
    """What each place is called, the same token in two places told apart."""
    labels = told_apart(facts.run.input.labels)
    return [labels[place] for place in facts.places]


def says_left_out(facts: LeftOut) -> str:
    """What is predicted, which token does most for it, and what comes without that."""
    text = _("After {after} the top prediction is {token} ({chance}).")
    token = literal(tokens.label(facts.run, facts.token_id))
    after = literal(facts.run.input.labels[facts.position])
    said = text.format(after=after, token=token, chance=percent(facts.probability))
    return sentences(said, _strongest(facts, token), _against(facts))


def _strongest(facts: LeftOut, token: str) -> str:
    tried = {"n": len(facts.places), "all": facts.n_before}
    i = facts.strongest
    if i is None:
        return _no_strongest(facts).format(**tried)
    text = _(
        "It depends most on {name}: hiding this token from the others lowers the probability "
        "to {chance}, a drop of {bits:.1f} bits in log-probability."
    )
    if not facts.is_whole:
        text = _(
            "Of the {n} nearest earlier tokens (out of {all}), it depends most on {name}: "
            "hiding this token from the others lowers the probability to {chance}, a drop of "
            "{bits:.1f} bits in log-probability."
        )
    name, chance = literal(names(facts)[i]), percent(facts.left(i))
    said = text.format(name=name, chance=chance, bits=facts.effects[i], **tried)
    if facts.without[i].first == facts.token_id:
        return said
    first = literal(tokens.label(facts.run, facts.without[i].first))
    return sentences(said, _("{first} would then rank first.").format(first=first))


def _no_strongest(facts: LeftOut) -> str:
    if facts.is_whole:
        return _("No single earlier token raises its log-probability by more than 0.1 bits.")
    return _(
        "None of the {n} nearest earlier tokens (out of {all}) raises its log-probability by "
        "more than 0.1 bits."
    )


def _against(facts: LeftOut) -> str:
    if (i := facts.against) is None:
        return ""
    text = _("Without {name}, the prediction would be more likely: {chance}.")
    return text.format(name=literal(names(facts)[i]), chance=percent(facts.left(i)))


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


@section
def what_it_hangs_on(run: Run) -> None:
    """The sentence, a bar for each token, the table."""
    position = labelled.pinned_token(run)
    place = explained(("leave_one_out",), (leave_one_out.without_each,), key="left_out")
    batches = leave_one_out.in_turn(run, position)
    if not batches:
        text = _("Nothing precedes the pinned token. Pin a later one, or type a longer text.")
        place.info(text, icon=":material/lightbulb:")
        return
    steps = [partial(without_each, run, batch, position) for batch in batches]
    n_batches = len(in_steps(steps, what=(run, position), key="leaving_out").found)
    if not n_batches:
        return
    shown = run, n_batches, position
    facts = left_out(*shown)
    with place:
        say(says_left_out, *shown, facts=left_out)
    left, right = columns([6, 5])
    with left:
        draw = leave_one_out_picture.bars
        show(draw, *shown, facts=left_out, key="left_out_bars", on_click=pin_token)
    with right:
        show_table(table(facts), key="left_out_table", n_names=2, height=330)
    if len(facts.places) == leave_one_out.MOST_HIDDEN:
        text = _("Only the last {n} tokens before the pinned one are hidden, one at a time.")
        note(text.format(n=leave_one_out.MOST_HIDDEN))
