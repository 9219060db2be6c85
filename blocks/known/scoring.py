"""How often an instrument is right: what it found, named, what is true, and what chance would find.

Where it ranks heads or tokens, as many of the highest count as named as there are true ones; of
those that tie, each as likely as another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator

from blocks.inspection.head_probe import KINDS
from blocks.known import instruments
from blocks.known.cells import INSTRUMENTS, Question
from blocks.known.instruments import LEAKING, SOUND, Seen
from blocks.known.subjects import Subject
from blocks.model.randomness import generator

Array = NDArray[np.float64]
SEEDS, LEAK_TEXTS = (0, 1, 2), 1
RANKS: dict[str, instruments.Scores] = {
    "ablation": instruments.ablation,
    "patching": instruments.patching,
    "direct": instruments.direct,
    "gradient": instruments.gradient,
    "attention": instruments.attention,
    "contributions": instruments.contributions,
    "leave-one-out": instruments.left_out,
}
LOTS, LAST = "lots", "last"  # planted: answers at random, and always the last heads, tokens, layer


@dataclass(frozen=True)
class Hits:
    """What one instrument said of one model: how many things it `named`, how many are `true`, how
    many it `found` of these, and how many `chance` would have found.
    """

    instrument: str
    question: str
    subject: str
    origin: str
    seed: int
    found: float
    named: int
    true: int
    chance: float


def ranked(scores: Array, true: Sequence[int]) -> tuple[float, int, float]:
    """Found and named among the highest of as many scores as are true, and found by chance.

    Nothing is named where all scores are alike. Of the lowest that count, those that tie share the
    places that are left.
    """
    k, n = len(true), len(scores)
    if np.ptp(scores) == 0:
        return 0.0, 0, k * k / n
    least = np.sort(scores)[::-1][k - 1]
    is_true = np.isin(np.arange(n), true)
    above, tied = scores > least, scores == least
    share = (k - above.sum()) / tied.sum()
    return float((above & is_true).sum() + share * (tied & is_true).sum()), k, k * k / n


def labelled(said: Sequence[str], true: Sequence[str]) -> tuple[float, int, int, float]:
    """Found, named and true among names of places, and found where the same are dealt at random."""
    pairs = [(one, other) for one, other in zip(said, true, strict=True)]
    found = sum(bool(one) and one == other for one, other in pairs)
    chance = sum(said.count(name) * true.count(name) for name in set(said) if name) / len(true)
    return found, sum(map(bool, said)), sum(map(bool, true)), chance


def of_subject(subject: Subject, seed: int) -> Iterator[Hits]:
    """All that the instruments say of a model, of texts of one seed, and the planted wrong ones."""
    random = generator(seed, "planted instruments", subject.name)
    for asked in subject.texts(seed):
        seen = Seen.of(subject, asked)
        for name, scores_of in RANKS.items():
            question = INSTRUMENTS[name]
            if (true := true_places(seen, question)) and (scores := scores_of(seen)) is not None:
                yield _hits(name, question, subject, seed, *_of_ranks(scores, true))
        for question in (Question.HEADS, Question.TOKENS):
            if true := true_places(seen, question):
                n = _n_places(seen, question)
                for name, drawn in (
                    (LOTS, _drawn(n, random)),
                    (LAST, np.arange(n, dtype=np.float64)),
                ):
                    yield _hits(name, question, subject, seed, *_of_ranks(drawn, true))
        if subject.decides is not None and (layer := instruments.lens_layer(seen)) is not None:
            yield from _of_layers(seen, seed, layer, random)
    yield from _of_names(subject, seed, random)
    yield from _of_leaks(subject, seed, random)


def _hits(name: str, question: Question, subject: Subject, seed: int, *counts: float) -> Hits:
    found, named, true, chance = counts
    origin = str(subject.origin)
    return Hits(
        name, str(question), subject.name, origin, seed, found, int(named), int(true), chance
    )


def true_places(seen: Seen, question: Question) -> list[int]:
    """The places that are true, by their number; none where that is not known, or all of them."""
    subject, config = seen.subject, seen.run.config
    if question is Question.HEADS:
        needed = subject.needed or ()
        found = [layer * config.n_heads + head for layer, head in needed]
    else:
        found = [i for i, place in enumerate(seen.places) if place in (seen.asked.reads or ())]
    return found if len(found) < _n_places(seen, question) else []


def _n_places(seen: Seen, question: Question) -> int:
    config = seen.run.config
    return config.n_layers * config.n_heads if question is Question.HEADS else len(seen.places)


def _of_ranks(scores: Array, true: Sequence[int]) -> tuple[float, int, int, float]:
    found, named, chance = ranked(scores, true)
    return found, named, len(true), chance


def _drawn(n: int, random: Generator) -> Array:
    found: Array = torch.rand(n, generator=random, dtype=torch.float64).numpy()
    return found


def _of_layers(seen: Seen, seed: int, layer: int, random: Generator) -> Iterator[Hits]:
    subject, n = seen.subject, seen.run.config.n_layers + 1
    lot = int(torch.randint(n, (), generator=random))
    for name, said in (("logit-lens", layer), (LOTS, lot), (LAST, n - 1)):
        found = float(said == subject.decides)
        yield _hits(name, Question.LAYER, subject, seed, found, 1, 1, 1 / n)


def _of_names(subject: Subject, seed: int, random: Generator) -> Iterator[Hits]:
    if subject.kinds is None or (said := instruments.names(subject)) is None:
        return
    places = sorted(subject.kinds)
    true = [subject.kinds[place] for place in places]
    choices = ("", *KINDS)
    lots = torch.randint(len(choices), (len(places),), generator=random).tolist()
    last = ["" for _ in places[:-1]] + [KINDS[0]]
    for name, names in (("head-names", said), (LOTS, [choices[i] for i in lots]), (LAST, last)):
        yield _hits(name, Question.NAMES, subject, seed, *labelled(names, true))


def _of_leaks(subject: Subject, seed: int, random: Generator) -> Iterator[Hits]:
    if not subject.has_mask:
        return
    true = ["leak"] * len(LEAKING) + [""] * len(SOUND)
    said = instruments.leaks(subject, subject.texts(seed, LEAK_TEXTS)[0].text)
    lots = torch.randint(2, (len(true),), generator=random).tolist()
    for name, alarms in (("leak-test", said), (LOTS, lots), (LAST, [*[0] * (len(true) - 1), 1])):
        names = ["leak" if alarm else "" for alarm in alarms]
        yield _hits(name, Question.LEAK, subject, seed, *labelled(names, true))
