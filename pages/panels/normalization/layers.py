"""The layers of a trained model, on its own loss."""

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, cast

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth import DepthPass, measure_depth
from blocks.inspection.depth_facts import OwnFacts
from blocks.inspection.own_depth import measure_own
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.models import Encoder
from blocks.observe.run import PaddingSide, Run
from blocks.text.bpe import MASK
from blocks.training.tasks import IGNORED
from pages.figures.chart import Chart
from pages.page.declared import Panel
from pages.panels.normalization import curves, shared
from pages.server import cached, starts
from pages.show.parts import Controls, Note, Say, Shown, the_values
from pages.show.views import sinks_switch
from pages.stage import tokens
from pages.state import sinks
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, fill, sentences

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
    facts = own_facts(run, hidden, is_apart)
    return replace(facts, curves=facts.curves.only(measure))


def says_drawn(facts: OwnFacts) -> str:
    """What the one measure that is drawn does; where all are, the gradient stands for them."""
    if facts.curves.alone in ("", "parameter_gradient"):
        return sentences(says_loss(facts), _says_jump(facts))
    return sentences(curves.says_ends(facts.curves), _says_jump(facts))


def _says_jump(facts: OwnFacts) -> str:
    """What sinks do to the size of the stream, where they are set apart."""
    if facts.jump is None:
        return ""
    text = _(
        "Sinks cause the jump at layer {layer}: the mean norm of a token goes from "
        "{before:readable} to {after:readable} there; without the sinks, it goes from "
        "{before_apart:readable} to {after_apart:readable}."
    )
    return fill(text, facts.jump)


def says_loss(facts: OwnFacts) -> str:
    """Where the trained model's gradient is, and how its loss compares."""
    text = _(
        "The loss on this text is {trained_loss:.2f} nats after training and {random_loss:.2f} "
        "with random weights (seed {seed}). After training, layer {strongest} has the largest "
        "gradient and layer {weakest} the smallest."
    )
    return fill(text, facts)


def says_task(
    run: Run, _hidden: Hidden | None, _is_apart: bool, _measure: str, n_tokens: int
) -> str:
    """What the loss is, and of a long text that the beginning is measured."""
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
    how = _("All values are measured in evaluation mode; nothing is updated.")
    return sentences(_says_beginning(run, n_tokens), text.format(task=task), how)


def every_layer(facts: OwnFacts) -> Chart:
    return curves.by_layer(_("Every layer, with trained and random weights"), facts.curves)


def measured_run(run: Run) -> Run:
    """The beginning of a long text: causally read, its tokens are the same without the rest."""
    whole = run.input
    if run.config.architecture is not Architecture.GPT or len(whole.token_ids) <= MOST_TOKENS:
        return run
    beginning = replace(
        whole, tokens=(whole.tokens or ())[:MOST_TOKENS], token_ids=whole.token_ids[:MOST_TOKENS]
    )
    return replace(run, input=beginning, interventions=())


def _says_beginning(run: Run, n_tokens: int) -> str:
    most = len(run.input.token_ids)
    text = _("Only the first {most} of the {n:,} tokens are measured.")
    return "" if n_tokens == most else text.format(most=most, n=n_tokens)


def says_no_loss(run: Run, hidden: Hidden | None) -> str | None:
    """Why there is no loss to go back from; None where there is one."""
    if not run.weights:
        return _("The weights are random, so the loss means nothing yet.")
    if own_targets(run, hidden) is None:
        return _(
            "This text has no correct answer to measure the model against. Give a GPT at "
            "least two tokens, or mask the encoder's pinned token."
        )
    return None


def at(run: Run, state: State) -> tuple[Hashable, ...]:
    """What is measured, what the page hid, whether sinks are apart, the curves, all tokens."""
    beginning, n_tokens = measured_run(run), len(run.input.token_ids)
    hidden = hidden_word(beginning) if run.weights else None
    return beginning, hidden, state.sinks_apart, curves.drawn(state), n_tokens


def controls(run: Run, state: State) -> None:
    sinks_switch(run, "layers")
    curves.curve_choice("_own", state=state)


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
    nothing = (IGNORED,) * run.input.n_padding
    is_left = run.input.padding_side is PaddingSide.LEFT
    return nothing + targets if is_left else targets + nothing


PANEL = Panel(
    "layers",
    N_("The model's own layers"),
    fields=("n_layers", "norm_placement", "norm_kind", "residual"),
    concepts=("placement_depth",),
    code=(measure_depth,),
    at=at,
    absent=says_no_loss,
    facts=one_measure,
    shows=(
        Controls(controls),
        Say(says_drawn),
        Shown(every_layer, "own_panels"),
        Note(says_task, the_values),
    ),
)
