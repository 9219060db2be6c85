"""What the panels of a GPT share: how the next token is chosen, and whether it is one."""

from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.server import cached
from pages.show.controls import slide, slider
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _

TOP_K = (0, 1, 2, 3, 5, 8, 10, 20, 50, 100, 200, 500)


def pinned(run: Run, state: State) -> tuple[Run, int]:
    return run, labelled.pinned_token(run, state)


def current_sampling(state: State) -> SamplingConfig:
    """What the state asks for."""
    return SamplingConfig(
        temperature=state.temperature, top_k=state.top_k or None, top_p=state.top_p
    )


def temperature(place: str = "") -> None:
    """The model does not run again for it, nor for the two below; `place` as in `slide`."""
    slider("temperature", _("temperature · 0 is greedy"), step=0.05, place=place)


def top_k(place: str = "") -> None:
    slide("top_k", _("top_k · 0 keeps all"), TOP_K, place=place)


def top_p(place: str = "") -> None:
    slider("top_p", _("top_p · 1 keeps all"), step=0.01, place=place)


def says_ahead(run: Run) -> str:
    """Say where a mask lets tokens see what they are to predict; empty where it does not."""
    if not cached.sees_ahead(run):
        return ""
    return _(
        "This mask lets a token see later ones, so these are not predictions. Set the mask to"
        " causal."
    )
