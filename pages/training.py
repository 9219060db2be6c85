"""A small Transformer learns, and one watches."""

from blocks.faults import N_
from pages.ui import controls, starts
from pages.ui.frame import close_page, draw_frame

TITLE = N_("Train one yourself")


def main() -> None:
    """The story of the page, from top to bottom."""
    draw_frame(TITLE, starts.FAST, controls.to_train)
    close_page(TITLE)


main()
