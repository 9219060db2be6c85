"""How far sparse attention sees, and up to which length is measured."""

from blocks.model.attention_kinds import Reach
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.attention_kinds.fields import LENGTHS
from pages.ui.controls import slide, slider
from pages.ui.language import _


def reach(run: Run) -> Reach:
    """How far the sparse kinds see, within the text."""
    n = run.input.shape[1]
    return Reach(
        window=min(link.value("kinds_window"), n), stride=min(link.value("kinds_stride"), n)
    )


def reach_controls(run: Run) -> None:
    """The window, and the stride."""
    n, shown = run.input.shape[1], reach(run)
    if n > 1:
        slider("kinds_window", _("window · earlier tokens"), shown.window, most=n)
        label = _("stride · every n-th earlier token")
        slider("kinds_stride", label, shown.stride, most=n)


def lengths() -> tuple[int, ...]:
    """The lengths that are measured."""
    return tuple(n for n in LENGTHS if n <= link.value("kinds_up_to"))


def length_control() -> None:
    """The longest of them."""
    slide("kinds_up_to", _("up to n · tokens"), LENGTHS[2:], max(LENGTHS[2], max(lengths())))
