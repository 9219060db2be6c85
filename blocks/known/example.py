"""One instrument on one model and one text: what it says of each place, beside what is true."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from blocks.known import instruments, scoring
from blocks.known.cells import INSTRUMENTS, Question
from blocks.known.instruments import LEAKING, SOUND, Seen
from blocks.known.subjects import Asked, Origin, Subject, subject


@dataclass(frozen=True)
class Said:
    """What is said of one place, and what is so: a number or a word each, `is_true` of the truth.

    `place`: a head as (layer, head), a token or a layer by its number, or a word.
    """

    place: tuple[int, ...] | str
    said: float | str
    truth: str
    is_true: bool
    is_named: bool
    is_tied: bool = False  # alike with others for the places that are left among those named


@dataclass(frozen=True, eq=False)
class Example:
    """An instrument's answer about a text, place by place; `answer`: what the model says there."""

    instrument: str
    question: Question
    subject: Subject
    asked: Asked
    answer: str
    rows: tuple[Said, ...]

    @property
    def name(self) -> str:
        """Of the model."""
        return self.subject.name

    @property
    def is_gpt(self) -> bool:
        """Whether the model reads from left to right."""
        return self.subject.file.config.architecture.generates

    @property
    def is_trained(self) -> bool:
        """Whether it ships as a trained one."""
        return self.subject.origin is Origin.TRAINED

    @property
    def is_positive(self) -> bool:
        """Whether none of its numbers is below 0."""
        return all(float(row.said) >= 0 for row in self.rows)

    @property
    def rest(self) -> float:
        """What is left of 1, of shares."""
        return max(0.0, 1 - sum(float(row.said) for row in self.rows))

    @property
    def true_rows(self) -> list[Said]:
        """What is true."""
        return [row for row in self.rows if row.is_true]

    @property
    def named_rows(self) -> list[Said]:
        """What the instrument named."""
        return [row for row in self.rows if row.is_named]

    @property
    def tied_rows(self) -> list[Said]:
        """Those that are alike, more than there are places left for."""
        return [row for row in self.rows if row.is_tied]


@lru_cache(maxsize=64)
def example(instrument: str, name: str) -> Example | None:
    """The first text that the chart asks about; None where the instrument has nothing to say."""
    known, question = subject(name), INSTRUMENTS[instrument]
    asked = known.texts(0, 1)[0]
    seen = Seen.of(known, asked)
    rows = _rows(instrument, question, seen)
    answer = known.file.tokenizer.label(seen.answer)
    return Example(instrument, question, known, asked, answer, rows) if rows else None


def _rows(instrument: str, question: Question, seen: Seen) -> tuple[Said, ...]:
    match question:
        case Question.HEADS | Question.TOKENS:
            return _of_ranks(instrument, question, seen)
        case Question.NAMES:
            return _of_names(seen.subject)
        case Question.LAYER:
            return _of_layer(seen)
        case Question.LEAK:
            return _of_leaks(seen)


def _of_ranks(instrument: str, question: Question, seen: Seen) -> tuple[Said, ...]:
    true = scoring.true_places(seen, question)
    scores = scoring.RANKS[instrument](seen) if true else None
    if scores is None:
        return ()
    least = np.sort(scores)[-len(true)]
    is_told, fits = np.ptp(scores) > 0, (scores >= least).sum() == len(true)
    return tuple(
        Said(
            place,
            float(score),
            "",
            i in true,
            bool(is_told and (score > least or (fits and score == least))),
            bool(is_told and not fits and score == least),
        )
        for i, (place, score) in enumerate(zip(_places(question, seen), scores, strict=True))
    )


def _places(question: Question, seen: Seen) -> Sequence[tuple[int, ...]]:
    config = seen.run.config
    if question is Question.TOKENS:
        return [(i,) for i in seen.places]
    return [(i, j) for i in range(config.n_layers) for j in range(config.n_heads)]


def _of_names(known: Subject) -> tuple[Said, ...]:
    said = instruments.names(known) if known.kinds is not None else None
    if said is None or known.kinds is None:
        return ()
    pairs = zip(sorted(known.kinds.items()), said, strict=True)
    return tuple(Said(place, name, true, bool(true), name == true) for (place, true), name in pairs)


def _of_layer(seen: Seen) -> tuple[Said, ...]:
    said, true = instruments.lens_layer(seen), seen.subject.decides
    if said is None or true is None:
        return ()
    layers = range(seen.run.config.n_layers + 1)
    return tuple(Said((i,), float(i == said), "", i == true, i == said) for i in layers)


def _of_leaks(seen: Seen) -> tuple[Said, ...]:
    if not seen.subject.has_mask:
        return ()
    alarms = instruments.leaks(seen.subject, seen.asked.text)
    faults = zip((*LEAKING, *SOUND), alarms, strict=True)
    return tuple(
        Said(str(fault), float(alarm), "", fault in LEAKING, alarm) for fault, alarm in faults
    )
