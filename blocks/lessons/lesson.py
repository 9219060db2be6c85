"""A lesson: a few steps, each of which asks before it shows."""

from dataclasses import dataclass
from enum import StrEnum

from blocks.lessons.formula import Formula

LARGEST = 1e12  # of the numbers of a lesson, and of a guess
ROUNDED = 0.05  # what is computed by hand has few digits


class AskKind(StrEnum):
    """How a guess is made.

    choice: one of several ranges; number: a number; order: several things from most to least;
    token: the token that has most; cell: the cell of a map that has most; curve: a value at each
    of several x.
    """

    CHOICE = "choice"
    NUMBER = "number"
    ORDER = "order"
    TOKEN = "token"
    CELL = "cell"
    CURVE = "curve"


@dataclass(frozen=True)
class Option:
    """What can be chosen: true where the measurement is at least `least` and below `most`."""

    label: str
    least: float
    most: float

    def holds(self, value: float) -> bool:
        """Whether the measurement says so."""
        return self.least <= value < self.most


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A question whose answer is measured, never written.

    `truths`: one measurement; of an order one for each of `labels`. `xs`: where a curve is
    guessed. `unit` stands behind the numbers; `least` and `most` bound a number or a curve.
    `given`: what is measured and told with the question, so that nobody has to read it off.
    `tolerance`: by which share of the truth a number may be off.
    """

    question: str
    kind: AskKind
    truths: tuple[Formula, ...]
    options: tuple[Option, ...] = ()
    labels: tuple[str, ...] = ()
    xs: tuple[float, ...] = ()
    x_label: str = ""
    unit: str = ""
    given: tuple[tuple[str, Formula], ...] = ()
    least: float = 0.0
    most: float = 1.0
    tolerance: float = ROUNDED

    @property
    def x_name(self) -> str:
        """What the axis of a curve is called: of “d =” as it stands before a value, “d”."""
        return self.x_label.removesuffix("=").strip()


@dataclass(frozen=True, kw_only=True)
class Step:
    """One screen of a lesson.

    `before` is read first; `ask` is answered while the panel `show` is withheld, if `withhold`
    says so; `after` is read when it was. `task` is what the reader then does, until `done` holds,
    as it does with `solution`; `so_far`: what is measured and told beside it, or with the answer.
    `set`: the state that the step begins with, as in a link; without it, things stay as they are.
    `own_words`: so many words of the reader's own sentence stand in the place of the text that is
    set, where it has as many; `own_text`: it comes back whole, after a step that set a text, and a
    guess waits until there is one. `page`: where it takes place. `line`: where it begins in its
    file.
    """

    title: str
    page: str
    before: str
    after: str = ""
    set: tuple[tuple[str, str], ...] = ()
    own_words: int = 0
    own_text: bool = False
    show: str = ""
    withhold: bool = False
    ask: Ask | None = None
    task: str = ""
    done: Formula | None = None
    solution: tuple[tuple[str, str], ...] = ()
    so_far: tuple[tuple[str, Formula], ...] = ()
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson, step by step; `needs` names lessons that come before, `learned` is read last."""

    id: str
    language: str
    title: str
    minutes: int
    summary: str
    learned: str = ""
    needs: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
