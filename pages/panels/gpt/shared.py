"""What the panels of a GPT share: how the next token is chosen, and whether it is one."""

from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.ui import cached, link
from pages.ui.language import _


def current_sampling() -> SamplingConfig:
    """What the state asks for."""
    return SamplingConfig(
        temperature=link.value("temperature"),
        top_k=link.value("top_k") or None,
        top_p=link.value("top_p"),
    )


def says_ahead(run: Run) -> str:
    """Where a mask lets tokens see what they are to predict; empty where it does not."""
    if not cached.sees_ahead(run):
        return ""
    return _(
        "This mask lets a token see later ones, so these are not predictions: set the "
        "mask to causal."
    )
