"""What a link carries for the page of phase changes."""

from enum import StrEnum

from blocks.phases.fourier import MOST_KEYS
from blocks.phases.recorded import DECAY_ENDS_AT, PREVIOUS_TOKEN_HEAD, SPARSITIES
from blocks.phases.setups import SETUPS
from blocks.training.tasks import TaskKind
from pages.server.readers import Field, choice, flag, whole


class BranchKind(StrEnum):
    """What is otherwise on a branch."""

    NOTHING = "nothing"
    WEIGHT_DECAY = "weight_decay"
    LEARNED_PERCENT = "learned_percent"
    HEAD = "head"


DECAYS, PERCENTS = ("0", "0.1", "0.3", "1", "3"), ("30", "45", "60", "75", "90")
LATEST = 10**6
# Each clock has a step of its own: sums, parity and brackets, induction, features, a dictionary.
STEPS = ("clock_step", "bit_step", "induction_step", "toy_step", "dictionary_step")

FIELDS: dict[str, Field] = {
    "phase_task": Field(choice(SETUPS), str(TaskKind.MODULAR_ADDITION)),
    "sum_task": Field(choice(("modular_addition", "modular_subtraction")), "modular_addition"),
    "phase_seed": Field(whole(0, 99), 0),
    **dict.fromkeys(STEPS, Field(whole(0, LATEST), LATEST)),
    "train_phase": Field(flag, False),
    "key_frequency": Field(choice(range(MOST_KEYS)), "0"),
    "sparsity": Field(choice(tuple(map(str, SPARSITIES))), str(SPARSITIES[-1])),
    "n_toy_features": Field(whole(2, 12), 5),
    "branch_task": Field(
        choice((TaskKind.MODULAR_ADDITION, TaskKind.INDUCTION)), str(TaskKind.MODULAR_ADDITION)
    ),
    "branch_kind": Field(choice(BranchKind), str(BranchKind.WEIGHT_DECAY)),
    "branch_step": Field(whole(0, LATEST), DECAY_ENDS_AT),
    "branch_decay": Field(choice(DECAYS), "0"),
    "branch_percent": Field(choice(PERCENTS), "90"),
    "branch_head": Field(whole(0, 7), PREVIOUS_TOKEN_HEAD),
}

FOLLOWERS = {"panel": ("train_phase",)}  # what one panel trains is not asked of another
