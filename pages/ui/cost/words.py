"""What the page of costs is about, in a line."""

from blocks import ModelConfig
from blocks.cost import fit
from blocks.cost.parameters import active_parameters
from pages.ui.cost.chosen import Shape
from pages.ui.language import _


def counted_model(config: ModelConfig) -> str:
    """The model in one line, and how long counting took nothing."""
    n, active = fit.n_parameters(config), active_parameters(config)
    if active == n:
        return _("{n:,} parameters. Counted by formula, nothing is built.").format(n=n)
    text = _(
        "{n:,} parameters, of which each token uses {active:,}. Counted by formula, "
        "nothing is built."
    )
    return text.format(n=n, active=active)


def caption(config: ModelConfig, shape: Shape) -> str:
    """What was set, for the page that is taken along."""
    return _("Costs: {model} n = {n:,}, batch = {batch}.").format(
        model=counted_model(config), n=shape.n, batch=shape.batch
    )
