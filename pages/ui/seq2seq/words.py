"""Sentences about a source and its target."""

from blocks import ModelConfig
from blocks.observe.run import Run
from pages.ui import cached
from pages.ui.compare import beside, changes
from pages.ui.language import _
from pages.ui.words import parameter_count


def summary(run: Run) -> str:
    """What runs, in one line; in three where A is beside it."""
    return beside.said_of_both(_in_one_line, run, changes.between)


def _in_one_line(run: Run) -> str:
    text = _(
        "{n_source} source tokens · {n_target} target tokens × {d_model} features · "
        "{parameters} · {how} · seed {seed}"
    )
    return text.format(
        n_source=run.input.shape[1],
        n_target=run.target_or_start.shape[1],
        d_model=run.config.d_model,
        parameters=parameter_count(run.config),
        how=_("trained") if run.weights else _("random weights"),
        seed=run.seed,
    )


def attention_share_note(config: ModelConfig) -> str:
    """How much of a layer is attention, where one of the stacks has two of them."""
    if config.attention_only:
        return ""
    text = _(
        "Of the weights of attention and feed-forward, attention holds {encoder:.0%} in "
        "an encoder layer and {decoder:.0%} in a decoder layer, which also has "
        "cross-attention. With MHA, no gate and d_ff = 4 × d_model these are one third "
        "and one half."
    )
    shares = {stack: _attention_share(config, stack) for stack in ("encoder", "decoder")}
    return text.format(**shares)


def _attention_share(config: ModelConfig, stack: str) -> float:
    table = cached.parameters(config)
    counts = table[table["part"].str.startswith(f"{stack}.")].groupby("group")["count"].sum()
    attention = counts["attention"] + counts.get("cross_attention", 0)
    return float(attention / (attention + counts["feed_forward"]))
