"""Models whose answer is known, with texts to ask about: written, planted, trained, random."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

import torch
from torch import Generator

from blocks.known.models import compiled_model, programs
from blocks.known.planting import planted
from blocks.known.program import Program
from blocks.known.shuffled import trained_on_shuffled
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.models import Encoder, build
from blocks.model.randomness import generator
from blocks.observe.run import Input, Run
from blocks.weights.model_file import ModelFile
from blocks.weights.pocket import pocket

Place = tuple[int, int]
N_TEXTS = 6


class Origin(StrEnum):
    """How it is known what a model does."""

    WRITTEN = "written"  # compiled from a program
    PLANTED = "planted"  # a written one inside random weights, turned
    TRAINED = "trained"  # on a task with one known solution
    SHUFFLED = "shuffled"  # a control: trained on answers that belong to other tokens
    RANDOM = "random"  # a control: the truth of a written one, and weights that know nothing


@dataclass(frozen=True)
class Asked:
    """A text and a position in it, and another text of the same length with another answer there.

    `reads`: the places that the answer is taken from, None where no single ones are.
    """

    text: str
    other: str
    position: int
    reads: frozenset[int] | None


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with what is known of it; None of what is not known.

    `needed`: the heads, as (layer, head), without which there is no answer; `kinds`: what each head
    attends to, by the names of the probe; `decides`: the layers after which the answer is there.
    """

    name: str
    origin: Origin
    file: ModelFile
    draw: Callable[[Generator], Asked]
    needed: frozenset[Place] | None = None
    kinds: Mapping[Place, str] | None = None
    decides: int | None = None
    has_mask: bool = False

    @property
    def program(self) -> str:
        """The name of what was compiled into it."""
        return self.name.partition("-")[2] if self.origin is not Origin.WRITTEN else self.name

    @cached_property
    def model(self) -> Encoder:
        """The model itself."""
        built = self.file.build()
        assert isinstance(built, Encoder)
        return built

    def texts(self, seed: int, n: int = N_TEXTS) -> list[Asked]:
        """What is asked under one seed."""
        random = generator(seed, "known truth", self.name)
        return [self.draw(random) for _ in range(n)]

    def run(self, text: str) -> Run:
        """The run of a text."""
        pieces = self.file.tokenizer.pieces(text)
        is_causal = self.file.config.architecture.generates
        return Run(
            config=self.file.config,
            input=Input(
                tokens=tuple(each.label for each in pieces),
                token_ids=tuple(each.token_id for each in pieces),
            ),
            mask=MaskConfig(mask_kind=MaskKind.CAUSAL if is_causal else MaskKind.NONE),
            weights=self.name,
        )


def drawn(program: Program, random: Generator) -> Asked:
    """A text that says something at its last token, and another of the same length."""
    while True:
        text = _text(program, random)
        at = _position(program, text, random)
        if program.asked(text, at):
            break
    answer = program.answer(text)[at]
    other = text
    while program.answer(other)[at] in (answer, "?"):
        other = _text(program, random, len(text))
    reads = None if program.reads is None else frozenset(program.reads(text, at) - {at})
    return Asked(text, other, at, reads)


def _text(program: Program, random: Generator, n: int = 0) -> str:
    letters, most = program.letters, 8 if program.is_distinct else 12
    n = n or program.seq_len or int(torch.randint(7, most + 1, (), generator=random))
    n -= len(program.first)
    if program.is_distinct:
        chosen = torch.randperm(len(letters), generator=random)[:n]
    else:
        chosen = torch.randint(len(letters), (n,), generator=random)
    return program.first + "".join(letters[i] for i in chosen.tolist())


def _position(program: Program, text: str, random: Generator) -> int:
    """The last token; of an encoder any."""
    if program.is_causal:
        return len(text) - 1
    return int(torch.randint(len(program.first), len(text), (), generator=random))


def _of_program(program: Program, origin: Origin, file: ModelFile, name: str) -> Subject:
    everywhere = ((i, j) for i in range(program.n_layers) for j in range(program.n_heads))
    return Subject(
        name=name,
        origin=origin,
        file=file,
        draw=lambda random: drawn(program, random),
        needed=program.needed,
        kinds={place: program.kinds.get(place, "") for place in everywhere},
        decides=program.decides,
    )


PLANTED = ("first-token", "induction", "duplicate-token", "feature")
RANDOM = ("first-token", "induction", "duplicate-token", "keyword", "count", "three-back")


@lru_cache(maxsize=64)
def subject(name: str) -> Subject:
    """A model whose answer is known, made once."""
    if name.startswith("planted-"):
        return _planted(name.removeprefix("planted-"))
    if name.startswith("learned-"):
        return induction_learned() if name == "learned-induction" else sort_learned()
    return _of_program(programs()[name], Origin.WRITTEN, compiled_model(name), name)


def _planted(name: str) -> Subject:
    program = programs()[name]
    file, moved = planted(compiled_model(name), seed_of=name)
    whole = _of_program(program, Origin.PLANTED, file, f"planted-{name}")
    places = {(i, j): "" for i in range(file.config.n_layers) for j in range(file.config.n_heads)}
    kinds = places | {moved[place]: kind for place, kind in program.kinds.items()}
    needed = frozenset(moved[place] for place in program.needed)
    return replace(whole, kinds=kinds, needed=needed, has_mask=True)


CONTROL_NAMES = (*(f"random-{name}" for name in RANDOM), "shuffled-induction")


def control(name: str, seed: int) -> Subject:
    """A model that knows nothing, with another's truth: random weights, or shuffled answers."""
    if name == "shuffled-induction":
        known = subject("learned-induction")
        file = replace(known.file, tensors=trained_on_shuffled(known.file, seed))
        return replace(known, name=name, origin=Origin.SHUFFLED, file=file, has_mask=False)
    program = name.removeprefix("random-")
    file = compiled_model(program)
    file = replace(file, tensors=dict(build(file.config, seed=seed).state_dict()))
    return _of_program(programs()[program], Origin.RANDOM, file, name)


def induction_learned() -> Subject:
    """Ours, trained to find what came before: runs of different tokens, twice.

    Each head of its second layer does so: with the exact pattern in the place of its own, and all
    others of the layer spread evenly, most repeats are still told. Those of the first share the
    work of a previous-token head, none of them with half of its weight.
    """
    file = pocket("induction")
    letters = file.tokenizer.decode(range(file.config.vocab_size))

    def draw(random: Generator) -> Asked:
        n = int(torch.randint(8, 17, (), generator=random))
        order = torch.randperm(len(letters), generator=random)[: 2 * n].tolist()
        first, second = ("".join(letters[i] for i in some) for some in (order[:n], order[n:]))
        at = n + int(torch.randint(2, n - 1, (), generator=random))
        text, other = ((each + each)[: at + 1] for each in (first, second))
        return Asked(text, other, at, frozenset({at - n, at - n + 1}))

    n_heads = file.config.n_heads
    kinds = {
        (layer, head): name
        for layer, name in enumerate(("", "induction"))
        for head in range(n_heads)
    }
    return Subject(
        name="learned-induction",
        origin=Origin.TRAINED,
        file=file,
        draw=draw,
        kinds=kinds,
        decides=2,
        has_mask=True,
    )


def sort_learned() -> Subject:
    """Ours, trained to put letters in order: each answer is a letter of the text."""
    file = pocket("sort")

    def draw(random: Generator) -> Asked:
        text, other = (_different_letters(random, file.config.position.max_seq_len) for _ in "ab")
        at = int(torch.randint(len(text), (), generator=random))
        reads = frozenset({text.index(sorted(text)[at])} - {at})
        return Asked(text, other, at, reads) if reads else draw(random)

    return Subject(name="learned-sort", origin=Origin.TRAINED, file=file, draw=draw)


def _different_letters(random: Generator, n: int) -> str:
    order = torch.randperm(26, generator=random)[:n].tolist()
    return "".join(chr(ord("a") + i) for i in order)
