"""What a link carries for the page of smaller models."""

import re
from collections.abc import Iterable
from enum import StrEnum

from blocks.efficiency.cache_facts import CACHE_BITS
from blocks.efficiency.cache_rounding import CacheAxis
from blocks.efficiency.distillation import StudentSize
from blocks.efficiency.frontier import FrontColors
from blocks.efficiency.names import MOST_EXEMPT
from blocks.efficiency.pruning import Criterion
from blocks.efficiency.pruning_facts import Pruned
from blocks.efficiency.quantization import BITS, Granularity, RangeRule
from blocks.efficiency.removal import Removed
from blocks.efficiency.rounding import Rounding
from blocks.training.teaching import AttentionTarget
from pages.server import starts
from pages.server.readers import Field, UnreadableError, choice, flag, whole
from pages.state.link_fields.cost import MOST_ATTEMPTS

TEMPERATURES, TEACHER_SHARES = ("1", "2", "4", "8"), ("0.25", "0.5", "0.75", "1")
INNER_WEIGHTS, UPDATES = ("0", "0.1", "1", "10"), ("200", "1000", "4000")
OWN_SHAPE = "own"  # its sizes are fields of their own; 0 is half of the model shown
STUDENT_SIZES = (*map(str, StudentSize), OWN_SHAPE)
GROUP_SIZES = (8, 16, 32, 64, 128)
KEPT_PERCENTS = ("1", "3", "10")
CACHE_GROUPS, CACHE_RECENT = ("8", "16", "32"), ("0", "8", "32")


class ScoreText(StrEnum):
    """What smaller models are calibrated and scored on."""

    TASK = "task"
    EN = "en"
    ZH = "zh"
    SIDEBAR = "sidebar"
    OWN = "own"


class MaskedAmong(StrEnum):
    """Among which weights those that are masked are sought."""

    LAYER = "layer"
    GLOBAL = "global"
    TWO_FOUR = "2:4"


def matrix_name(text: str) -> str:
    """Read the name of a weight: layers.0.attention.q_proj.weight."""
    if not re.fullmatch("[a-z0-9_.]{0,80}", text):
        raise UnreadableError
    return text


def modules_of(text: str) -> tuple[str, ...]:
    """The modules that a text of `as_modules` names."""
    return tuple(filter(None, text.split(",")))


def as_modules(names: Iterable[str]) -> str:
    return ",".join(names)


def exempt_modules(text: str) -> str:
    """Read which modules are not rounded: embed,layers.0,layers.1.attention.q_proj."""
    names = modules_of(text)
    if len(names) > MOST_EXEMPT:
        raise UnreadableError
    return as_modules(dict.fromkeys(map(matrix_name, names)))


def teacher_name(text: str) -> str:
    """Read the name of a model that teaches; empty for the one that is shown."""
    if text and not starts.is_known(text):
        raise UnreadableError
    return text


FIELDS: dict[str, Field] = {
    "score_text": Field(choice(ScoreText), "task"),
    "n_bits": Field(whole(BITS[0], BITS[-1]), 3),
    "granularity": Field(choice(Granularity), "channel"),
    "group_size": Field(whole(2, 1024), 32),
    "symmetric_grid": Field(flag, True),
    "range_rule": Field(choice(RangeRule), "absmax"),
    "rounding": Field(choice(Rounding), "nearest"),
    "exempt": Field(exempt_modules, ""),
    "measure_rounded": Field(flag, False),
    "rounded_matrix": Field(matrix_name, ""),
    "rounded_columns": Field(whole(0, 2**17), 32),
    "taken_out": Field(choice(Pruned), "weights"),
    "front_colors": Field(choice(FrontColors), "method"),
    "measure_variants": Field(flag, False),
    "teacher": Field(teacher_name, ""),
    "student_size": Field(choice(STUDENT_SIZES), "half_layers"),
    "student_layers": Field(whole(0, 24), 0),
    "student_width": Field(whole(0, 1024), 0),
    "student_heads": Field(whole(0, 64), 0),
    "student_units": Field(whole(0, 4096), 0),
    "distil_temperature": Field(choice(TEMPERATURES), "2"),
    "teacher_share": Field(choice(TEACHER_SHARES), "0.5"),
    "hidden_weight": Field(choice(INNER_WEIGHTS), "0"),
    "attention_weight": Field(choice(INNER_WEIGHTS), "0"),
    "attention_target": Field(choice(AttentionTarget), "patterns"),
    "student_updates": Field(choice(UPDATES), "200"),
    "train_students": Field(flag, False),
    "measure_retraining": Field(flag, False),
    "retrained_without": Field(choice(Removed), "weights"),
    "removed_percent": Field(whole(1, 99), 70),
    "repair_updates": Field(choice(UPDATES), "200"),
    "prune_masked": Field(whole(0, 95), 50),
    "prune_by": Field(choice(Criterion), "magnitude"),
    "prune_among": Field(choice(MaskedAmong), "layer"),
    "prune_units": Field(whole(0, 95), 0),
    "prune_heads": Field(whole(0, 1024), 0),
    "prune_layer": Field(whole(0, 1024), 0),
    "measure_pruning": Field(flag, False),
    "cache_bits": Field(choice(tuple(map(str, CACHE_BITS))), "2"),
    "cache_axis": Field(choice(CacheAxis), "kivi"),
    "cache_group": Field(choice(CACHE_GROUPS), "8"),
    "cache_recent": Field(choice(CACHE_RECENT), "0"),
    "kept_percent": Field(choice(KEPT_PERCENTS), "3"),
    "trace_rounding": Field(flag, False),
    "measure_deletions": Field(flag, False),
    "activation_bits": Field(whole(BITS[0], BITS[-1]), 8),
    "measure_activations": Field(flag, False),
    "measure_caches": Field(flag, False),
    "follow_paths": Field(flag, False),
    "measure_int8": Field(whole(0, MOST_ATTEMPTS), 0),
}
