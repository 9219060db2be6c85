"""What A and B expect at the pinned token, side by side."""

from dataclasses import replace
from functools import lru_cache, partial

from blocks.inspection import two_predictions
from blocks.inspection.two_predictions import TwoPredictions
from blocks.model.kinds import Architecture
from pages.figures.theme import Picture, token_label
from pages.panels.compare import pair_picture as pictures
from pages.panels.compare import shared
from pages.panels.compare.shared import Pair
from pages.server import cached
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.said import say
from pages.stage.tokens import label
from pages.state.values import State
from pages.words.language import _, enumeration, literal, sentences
from pages.words.numbers import percent

N_LIKELIEST, LEAST_SHARE = 6, 1e-5


def predicts_alike(pair: Pair) -> bool:
    """Whether what both expect can be compared: one architecture, one vocabulary, one text."""
    a, b = pair.both
    return (
        a.config.architecture is b.config.architecture
        and b.config.architecture in (Architecture.GPT, Architecture.ENCODER)
        and pair.reads_the_same
        and a.input.vocabulary == b.input.vocabulary
        and a.config.vocab_size == b.config.vocab_size
        and a.input.padded_ids == b.input.padded_ids
    )


@lru_cache(maxsize=32)
def prediction_facts(pair: Pair, place: int) -> TwoPredictions:
    """What both expect at one token, with the label of each candidate."""
    a, b = (cached.recording(run).output[0] for run in pair.both)
    found = two_predictions.two_predictions(a, b, place, N_LIKELIEST)
    labels = found.table["token_id"].map(partial(label, pair.b))
    return replace(found, table=found.table.assign(label=labels))


def says_prediction(facts: TwoPredictions) -> str:
    """What both expect most, and how far apart they are."""
    a, b = facts.first("a"), facts.first("b")
    text = _(
        "A's top prediction is {a} ({p_a}); B's is {b} ({p_b}). The two distributions differ "
        "in {share} of their probability mass; over the whole text, the top predictions agree"
        " at {agreement} of the positions."
    )
    return text.format(
        a=literal(a["label"]),
        p_a=share(a["a"]),
        b=literal(b["label"]),
        p_b=share(b["b"]),
        share=percent(facts.distance),
        agreement=percent(facts.agreement),
    )


def says_how(random: str, seed: int) -> str:
    """Whether the numbers mean anything; `random`: which of A and B have random weights."""
    said = _(
        "The picture shows each model's most probable tokens at the pinned token (temperature 1)."
    )
    if not random:
        return said
    more = _("Predictions of {which} are meaningless because the weights are random (seed {seed}).")
    return sentences(said, more.format(which=enumeration(random), seed=seed))


def share(probability: float) -> str:
    """Three digits, and what is next to nothing is said to be so."""
    if probability < LEAST_SHARE:
        return f"< {LEAST_SHARE:.3%}"
    return f"{100 * probability:.3g}%"


def what_they_expect(pair: Pair, state: State) -> None:
    """The likeliest tokens of both at the pinned token."""
    code, shown = (two_predictions.two_predictions,), (pair, shared.pinned(pair, state))
    with explained(("comparing", "surprise"), code, key="pair_expected"):
        say(says_prediction, *shown, facts=prediction_facts)
    show(draw_prediction, *shown, key="pair_expected_bars")
    random = (letter for letter, run in zip("AB", pair.both, strict=True) if not run.weights)
    note(says_how("".join(random), pair.b.seed))


def draw_prediction(pair: Pair, token: int) -> Picture:
    """Probabilities of both."""
    text = _("Predictions of both models after {token}")
    if pair.b.config.architecture is Architecture.ENCODER:
        text = _("Predictions of both models at {token}")
    return pictures.bars(
        prediction_facts(pair, token).table,
        shared.names(pair),
        title=text.format(token=token_label(pair.b.input.labels[token])),
        unit=_("probability"),
        said=share,
        is_share=True,
        _=_,
    )
