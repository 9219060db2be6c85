"""A program for a Transformer in the spirit of RASP: what heads look for, and what layers look up.

Every token holds variables. A head looks for keys by conditions between a variable of the query and
one of the key, and takes another variable from those that it finds (select and aggregate); a
feed-forward layer looks up what a combination of variables means. Weiss et al. 2021, "Thinking Like
Transformers"; compiled into weights first by Lindner et al. 2023 (Tracr).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variable:
    """What a token may hold: one of `values`, each a direction of the stream of its own.

    Of several keys that a head takes it from, a token holds the mean.
    """

    name: str
    values: tuple[Any, ...]


INDEX = Variable("index", tuple(range(16)))  # the place of a token


@dataclass(frozen=True)
class Condition:
    """Which keys a query looks for: those whose variable fits its own."""

    query: Variable
    key: Variable
    fits: Callable[[Any, Any], bool]


@dataclass(frozen=True, kw_only=True)
class Head:
    """One head: the keys that fit all conditions share its weight alike; where none does, the first
    token has all of it (of several conditions it fits all but one then).

    What it takes from them, `takes`, becomes weights on the values of `gives` by `means`; without
    `gives` it writes nothing. `kind`: what a head that attends there is called, empty for none of
    the names that the probe knows. One whose `is_needed` is false does nothing for the answer.
    """

    at: tuple[int, int]
    looks: tuple[Condition, ...]
    takes: Variable
    gives: Variable | None = None
    means: Callable[[Any], Mapping[Any, float]] = lambda value: {value: 1.0}
    kind: str = ""
    is_needed: bool = True
    has_rest: bool = True


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A feed-forward layer that knows what each combination of variables means; None is nothing."""

    layer: int
    reads: tuple[Variable, ...]
    gives: Variable
    means: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """A feed-forward layer that tells numbers apart: which value of `gives` stands for a number.

    The number is that of a variable with one value; between neighbouring values lie the `steps`,
    ascending, none of which is nearer than `width` to a number that occurs.
    """

    layer: int
    reads: Variable
    gives: Variable
    steps: Sequence[float]
    width: float


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is compiled, with what is known of it by its definition alone.

    `answer`: the same algorithm in plain Python, of a whole text, one token for each, or ? where
    it says nothing; `reads`: the
    places before a position from which its answer is taken. `asked`: whether an answer says
    something there; `decides`: the number of layers after which the answer is determined.
    `letters`: those that texts are made of, each once where they are `is_distinct`; `first`: the
    token that begins each of them; `seq_len`: their length where it is fixed.
    """

    name: str
    tokens: Variable
    output: Variable
    parts: tuple[Head | Lookup | Ladder, ...]
    n_layers: int
    n_heads: int
    answer: Callable[[str], str]
    decides: int
    letters: str
    first: str = ""
    reads: Callable[[str, int], set[int]] | None = None
    asked: Callable[[str, int], bool] = lambda _text, _at: True
    seq_len: int = 0
    is_distinct: bool = False
    is_causal: bool = True

    @property
    def heads(self) -> tuple[Head, ...]:
        """Those that it says anything about."""
        return tuple(part for part in self.parts if isinstance(part, Head))

    @property
    def needed(self) -> frozenset[tuple[int, int]]:
        """Layer and head of those without which there is no answer."""
        return frozenset(head.at for head in self.heads if head.is_needed)

    @property
    def kinds(self) -> dict[tuple[int, int], str]:
        """What each head attends to, by its definition; empty for none of the names."""
        return {head.at: head.kind for head in self.heads}
