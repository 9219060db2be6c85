"""What is said of each move of the way back: where the gradient comes from, and how it divides."""

from dataclasses import dataclass

from blocks.inspection.scene_backward import Weight
from blocks.inspection.scene_backward_facts import BackFacts, LossFacts
from blocks.inspection.scene_moves import MoveKind
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.figures.numbers import readable
from pages.words.language import _, sentences
from pages.words.numbers import percent


@dataclass(frozen=True)
class Telling:
    """The numbers, and how token, key and head are called; `name`: what the gradient is of."""

    facts: BackFacts
    name: str
    token: str
    key: str
    head: int


TEMPLATES = {
    MoveKind.EMBED: N_(
        "The gradient has reached the words: a training step moves each number of “{token}” a "
        "little against its gradient."
    ),
    MoveKind.NORM: N_(
        "The gradients of all parts that read from the norm are collected at “{token}” and "
        "passed on."
    ),
    MoveKind.PROJECT: N_(
        "In head {head}, the gradient of the {name} flows back to the numbers from which the "
        "{name} were computed."
    ),
    MoveKind.SCORES: N_(
        "In head {head}, the error would fall fastest if “{token}” gave more weight to “{key}”: "
        "the gradient of that score is {number}."
    ),
    MoveKind.SOFTMAX: N_(
        "The gradient of each attention weight tells how useful the value behind it is: where"
        " it is below 0, more of that value would lower the error."
    ),
    MoveKind.MIX: N_("Each head gets the gradient of its own part; this is head {head}."),
}
TWO_PARTS_FIRST = N_(
    "These numbers went two ways towards the loss: straight on along the residual stream, and"
    " into the part that read them. So a small change in them acts twice, and two gradients "
    "meet here and are added: one from the stream (size {straight}), one through that part "
    "({through})."
)
TWO_PARTS = N_(
    "Here again two gradients meet and are added: one straight from the stream (size {straight}), "
    "one through the part that read it ({through})."
)
WRITTEN = N_(
    "A sum passes its gradient on unchanged, both to the stream and to the part that wrote into it."
)
SIZE = N_("The gradient at “{token}” has an RMS (root mean square) of {size}.")
WRITES = {MoveKind.JOIN, MoveKind.ATTEND, MoveKind.CARRY, MoveKind.NARROW, MoveKind.FEED}
ONE = N_("This is the gradient of {name}: how the error would change with each of its numbers.")


def says_back(told: Telling) -> str:
    """One sentence with the gradients of this step."""
    facts = told.facts
    text = ONE
    if facts.straight is not None and facts.move.kind is not MoveKind.EMBED:
        text = TWO_PARTS_FIRST if facts.is_first else TWO_PARTS
    elif facts.move.kind in WRITES:
        text = WRITTEN
    elif facts.move.kind in TEMPLATES:
        text = TEMPLATES[facts.move.kind]
    return _(text).format(
        token=told.token,
        key=told.key,
        name=told.name,
        head=from_one(told.head),
        straight=readable(facts.straight or 0.0),
        through=readable(facts.through or 0.0),
        number=readable(facts.number).replace("-", "−"),
    )


LEARNING = N_(
    "Each weight of the model now moves a little against its own gradient, and that is learning."
)
FALLS = N_(
    "Of the {n} weights in the first layer, the one with the largest gradient (in absolute "
    "value) is {value}. Its gradient, {gradient}, is above 0, so it becomes a little smaller."
)
RISES = N_(
    "Of the {n} weights in the first layer, the one with the largest gradient (in absolute "
    "value) is {value}. Its gradient, {gradient}, is below 0, so it becomes a little larger."
)


def says_learning(weight: Weight | None) -> str:
    """What the gradients are for, at one weight where it is known."""
    if weight is None or not weight.gradient:
        return _(LEARNING)
    text = _(FALLS if weight.gradient > 0 else RISES)
    value, gradient = (readable(x).replace("-", "−") for x in weight[1:])
    return sentences(_(LEARNING), text.format(n=f"{weight.n:,}", value=value, gradient=gradient))


def says_size(told: Telling) -> str:
    return _(SIZE).format(token=told.token, size=readable(told.facts.size))


def says_loss(facts: LossFacts, after: str, target: str) -> str:
    """What backward is for, and what this training step asks for."""
    asks = _(
        "The backward pass shows how a model learns: from the error at the right back to the "
        "words at the left, it finds for each number whether a little more of it would make "
        "the error larger or smaller (its gradient)."
    )
    text = _(
        "In this text, “{target}” really follows “{after}” (the marked row). The model gave "
        "it {share}: the smaller this share, the larger the error (the loss)."
    )
    share = percent(facts.share)
    return sentences(asks, text.format(after=after, target=target, share=share))


def says_loss_exactly(facts: LossFacts) -> str:
    text = _("The loss is the mean of −log of this share over {n} words: {loss} nats.")
    return text.format(n=facts.n_asked, loss=readable(facts.loss))


def says_logits(facts: LossFacts, target: str) -> str:
    """Where the gradient begins."""
    text = _(
        "A higher score for “{target}” would lower the error (its gradient is below 0); a higher "
        "score for any other word would raise it. The gradient is ({share} − 100%) / {n} = "
        "{number}: the share that “{target}” has, less the 100% that would be right, divided by "
        "the number of words over which the loss is averaged."
    )
    number = readable(float(facts.gradients[0])).replace("-", "−")
    return text.format(number=number, target=target, share=percent(facts.share), n=facts.n_asked)
