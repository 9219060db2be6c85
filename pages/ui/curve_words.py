"""The curves of a training in words, for those who cannot see them."""

from blocks.training.training_run import RunView
from pages.ui.language import _
from pages.ui.training_words import score_name, score_text


def curve_alt(what: str, view: RunView) -> str:
    """A curve in words."""
    if view.evaluations.empty:
        return _("{what}: not measured yet.").format(what=what)
    first, newest = view.evaluations.iloc[0], view.evaluations.iloc[-1]
    text = _(
        "{what}. Validation loss {first:.2f} at step {start:,}, {loss:.2f} at step "
        "{step:,}; {score_name} {score}."
    )
    return text.format(
        what=what,
        first=first.held_out_loss,
        start=int(first.step),
        loss=newest.held_out_loss,
        step=int(newest.step),
        score_name=score_name(view),
        score=score_text(view, newest.score),
    )


def gradient_alt(view: RunView) -> str:
    """The size of the gradient in words."""
    if view.curves.empty:
        return _("{what}: not measured yet.").format(what=_("Gradient"))
    norms = view.curves["gradient_norm"]
    text = _("Gradient norm: {first:.3g} at the first step, {last:.3g} at the last.")
    return text.format(first=norms.iloc[0], last=norms.iloc[-1])


def speed_alt(view: RunView) -> str:
    """The speed in words."""
    if view.curves.empty:
        return _("{what}: not measured yet.").format(what=_("Speed"))
    text = _("Median speed over the steps: {n:,.0f} tokens per second.")
    return text.format(n=view.curves["tokens_per_second"].median())
