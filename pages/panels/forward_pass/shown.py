"""What the moving picture is of: the scene, kept for all readers, and the names of its tokens."""

from functools import lru_cache, partial
from typing import NamedTuple, cast

from blocks.inspection import next_token
from blocks.inspection import scene as scenes
from blocks.inspection.next_token import NextFacts
from blocks.inspection.scene import Scene
from blocks.inspection.scene_backward import Backward, asked_at, backward
from blocks.inspection.scene_depth import Depth, depth
from blocks.inspection.scene_moves import Move
from blocks.model.kinds import Architecture
from blocks.model.models import Encoder
from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.figures.counting import read_apart
from pages.server import cached
from pages.server.once import once
from pages.server.shelf import Shelf, weighed
from pages.stage import tokens
from pages.state import labelled, sinks

MOST_SCENES = 64


class Asked(NamedTuple):
    """What decides a scene; `is_back`: the way back of a training step in place of the pass.

    The last `n_drafted` tokens of the run are guesses that the pass checks; of wide rows the
    features from `first` on are drawn.
    """

    run: Run
    opened: frozenset[str]
    token: int
    is_back: bool = False
    n_drafted: int = 0
    first: int = 0

    @property
    def looked_at(self) -> dict[str, int]:
        """The token that is looked at in each text, from 0."""
        token = asked_at(self.run, self.token) if self.is_back else self.token
        if not self.run.has_target:
            return {"": token}
        last = len(self.run.target_or_start.labels) - 1
        return {"encoder": self.token, "decoder": token if self.is_back else last}


def scene_of(asked: Asked) -> Scene:
    return _scenes().get(asked)


def back_of(asked: Asked) -> Backward:
    """The way back."""
    found = scene_of(asked)
    assert isinstance(found, Backward)
    return found


@once
def _scenes() -> Shelf[Asked, Scene]:
    return weighed(_drawn, lambda found: found.n_bytes + found.seen.kept_bytes, 8, MOST_SCENES)


def _drawn(asked: Asked) -> Scene:
    model = cached.model(asked.run)
    make = backward if asked.is_back else scenes.scene
    with cached.turn(asked.run.device):
        return make(asked.run, model, asked.opened, asked.token, asked.first)


def sinks_of(run: Run) -> tuple[int, ...]:
    """The tokens that outweigh all others: lines from there are pale."""
    is_looked_for = run.config.attention_layers and not run.has_target
    return sinks.set_apart(run, True) if is_looked_for else ()


def labels_of(run: Run) -> dict[str, tuple[str, ...]]:
    """What the tokens of each text are called."""
    labels = read_apart(run.input.labels)
    if not run.has_target:
        return {"": labels}
    return {"encoder": labels, "decoder": read_apart(run.target_or_start.labels)}


@lru_cache(maxsize=8)
def ends_of(run: Run, token: int, n_rejected: int = 0) -> NextFacts | None:
    """What the model says at the end: of a GPT after its last token that stays; None of a block."""
    if not run.config.architecture.reads_tokens:
        return None
    is_gpt = run.config.architecture is Architecture.GPT
    at = labelled.last_token(run) - n_rejected if is_gpt else token
    if run.has_target:
        at = len(run.target_or_start.labels) - 1
    found = next_token.vocabulary(cached.recording(run).output[0, at], SamplingConfig())
    return NextFacts(run, at, SamplingConfig(), found, partial(tokens.label, run))


@lru_cache(maxsize=8)
def depth_of(run: Run, position: int) -> Depth:
    return depth(cast(Encoder, cached.model(run)), cached.recording(run), position)


def moved_by(run: Run, position: int) -> list[float]:
    """How far each layer moves what the model would say; of two texts of none."""
    return [] if run.has_target else depth_of(run, position).moved.round(4).tolist()


def keys_of(move: Move) -> str:
    return "encoder" if move.stage.startswith("cross_") else move.stack
