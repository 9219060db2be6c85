"""What the reader looks at on the page of positions, as far as this run has it."""

from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import labelled, link
from pages.ui.positions import measured


def kind(run: Run) -> PositionKind:
    """The kind that is looked at: the reader's, or else the model's own."""
    return PositionKind(link.value("shown_position") or run.config.position.position_kind)


def order(run: Run) -> tuple[PositionKind, ...]:
    """All kinds in the order in which they are measured: the one looked at, then none, and all."""
    return tuple(dict.fromkeys((kind(run), PositionKind.NONE, *PositionKind)))


def is_own(run: Run) -> bool:
    """Whether that is how this run tells positions."""
    return kind(run) is run.config.position.position_kind


def n_positions(run: Run) -> int:
    """How many positions are shown; a learned table may end before."""
    return measured.n_rows(run, kind(run), link.value("n_positions"))


def n_asked() -> int:
    """How many positions the reader asks for; tables that end before show fewer."""
    return link.value("n_positions")


def fits(run: Run) -> bool:
    """Whether the kind that is looked at fits this model."""
    return measured.fault_of(run, kind(run)) is None


def position(run: Run) -> int:
    """The pinned position, from 0: that of the pinned token, or the last one shown."""
    return min(labelled.pinned_token(run), n_positions(run) - 1)


def n_pairs(run: Run) -> int:
    """How many pairs there are to choose from; of ALiBi, heads."""
    config = run.config
    match kind(run):
        case PositionKind.ALIBI:
            return config.n_heads
        case PositionKind.ROPE:
            return config.rotary_width // 2
        case PositionKind.NONE:
            return 0
        case _:
            return -(-config.d_model // 2)


def pair(run: Run) -> int:
    """The pair (of ALiBi the head) that is drawn as curves: the reader's, or one that is seen."""
    asked = link.value("position_pair")
    usual = 0 if kind(run) is PositionKind.ALIBI else n_pairs(run) // 4
    return max(0, min(usual if asked is None else asked, n_pairs(run) - 1))


def shift(run: Run) -> int:
    """By how many positions PE is moved on; at least one position must be left."""
    return min(link.value("position_shift"), n_positions(run) - 1)


def trained_len(run: Run) -> int:
    """The length that counts as trained: the reader's, or else that of the training."""
    return link.value("trained_len") or measured.default_length(run)
