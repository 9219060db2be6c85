"""Sentences that read this run, and what pictures show for those who cannot see them."""

from urllib.parse import urlencode

import streamlit as st

from blocks import ModelConfig
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.ui import cached, labelled, link, terms
from pages.ui.compare import beside, changes
from pages.ui.language import _, literal, ngettext

LINE = 72  # characters of a text that stand on one line


def summary(run: Run) -> str:
    """What runs, in one line; in three where A is beside it."""
    return beside.said_of_both(_in_one_line, run, changes.between)


def summary_of_a_block(run: Run) -> str:
    """What runs where one block of a model is shown."""
    return beside.said_of_both(_block_in_one_line, run, changes.between_blocks)


def _in_one_line(run: Run) -> str:
    return _counted_in_one_line(run, run.config)


def _block_in_one_line(run: Run) -> str:
    return _counted_in_one_line(run, run.config.one_block())


def _counted_in_one_line(run: Run, counted: ModelConfig) -> str:
    n = run.input.shape[1]
    text = ngettext(
        "{n} token × {d_model} features · {parameters} · {kind} · seed {seed}",
        "{n} tokens × {d_model} features · {parameters} · {kind} · seed {seed}",
        n,
    )
    return text.format(
        n=n,
        d_model=run.config.d_model,
        parameters=parameter_count(counted),
        kind=terms.attention_kind(run.config),
        seed=run.seed,
    )


def parameter_count(config: ModelConfig) -> str:
    """How many there are, and in what."""
    if config.architecture is Architecture.BLOCK:
        text = _("{n:,} parameters in this block")
    else:
        text = _("{n:,} parameters in the whole model")
    return text.format(n=cached.parameters(config)["count"].sum())


def input_line(run: Run) -> str:
    """What goes in, who may see whom, and the token that is pinned."""
    token = run.input.labels[labelled.pinned_token(run)]
    mask = terms.option(run.mask.mask_kind)
    text = _("{what} · mask: {mask} · pinned token: {token}")
    return text.format(what=_what_is_read(run), mask=mask, token=literal(token))


def _what_is_read(run: Run) -> str:
    if run.input.tokens is None:
        batch, seq_len = run.input.shape
        return _("random vectors, {batch} × {seq_len}").format(batch=batch, seq_len=seq_len)
    text = " ".join(link.value("text").split())
    return literal(text if len(text) <= LINE else text[:LINE] + "…") if text else _("empty text")


def take_away_caption(run: Run) -> str:
    """Caption for downloads: the settings and the link."""
    return _with_link(_in_one_line(run))


def take_away_caption_of_a_block(run: Run) -> str:
    """Caption for downloads where one block is shown."""
    return _with_link(_block_in_one_line(run))


def _with_link(text: str) -> str:
    return f"{text} · {urlencode(link.as_query(), errors='replace')}"


def mask_alt(run: Run) -> str:
    """Write the alt text of the mask."""
    mask = terms.option(run.mask.mask_kind)
    return _("Mask: {mask}. Rows are queries, columns keys; grey is forbidden.").format(mask=mask)


def parameter_total(config: ModelConfig) -> None:
    """The total, and whether formula and model agree."""
    by_formula = int(cached.parameters(config)["count"].sum())
    counted = cached.counted_parameters(config)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{by_formula:,}**", width="content")
        is_block = config.architecture is Architecture.BLOCK
        said = _("in this block") if is_block else _("in the whole model")
        st.markdown(said, width="content")
        if by_formula == counted:
            st.badge(_("formula = counted"), color="green", icon=":material/check:")
        else:
            text = _("formula {formula:,}, counted {counted:,}")
            st.badge(text.format(formula=by_formula, counted=counted), color="red")


def parameter_sentence(run: Run) -> str:
    """What surprises people about heads."""
    config = run.config
    if config.n_kv_heads == config.n_heads:
        text = _(
            "n_heads changes neither the parameters nor the FLOPs of the projections: "
            "{n} heads of width {d_head} share d_model = {d_model}. n_kv_heads does: "
            "the fewer, the smaller keys and values."
        )
    else:
        text = _(
            "Keys and values have {n_kv} heads of width {d_head}, queries {n}: k_proj "
            "and v_proj are smaller than q_proj. With equal numbers, n_heads would not "
            "change the parameter count."
        )
    sizes = {"n": config.n_heads, "n_kv": config.n_kv_heads}
    return text.format(d_head=config.d_head, d_model=config.d_model, **sizes)


def parameters_alt(run: Run, of_one_block: bool = False) -> str:
    """Write the alt text of the parameters."""
    parts = labelled.parameters(run, of_one_block=of_one_block)
    counted = zip(parts["label"], parts["count"], strict=True)
    rows = "; ".join(f"{label} {count:,}" for label, count in counted)
    return _("Parameters by part: {rows}.").format(rows=rows)
