"""Whether a model goes on with she or he after a name, and which one head that hangs on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from blocks.corpora.stories_en import WORDS as ENGLISH
from blocks.corpora.stories_zh import WORDS as CHINESE
from blocks.model.models import Model
from blocks.observe.interventions import Intervention, Part, heads_of
from blocks.observe.recording import Recording
from blocks.observe.run import Run
from blocks.observe.sweep import outputs_of_each


class Story(NamedTuple):
    """The beginning of a story about a name, and the words that can only mean her, or him.

    `first` is the name that is asked about first; `larger` a beginning for a model that knows more.
    """

    begins: str
    she: tuple[str, ...]
    he: tuple[str, ...]
    names: tuple[str, ...]
    first: str
    larger: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The likeliest of each, as people write them."""
        return self.she[0].strip(), self.he[0].strip()


STORIES = {
    "en": Story(
        "Once there was a shy owl called {name}.",
        (" She", " Her"),
        (" He", " His"),
        tuple(each[""] for each in ENGLISH["person"]),
        "Leo",
        "My friend {name} was late because",
    ),
    "zh": Story(
        "从前，森林里住着一只害羞的小兔子，名叫{name}。",
        ("她",),
        ("他",),
        tuple(each[""] for each in CHINESE["person"]),
        "朵朵",
    ),
}


class Chances(NamedTuple):
    """How likely the next word means her, and how likely him."""

    she: float
    he: float

    @property
    def share_of_she(self) -> float:
        """Of both together."""
        return self.she / (self.she + self.he)


@dataclass(frozen=True)
class NameFacts:
    """What follows a name: `whole`, and `without` each of `heads` alone."""

    name: str
    whole: Chances
    heads: tuple[Intervention, ...]
    without: tuple[Chances, ...]

    @property
    def changes(self) -> np.ndarray:
        """By how much the share of her moves without each head, in either direction."""
        return np.abs([each.share_of_she - self.whole.share_of_she for each in self.without])


class Knower(NamedTuple):
    """The head without which the answer moves most, on average over names, and by how much.

    `next_most`: by how much it moves without any other head, at most; `each`: without each,
    (layer, head).
    """

    head: int
    part: Intervention
    moves: float
    next_most: float
    each: np.ndarray


@dataclass(frozen=True)
class Asked:
    """What is told of a name: with the whole model, or without the head that knows."""

    story: Story
    facts: NameFacts
    knower: Knower
    is_off: bool

    @property
    def is_known(self) -> bool:
        """Whether the stories that the model has read have it."""
        return self.facts.name in self.story.names

    @property
    def chances(self) -> Chances:
        """How likely she and he are now."""
        return self.facts.without[self.knower.head] if self.is_off else self.facts.whole


def name_facts(
    name: str, run: Run, model: Model, seen: Recording, she: Sequence[int], he: Sequence[int]
) -> NameFacts:
    """What comes after the last token of `run`, with all of the model and without each head.

    `she`, `he`: the ids of the tokens that mean her and him.
    """
    heads = tuple(part for part in heads_of(run.config) if part.part is Part.HEAD)
    last = run.input.shape[1] - 1
    without = outputs_of_each(run, model, seen, heads, last)
    (whole,) = _chances(seen.output[:1, last], she, he)
    return NameFacts(name, whole, heads, tuple(_chances(without, she, he)))


def _chances(logits: Tensor, she: Sequence[int], he: Sequence[int]) -> Iterable[Chances]:
    """Of each row of (row, vocab_size)."""
    probs = logits.float().softmax(-1)
    both = zip(probs[:, [*she]].sum(-1).tolist(), probs[:, [*he]].sum(-1).tolist(), strict=True)
    return [Chances(*each) for each in both]


def knower(names: Sequence[NameFacts]) -> Knower:
    """Which head it hangs on, over all these names."""
    moves = np.mean([each.changes for each in names], axis=0)
    order = np.argsort(moves)[::-1]
    head = int(order[0])
    heads = names[0].heads
    each = moves.reshape(heads[-1].layer + 1, -1)
    return Knower(head, heads[head], float(moves[head]), float(moves[order[1]]), each)
