"""The layers of a trained model, on its own loss."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth import DepthPass, measure_depth
from blocks.inspection.depth_facts import OwnFacts
from blocks.inspection.own_depth import measure_own
from blocks.model.kinds import Architecture
from blocks.model.models import Encoder
from blocks.observe.run import PaddingSide, Run
from blocks.text.bpe import MASK
from blocks.training.tasks import IGNORED
from pages.figures.numbers import readable
from pages.figures.theme import Picture, Translate
from pages.panels.normalization import depth_picture, shared
from pages.ui import cached, sinks, starts, terms, tokens
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.said import say

SORTING = ("sorting letters", "sort")
Targets = tuple[int, ...]
MOST_TOKENS = 256  # of a long text: loss and gradients of all layers take memory for each token


class Hidden(NamedTuple):
    """What the page hid from a model that guesses words, in the token ids of its vocabulary."""

    vocabulary: str
    targets: Targets


@lru_cache(maxsize=32)
def own_facts(run: Run, hidden: Hidden | None, is_apart: bool) -> OwnFacts:
    """The layers of this run's model on its own loss, and of one with random weights.

    `is_apart`: and the first without its sinks, if it has some. Raises ValueError where there is
    no loss.
    """
    targets = own_targets(run, hidden)
    if not run.weights or targets is None:
        raise ValueError("no loss of its own")
    without = sinks.set_apart(run, is_apart)
    return measures.own_facts(
        _own_pass(run, targets),
        _own_pass(replace(run, weights=""), targets),
        run.seed,
        _own_pass(run, targets, without) if without else None,
    )


@lru_cache(maxsize=32)
def _own_pass(run: Run, targets: Targets, without: tuple[int, ...] = ()) -> DepthPass:
    model = cast(Encoder, cached.model(run))
    return shared.in_turn(run.device, measure_own, run, model, targets, without)


def one_measure(run: Run, hidden: Hidden | None, is_apart: bool, measure: str) -> OwnFacts:
    """The same, of its curves one measure, or every one."""
    facts = own_facts(run, hidden, is_apart)
    return replace(facts, curves=facts.curves.only(measure))


def says_drawn(facts: OwnFacts) -> str:
    """What the one measure that is drawn does; where all are, the gradient stands for them."""
    if facts.curves.alone in ("", "parameter_gradient"):
        return sentences(says_loss(facts), _says_jump(facts))
    return sentences(shared.says_ends(facts.curves), _says_jump(facts))


def _says_jump(facts: OwnFacts) -> str:
    """What sinks do to the size of the stream, where they are set apart."""
    if facts.jump is None:
        return ""
    text = _(
        "Sinks cause the jump at layer {layer}: the mean norm of a token goes from {before} "
        "to {after} there; without the sinks, it goes from {before_apart} to {after_apart}."
    )
    norms = facts.jump._asdict()
    layer = norms.pop("layer")
    return text.format(layer=layer, **{name: readable(norm) for name, norm in norms.items()})


def says_loss(facts: OwnFacts) -> str:
    """Where the trained model's gradient is, and how its loss compares."""
    text = _(
        "The loss on this text is {trained:.2f} nats after training and {random:.2f} with "
        "random weights (seed {seed}). After training, layer {most} has the largest "
        "gradient and layer {least} the smallest."
    )
    return text.format(
        trained=facts.trained_loss,
        random=facts.random_loss,
        seed=facts.seed,
        most=facts.strongest,
        least=facts.weakest,
    )


def says_task(run: Run) -> str:
    """What the loss is."""
    text = _(
        "The loss is the cross entropy of the correct answers on this text. The model was "
        "trained on {task}."
    )
    if run.config.architecture is Architecture.GPT:
        text = _(
            "The loss is the next-token cross entropy on this text. The model was trained on "
            "{task}."
        )
    card = starts.model(run.weights).card
    task = terms.option(card.task) if card else _("texts that the model's files do not name")
    return sentences(text.format(task=task), _("Measured in evaluation mode; nothing is updated."))


def draw_layers(facts: OwnFacts, *, _: Translate) -> Picture:
    """The trained layers, and the same with random weights."""
    names = shared.names(facts.curves.placements)
    return depth_picture.panels(
        facts.curves, names, title=_("Every layer, with trained and random weights"), _=_
    )


def measured_run(run: Run) -> Run:
    """The beginning of a long text: causally read, its tokens are the same without the rest."""
    whole = run.input
    if run.config.architecture is not Architecture.GPT or len(whole.token_ids) <= MOST_TOKENS:
        return run
    beginning = replace(
        whole,
        tokens=(whole.tokens or ())[:MOST_TOKENS],
        token_ids=whole.token_ids[:MOST_TOKENS],
    )
    return replace(run, input=beginning, interventions=())


def says_beginning(run: Run) -> str:
    """That of a long text the beginning is measured; empty of any other."""
    n, most = len(run.input.token_ids), len(measured_run(run).input.token_ids)
    if n == most:
        return ""
    text = _("Measured on the first {most} of the {n:,} tokens.")
    return text.format(most=most, n=n)


@section
def the_trained_layers(run: Run) -> None:
    """Every measure of every layer, trained and at random."""
    beginning, run = says_beginning(run), measured_run(run)
    place = explained(("placement_depth",), (measure_depth,), key="own_layers")
    if not run.weights:
        place.info(
            _("The weights are random, so the loss means nothing yet."), icon=":material/info:"
        )
        return
    hidden = hidden_word(run)
    if own_targets(run, hidden) is None:
        text = _(
            "This text has no correct answer to measure the model against. Give a GPT at "
            "least two tokens, or mask the encoder's pinned token."
        )
        place.info(text)
        return
    is_apart = sinks.sinks_switch(run, "layers")
    shown = run, hidden, is_apart, shared.curve_choice("_own")
    with place:
        say(says_drawn, *shown, facts=one_measure)
    show(draw_layers, *shown, facts=one_measure, key="own_panels")
    note(sentences(beginning, says_task(run)))


def own_targets(run: Run, hidden: Hidden | None) -> Targets | None:
    """What the model should say at each position; None where this text has no right answer."""
    ids = run.input.token_ids
    if run.config.architecture is Architecture.GPT:
        return _padded(run, (*ids[1:], IGNORED)) if len(ids) > 1 else None
    card = starts.model(run.weights).card
    if card and card.task in SORTING:
        return _padded(run, tuple(sorted(ids)))
    return hidden.targets if hidden and hidden.vocabulary == run.input.vocabulary else None


def hidden_word(run: Run) -> Hidden | None:
    """The tokens that the page hid from its model, to be found; None where it hid none."""
    is_token, pieces = run.input.is_token()[0].tolist(), tokens.reading().pieces
    read = [label for label, kept in zip(run.input.labels, is_token, strict=True) if kept]
    hidden = [i for i, label in enumerate(read) if label == MASK != pieces[i].label]
    if not hidden:
        return None
    found = (piece.token_id if i in hidden else IGNORED for i, piece in enumerate(pieces))
    return Hidden(run.input.vocabulary, _padded(run, tuple(found)))


def _padded(run: Run, targets: Targets) -> Targets:
    """Nothing is asked of padding."""
    nothing = (IGNORED,) * run.input.n_padding
    is_left = run.input.padding_side is PaddingSide.LEFT
    return nothing + targets if is_left else targets + nothing
