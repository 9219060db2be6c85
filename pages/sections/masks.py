"""The mask, as a small picture beside its controls."""

from blocks.observe.run import Run
from pages.figures import masks
from pages.ui import cached, words
from pages.ui.chart import show
from pages.ui.language import _

CELLS = 128


def small_mask(run: Run) -> None:
    """Who may see whom in this run."""
    show(draw_mask, run, key="mask", alt=words.mask_alt)


def draw_mask(run: Run):
    """Who may see whom; of a long text every so many-th token."""
    codes = cached.mask_codes(run)
    step = -(-len(codes) // CELLS)
    return masks.mask_picture(codes[::step, ::step], _=_)
