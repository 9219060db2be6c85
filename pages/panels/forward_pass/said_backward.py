"""What is said of each move of the way back: where the gradient comes from, and how it divides."""

from dataclasses import dataclass

from blocks.inspection.scene_backward_facts import BackFacts, LossFacts
from blocks.inspection.scene_moves import MoveKind
from blocks.model.faults import N_
from pages.figures.counting import from_one
from pages.figures.numbers import readable
from pages.ui.language import _, sentences
from pages.ui.numbers import percent


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
        "The gradient arrives at the embeddings: RMS {size} at “{token}”. A training step moves "
        "each of them a little against its gradient."
    ),
    MoveKind.NORM: N_(
        "This is the gradient of the norm's output, collected from all parts that read it: "
        "RMS {size} at “{token}”."
    ),
    MoveKind.PROJECT: N_(
        "The gradient of the {name} of each head: RMS {size} at “{token}” in head {head}. "
        "It leads back through the projection."
    ),
    MoveKind.SCORES: N_(
        "Back through the softmax: the loss would fall fastest if, in head {head}, “{token}” "
        "gave more weight to “{key}”; its gradient with respect to that score is {number}."
    ),
    MoveKind.SOFTMAX: N_(
        "The gradient of each attention weight tells how well the value behind it serves the "
        "words to come: below 0, more of that value would lower the loss."
    ),
    MoveKind.MIX: N_(
        "Back through the output projection, each head gets the gradient of its own part: RMS "
        "{size} at “{token}” in head {head}."
    ),
}
TWO_PARTS = N_(
    "Two gradients meet here and are added: RMS {straight} comes straight along the residual "
    "stream, {through} through the part that read it. Together they have {size} at “{token}”."
)
WRITTEN = N_(
    "A sum passes its gradient on unchanged, to the stream and to the part that wrote into "
    "it: RMS {size} at “{token}”."
)
WRITES = {MoveKind.JOIN, MoveKind.ATTEND, MoveKind.CARRY, MoveKind.NARROW, MoveKind.FEED}
ONE = N_("The gradient of this stage ({name}) has an RMS of {size} at “{token}”.")


def says_back(told: Telling) -> str:
    """One sentence with the gradients of this step."""
    facts = told.facts
    text = ONE
    if facts.straight is not None:
        text = TWO_PARTS
    elif facts.move.kind in WRITES:
        text = WRITTEN
    elif facts.move.kind in TEMPLATES:
        text = TEMPLATES[facts.move.kind]
    return _(text).format(
        token=told.token,
        key=told.key,
        name=told.name,
        head=from_one(told.head),
        size=readable(facts.size),
        straight=readable(facts.straight or 0.0),
        through=readable(facts.through or 0.0),
        number=readable(facts.number).replace("-", "−"),
    )


def says_loss(facts: LossFacts, after: str, target: str) -> str:
    """What the step asks for."""
    text = _(
        "A training step asks for the word that really comes. After “{after}” this is “{target}”, "
        "which got {share}. The loss is the mean of −log of that share over {n} words: {loss} nats."
    )
    share, loss = percent(facts.share), readable(facts.loss)
    return text.format(after=after, target=target, share=share, n=facts.n_asked, loss=loss)


def says_logits(facts: LossFacts, target: str) -> str:
    """Where the gradient begins."""
    text = _(
        "The gradient of a logit is its probability, less 1 for the right word, divided by the {n} "
        "words: {number} for “{target}”."
    )
    number = readable(float(facts.gradients[0])).replace("-", "−")
    said = text.format(n=facts.n_asked, number=number, target=target)
    return sentences(said, _("Below 0, more would lower the loss."))
