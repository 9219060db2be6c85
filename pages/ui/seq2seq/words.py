"""Sentences about a source and its target."""

from blocks.run import Run
from pages.ui import cached
from pages.ui.compare import beside
from pages.ui.language import _


def summary(run: Run) -> str:
    """What runs, in one line; in two where A is beside it."""
    return beside.said_of_both(_in_one_line, run)


def _in_one_line(run: Run) -> str:
    text = _(
        "{n_source} source tokens · {n_target} target tokens × {d_model} features · "
        "{total:,} parameters · {how} · seed {seed}"
    )
    return text.format(
        n_source=run.input.shape[1],
        n_target=run.target_or_start.shape[1],
        d_model=run.config.d_model,
        total=cached.parameters(run.config)["count"].sum(),
        how=_("trained") if run.weights else _("random weights"),
        seed=run.seed,
    )
