"""Maps of which one cell is asked for: where most lies, by how much, what rows are called."""

from blocks.lessons.formula import Formula
from blocks.observe.run import Run

MOST_SIDE = 32  # rows and columns: more cannot be told apart in a card
ACROSS = "cross_map"
Map = tuple[tuple[float, ...], ...]


def top(values: Map) -> tuple[int, int]:
    """Row and column of the largest value; of equal ones the first."""
    cells = ((row, column) for row, line in enumerate(values) for column in range(len(line)))
    return max(cells, key=lambda cell: values[cell[0]][cell[1]])


def lead(values: Map) -> float:
    """Return the relative margin of the largest value over the second: 0 where two are equal."""
    first, second = sorted((each for line in values for each in line), reverse=True)[:2]
    return (first - second) / first if first > 0 else 0.0


def labels(formula: Formula, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What rows and columns are called: queries and keys, of one text or of target and source."""
    keys = run.input.labels
    is_across = run.has_target and any(name == ACROSS for name, _given in formula.calls)
    return (run.target_or_start.labels if is_across else keys), keys
