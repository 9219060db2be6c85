"""All programs, and the models that they are compiled into."""

from dataclasses import dataclass
from functools import lru_cache

from blocks.known import copying, counting
from blocks.known.compiler import compiled
from blocks.known.program import Program
from blocks.weights.model_file import ModelFile

MAKERS = (
    copying.first_token,
    copying.previous_token,
    copying.three_back,
    copying.induction,
    copying.duplicate,
    copying.after_a,
    counting.feature,
    copying.twice,
    copying.translated,
    copying.reverse,
    counting.count,
    counting.parity,
    counting.majority,
    counting.brackets,
    counting.sum_of_two,
    counting.sort,
)


@lru_cache(maxsize=1)
def programs() -> dict[str, Program]:
    """All of them, by name."""
    return {program.name: program for program in (make() for make in MAKERS)}


@dataclass(frozen=True, eq=False)
class KnownFacts:
    """All programs, and how many of their heads do anything."""

    programs: tuple[Program, ...]

    @property
    def n(self) -> int:
        """How many programs there are."""
        return len(self.programs)

    @property
    def n_heads(self) -> int:
        """The heads of all of them."""
        return sum(each.n_layers * each.n_heads for each in self.programs)

    @property
    def n_needed(self) -> int:
        """Those without which there is no answer."""
        return sum(len(each.needed) for each in self.programs)


def known_facts() -> KnownFacts:
    """What is known of all of them."""
    return KnownFacts(tuple(programs().values()))


@lru_cache(maxsize=32)
def compiled_model(name: str) -> ModelFile:
    """The model of one of them, compiled once."""
    return compiled(programs()[name])
