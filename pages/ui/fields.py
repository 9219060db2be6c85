"""Every value that a link can carry: how it is read, and what it is where the link is silent."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, get_args

import streamlit as st

from blocks.config import FIELDS as CONFIG_FIELDS
from blocks.devices import DTYPES, available_devices
from blocks.masks import MaskKind
from blocks.run import PaddingSide
from blocks.text.sampling import LEAST_TEMPERATURE
from blocks.training.recipe import BOUNDS, RECIPES, OptimizerKind, ScheduleKind
from blocks.training.stories import Language
from blocks.training.tasks import LEARNERS, TaskKind, TokenKind
from pages.ui import starts
from pages.ui.language import LANGUAGES, browser_language
from pages.ui.settings import MAX_CHARACTERS, MAX_NEW_TOKENS, MAX_TOKENS

SAMPLES = {
    "en": "the small robot saw the red ball and the small robot smiled",
    "zh": "小机器人看见红色的球，小机器人笑了。",
}
INPUT_KINDS = ("sentence", "random")
WEIGHTS = ("trained", "random")
LARGEST_SEED = 2**31 - 1
PADDING_SHOWN = 3
MOST_SHOWN_TEMPERATURE = 2.0


class UnreadableError(ValueError):
    """A value in a link that cannot be; `nearest` is used instead, or the default."""

    def __init__(self, nearest: Any = None):
        super().__init__()
        self.nearest = nearest


class Field(NamedTuple):
    """How a value is read from a link, and its default (a function of the others, or a value)."""

    read: Callable[[str], Any]
    default: Any


def whole(least: int, most: int) -> Callable[[str], int]:
    """Read a whole number within bounds."""

    def read(text: str) -> int:
        try:
            value = int(text[:32])
        except ValueError:
            raise UnreadableError from None
        if not least <= value <= most:
            raise UnreadableError(min(max(value, least), most))
        return value

    return read


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise UnreadableError from None
    if not math.isfinite(value):
        raise UnreadableError
    return value


def within(least: float, most: float) -> Callable[[str], float]:
    """Read a number within bounds."""

    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:
            raise UnreadableError(min(max(value, least), most))
        return value

    return read


def temperature(text: str) -> float:
    """Read 0 (greedy), or a number that logits can be divided by."""
    value = within(0.0, MOST_SHOWN_TEMPERATURE)(text)
    if 0 < value < LEAST_TEMPERATURE:
        raise UnreadableError(LEAST_TEMPERATURE)
    return value


def identifier(text: str) -> str:
    """Read what a run may be called, or nothing."""
    if not re.fullmatch("[A-Za-z0-9_-]{0,40}", text):
        raise UnreadableError
    return text


def choice(options: Iterable[str]) -> Callable[[str], str]:
    """Read one of several words."""
    words = [str(option) for option in options]

    def read(text: str) -> str:
        if text not in words:
            raise UnreadableError
        return text

    return read


def flag(text: str) -> bool:
    """Read true or false."""
    return choice(("true", "false"))(text) == "true"


def sentence(text: str) -> str:
    """Read any text, cut to what a link can carry."""
    if len(text) > MAX_CHARACTERS:
        raise UnreadableError(text[:MAX_CHARACTERS])
    return text


def _config_reader(kind: Any) -> Callable[[str], Any]:
    """Of the right type only: what fits what, the configuration itself decides."""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return choice(kind)
    if kind is bool:
        return flag
    is_whole = kind is int or int in get_args(kind)
    return whole(-(10**9), 10**9) if is_whole else number


def default_preset() -> str:
    """The model that a page shows first; which one, its frame says. Without one: the course's."""
    wanted = st.session_state.get("default_preset")
    return wanted if starts.is_known(wanted or "") else "course"


def known_preset(text: str) -> str:
    """Read the name of something to start from."""
    if not starts.is_known(text):
        raise UnreadableError
    return text


def _start(values: Mapping[str, Any]) -> starts.Start:
    return starts.start(_preset(values))


def _preset(values: Mapping[str, Any]) -> str:
    """A run may be forgotten while a reader still looks at it."""
    name = values.get("preset") or default_preset()
    return name if starts.is_known(name) else default_preset()


def _preset_value(name: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda values: _start(values).config.flat()[name]


def _language(values: Mapping[str, Any]) -> str:
    return values.get("lang") or browser_language()


def _sample(values: Mapping[str, Any]) -> str:
    return samples(_preset(values))[_language(values)]


def samples(preset: str) -> Mapping[str, str]:
    """A text to begin with, by language: one that the trained model was made for."""
    weights = starts.start(preset).weights
    return {**SAMPLES, **starts.model(weights).card.samples} if weights else SAMPLES


def _preset_mask(values: Mapping[str, Any]) -> str:
    """The page's own where it has one: a GPT is causal, whatever it was started from."""
    return st.session_state.get("default_mask") or str(_start(values).mask_kind)


def _padding(values: Mapping[str, Any]) -> int:
    kind = MaskKind(values.get("mask_kind") or _preset_mask(values))
    return PADDING_SHOWN if kind.hides_padding else 0


# The architecture is the page's to say.
CONFIG = {
    name: Field(_config_reader(kind), _preset_value(name))
    for name, kind in CONFIG_FIELDS.items()
    if name != "architecture"
}
# In this order they are read: a default may depend on what stands before it.
RUN = {
    "lang": Field(choice(LANGUAGES), None),
    "preset": Field(known_preset, lambda values: default_preset()),
    "at_step": Field(whole(0, 10**7), None),
    "weights": Field(choice(WEIGHTS), "trained"),
    "input_kind": Field(choice(INPUT_KINDS), "sentence"),
    "text": Field(sentence, _sample),
    "batch": Field(whole(1, 64), 1),
    "seq_len": Field(whole(1, MAX_TOKENS), 16),
    "mask_kind": Field(choice(MaskKind), _preset_mask),
    "window_size": Field(whole(1, MAX_TOKENS), 4),
    "prefix_len": Field(whole(0, MAX_TOKENS), 3),
    "n_padding": Field(whole(0, 64), _padding),
    "padding_side": Field(choice(PaddingSide), "right"),
    "seed": Field(whole(0, LARGEST_SEED), 0),
    "device": Field(choice(available_devices()), available_devices()[0]),
    "dtype": Field(choice(DTYPES), "float32"),
    "training": Field(flag, False),
    "hide_token": Field(flag, True),
}
# How the next token is chosen, and how many are written; 0 keeps all of them for top_k.
SAMPLING = {
    "temperature": Field(temperature, 1.0),
    "top_k": Field(whole(0, 10**6), 0),
    "top_p": Field(within(0.01, 1.0), 1.0),
    "sampling_seed": Field(whole(0, LARGEST_SEED), 0),
    "n_new_tokens": Field(whole(0, MAX_NEW_TOKENS), 12),
}
CORPORA, LOOKED_AT = ("python", "own"), ("task", "own")
HEAD_MEASURES = ("previous_token", "induction", "first_token", "same_token")
USUAL_LENGTHS = {"copy": 16, "reverse": 16, "sort": 16, "addition": 14}
LONGEST_ROW = 512


def _usual_length(values: Mapping[str, Any]) -> int:
    return USUAL_LENGTHS.get(values.get("task", ""), 64)


def _usual_learner(values: Mapping[str, Any]) -> str:
    return str(TaskKind(values.get("task", TaskKind.STORIES)).architectures[0])


def _telling_measure(values: Mapping[str, Any]) -> str:
    return "induction" if values.get("task") == "induction" else "previous_token"


def _of_recipe(name: str) -> Field:
    """A knob of the recipe: the recipe that was chosen says where it stands."""
    is_whole = isinstance(RECIPES["fast"].flat()[name], int)
    least, most = BOUNDS[name]
    read = whole(int(least), int(most)) if is_whole else within(float(least), float(most))
    return Field(read, lambda values: RECIPES[values.get("recipe", "fast")].flat()[name])


# What is learned, and how; the knobs of a recipe have its own names.
TASK = {
    "task": Field(choice(TaskKind), str(TaskKind.STORIES)),
    "learner": Field(choice(LEARNERS), _usual_learner),
    "story_language": Field(choice(Language), _language),
    "corpus": Field(choice(CORPORA), "python"),
    "token_kind": Field(choice(TokenKind), str(TokenKind.CHARACTERS)),
    "task_seq_len": Field(whole(4, LONGEST_ROW), _usual_length),
}
KNOBS = {
    **{name: _of_recipe(name) for name in BOUNDS if name not in ("n_eval_batches", "eval_every")},
    "optimizer": Field(
        choice(OptimizerKind), lambda values: str(RECIPES[values.get("recipe", "fast")].optimizer)
    ),
    "schedule": Field(
        choice(ScheduleKind), lambda values: str(RECIPES[values.get("recipe", "fast")].schedule)
    ),
}
TRAINING = {
    **TASK,
    "recipe": Field(choice(RECIPES), "fast"),
    **KNOBS,
    "run": Field(identifier, ""),
    "compare": Field(identifier, ""),
}
# What a choice brings along: another choice brings its own.
FOLLOWERS = {"recipe": tuple(KNOBS), "task": ("learner", "task_seq_len")}
VIEW = {
    "log_steps": Field(flag, False),
    "looked_at": Field(choice(LOOKED_AT), "task"),
    "head_measure": Field(choice(HEAD_MEASURES), _telling_measure),
    "layer": Field(whole(0, 10**6), 0),
    "stage": Field(sentence, "attention_out"),
    "head": Field(whole(0, 10**6), 0),
    "token": Field(whole(0, 10**6), None),
    "new_token": Field(whole(0, MAX_NEW_TOKENS), 0),
    "n_dims": Field(whole(1, 128), 20),
}
FIELDS: dict[str, Field] = {**RUN, **CONFIG, **SAMPLING, **TRAINING, **VIEW}
