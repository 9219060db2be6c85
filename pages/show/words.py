"""Sentences that read this run, and what pictures show for those who cannot see them."""

from collections.abc import Callable
from urllib.parse import urlencode

from blocks import ModelConfig
from blocks.cost.parameters import total_parameters
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.show import beside
from pages.stage import link, weights
from pages.state import labelled
from pages.words import changes, terms
from pages.words.language import _, literal, ngettext

LINE = 72  # characters of a text that stand on one line


def summary(run: Run) -> str:
    """What runs, in one line; in three where A is beside it."""
    return beside.said_of_both(_in_one_line, run, changes.between)


def summary_of_a_block(run: Run) -> str:
    return beside.said_of_both(_block_in_one_line, run, changes.between_blocks)


def counted(
    describe: Callable[[Run], str], run: Run, alone: Callable[[Run], str] | None = None
) -> str:
    """What is counted, after the name of its model; in three lines where A is beside it.

    `alone`: what is said where the count stands right below.
    """
    if beside.found():
        return beside.said_of_both(describe, run, changes.between)
    start = weights.started_from()
    name = literal(_(start.title))
    if run.config != start.config:
        name = _("{model}, changed").format(model=name)
    return f"{name} · {(alone or describe)(run)}"


def of_any_text(run: Run) -> str:
    return f"{parameter_count(run.config)} · {terms.attention_kind(run.config)}" + seed_of(run)


def shape(run: Run) -> str:
    names = ("n_layers", "d_model", "n_heads", "d_ff")
    return " · ".join(f"{name} {getattr(run.config, name)}" for name in names)


def _in_one_line(run: Run) -> str:
    return _counted_in_one_line(run, run.config)


def _block_in_one_line(run: Run) -> str:
    return _counted_in_one_line(run, run.config.one_block())


def _counted_in_one_line(run: Run, counted: ModelConfig) -> str:
    n = run.input.shape[1]
    text = ngettext(
        "{n} token × {d_model} features · {parameters} · {kind}",
        "{n} tokens × {d_model} features · {parameters} · {kind}",
        n,
    )
    said = text.format(
        n=n,
        d_model=run.config.d_model,
        parameters=parameter_count(counted),
        kind=terms.attention_kind(run.config),
    )
    return said + seed_of(run)


def seed_of(run: Run) -> str:
    """The seed, at the end of a line, where anything of the run is drawn from it."""
    is_drawn = not run.weights or run.training or run.input.tokens is None
    return " · " + _("seed {seed}").format(seed=run.seed) if is_drawn else ""


def parameter_count(config: ModelConfig) -> str:
    """How many there are, and in what."""
    if config.architecture is Architecture.BLOCK:
        text = _("{n:,} parameters in this block")
    else:
        text = _("{n:,} parameters in the whole model")
    return text.format(n=total_parameters(config))


def input_line(run: Run, pinned: int | None = None) -> str:
    """What goes in, who may see whom, and the token that is pinned: the reader's, if not given."""
    token = run.input.labels[labelled.pinned_token(run, link.now()) if pinned is None else pinned]
    mask = terms.option(run.mask.mask_kind)
    text = _("{what} · mask: {mask} · pinned token: {token}")
    return text.format(what=what_is_read(run), mask=mask, token=literal(token))


def what_is_read(run: Run) -> str:
    """The beginning of the text, or how many vectors stand in its place."""
    if run.input.tokens is None:
        batch, seq_len = run.input.shape
        return _("random vectors, {batch} × {seq_len}").format(batch=batch, seq_len=seq_len)
    text = " ".join(link.value("text").split())
    return literal(text if len(text) <= LINE else text[:LINE] + "…") if text else _("empty text")


def recorded() -> str:
    """Where what is shown at once comes from, where nothing of it is a time."""
    return _(
        "These results come from a recorded run of the same code; the last digits may differ "
        "on other processors."
    )


def without_runs() -> str:
    """What is said where the finished runs do not ship."""
    return _(
        "This copy of Blockscope comes without the finished runs. Produce them with `make runs`."
    )


def trained(*, is_recorded: bool) -> str:
    """Where what was trained comes from: beforehand, or here and now."""
    return recorded() if is_recorded else _("Trained here.")


def take_away_caption(run: Run) -> str:
    """Caption for downloads: the settings and the link."""
    return f"{_in_one_line(run)} · {urlencode(link.here(), errors='replace')}"


def mask_alt(run: Run) -> str:
    """Write the alt text of the mask."""
    mask = terms.option(run.mask.mask_kind)
    text = _("Mask: {mask}. Rows are queries and columns are keys; gray cells are forbidden.")
    return text.format(mask=mask)
