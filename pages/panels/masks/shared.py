"""What the panels of masks share: one layer step by step, tokens in sentences, and ways out."""

from functools import lru_cache

from blocks.inspection import mask_steps
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import Cells, Layer, StepFacts
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.panels.attention import shared as attention
from pages.server import cached
from pages.state import labelled
from pages.state.values import State
from pages.words.language import literal

MOST_DRAWN = 128  # tokens on each side of a matrix, of a long text those around the pinned one


@lru_cache(maxsize=32)
def open_cells(run: Run, layer: int | None = None) -> Cells:
    """The mask of the first sequence, or that of a layer: (query, key), True where allowed."""
    return mask_steps.open_cells(run, layer)


@lru_cache(maxsize=2)
def layer_steps(run: Run, layer: int, fault: MaskFault = MaskFault.NONE, scale: int = 1) -> Layer:
    """One layer before the mask and after it, clean or with a fault."""
    with cached.turn(run.device):
        return mask_steps.layer_steps(run, cached.model(run), layer, fault, scale)


@lru_cache(maxsize=4)
def step_facts(
    run: Run, layer: int, head: int, query: int, fault: MaskFault = MaskFault.NONE, scale: int = 1
) -> StepFacts:
    """What the mask does to one head, clean or with a fault."""
    scores, pattern = layer_steps(run, layer, fault, scale).head(head)
    is_open = open_cells(run, layer)
    return StepFacts(run.input.labels, layer, head, query, is_open, scores, pattern)


def at(run: Run, state: State) -> tuple[Run, int, int, int]:
    head = labelled.selected_head(run, state)
    return run, labelled.selected_layer(run, state), head, labelled.pinned_token(run, state)


def says_window(facts: StepFacts) -> str:
    """Which tokens of a long text are drawn; empty of any other."""
    return attention.says_window(facts, facts.drawn(MOST_DRAWN))


def token(labels: tuple[str, ...], place: int) -> str:
    """A token in a sentence: its number from 1, and what it is."""
    return f"{from_one(place)} {literal(labels[place])}"
