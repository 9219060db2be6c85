"""What the likeliest next word hangs on: each token of the text is hidden in turn."""

from functools import partial

from blocks.inspection import leave_one_out
from blocks.inspection.leave_one_out import LeftOut
from blocks.observe.run import Run
from pages.figures.counting import read_apart
from pages.panels.gpt import leave_one_out as panel
from pages.panels.gpt import leave_one_out_picture
from pages.panels.gpt.leave_one_out_picture import Answer
from pages.show.chart import show
from pages.show.explain import note
from pages.show.steps import in_steps
from pages.show.views import pin_token
from pages.stage import present, tokens
from pages.state import sinks
from pages.words.language import _, literal, sentences
from pages.words.numbers import percent

ROOM = 270  # pixels of a picture before a class, where two stand one below the other


def what_it_hangs_on(run: Run, position: int) -> None:
    """A bar for each token that does much for the prediction; the nearest is hidden first."""
    batches = leave_one_out.in_turn(run, position)
    steps = [partial(panel.without_each, run, batch, position) for batch in batches]
    with present.aside():
        n_batches = len(in_steps(steps, what=(run, position), key="hanging_on").found)
    if not n_batches:
        return
    shown = run, position, n_batches
    found = answer(*shown)
    if found.facts.strongest is not None:
        draw = leave_one_out_picture.few
        show(draw, *shown, facts=answer, key="hangs_on", on_click=pin_token, room=ROOM)
    note(says_hanging(found))
    if run.weights and (said := says_sinks(run, found.facts)):
        note(said)


def answer(run: Run, position: int, n_batches: int) -> Answer:
    """What the first batches of places showed, and what the prediction is called."""
    facts = panel.left_out(run, position, n_batches)
    return Answer(tokens.label(run, facts.token_id), facts)


def says_hanging(answer: Answer) -> str:
    """The token that does most for the prediction, and what is left without it."""
    facts = answer.facts
    said = {"token": literal(read_apart((answer.label,))[0]), "chance": percent(facts.probability)}
    return sentences(_strongest(facts, said), _tried(facts))


def says_sinks(run: Run, facts: LeftOut) -> str:
    """Which of the tokens that do much are sinks: what they say may do nothing."""
    shown = {facts.places[i] for i in facts.most(leave_one_out_picture.N_FEW)}
    found = tuple(token for token in sinks.found_in(run).tokens if token in shown)
    if not found:
        return ""
    return _(
        "Attention rests on {tokens} whatever the text says there: hiding such an attention "
        "sink disturbs many heads."
    ).format(tokens=sinks.names(run, found))


def _strongest(facts: LeftOut, said: dict[str, str]) -> str:
    i = facts.strongest
    if i is None:
        return _(
            "Hiding any single earlier token lowers the probability of {token} ({chance}) by "
            "at most 0.1 bits."
        ).format(**said)
    said["name"] = literal(read_apart(facts.run.input.labels)[facts.places[i]])
    return _(
        "Hiding {name} from the other tokens lowers the probability of {token} from {chance} "
        "to {left}; each bit is a factor of two."
    ).format(left=percent(facts.left(i)), **said)


def _tried(facts: LeftOut) -> str:
    if facts.is_whole:
        return ""
    text = _("Of the {all} earlier tokens, only the nearest {n} were tested in this way.")
    return text.format(n=len(facts.places), all=facts.n_before)
