"""What all sentences about attention share."""

from blocks.observe.run import Run
from pages.ui.language import _, literal


def token(run: Run, i: int) -> str:
    """A token as it stands in a sentence of ours."""
    return literal(run.input.labels[i])


def head_called(layer: int, head: int) -> str:
    """Layer and head in words."""
    return _("layer {layer}, head {head}").format(layer=layer + 1, head=head)
