"""Sentences that read this run, and what pictures show for those who cannot see them."""

from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.inspection import tiles
from blocks.model.kinds import Architecture, NormKind, NormPlacement
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
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


def flow_sentence(run: Run, layer: int) -> str:
    """What the stream does in this run, and why."""
    rms = cached.flow(run, layer).set_index("stage")["rms"]
    start, end = rms["resid_pre"], rms["resid_post"]
    text = _("In this run the stream enters with RMS {start:.2f} and leaves with {end:.2f}.")
    return f"{text.format(start=start, end=end)} {_reason(run)}"


def _reason(run: Run) -> str:
    norm = run.config.norm
    if not norm.residual:
        return _("Without the residual connection only each part's output is passed on.")
    if norm.norm_kind is NormKind.NONE:
        return _("Without a norm nothing brings the stream back to a common scale.")
    if norm.norm_kind is NormKind.BATCH_NORM and not run.training:
        return _(
            "In evaluation mode BatchNorm uses running statistics, which are still mean "
            "0 and variance 1 in an untrained model: it changes next to nothing. Switch "
            "training mode on."
        )
    match norm.norm_placement:
        case NormPlacement.PRE:
            return _("The norms are on the branch: nothing rescales the stream itself.")
        case NormPlacement.POST:
            return _("The norms are on the trunk: the stream is rescaled after every addition.")
        case NormPlacement.SANDWICH:
            return _(
                "Each branch output is normalized before it is added: all have about the same size."
            )
        case NormPlacement.PARALLEL:
            return _(
                "Attention and feed-forward read the same normalized input, and their "
                "outputs are added at once."
            )


def take_away_caption(run: Run) -> str:
    """Caption for downloads: the settings and the link."""
    return _with_link(_in_one_line(run))


def take_away_caption_of_a_block(run: Run) -> str:
    """Caption for downloads where one block is shown."""
    return _with_link(_block_in_one_line(run))


def _with_link(text: str) -> str:
    return f"{text} · {urlencode(link.as_query(), errors='replace')}"


def strip_alt(run: Run, layer: int, *_selected: str) -> str:
    """Write the alt text of the drawing of the block."""
    order = " → ".join(labelled.stages(run, layer)["label"])
    return _("Diagram of the block, parts in order: {order}.").format(order=order)


def flow_alt(run: Run, layer: int, *_before: Run | None) -> str:
    """Write the alt text of the picture of the flow."""
    stages = labelled.stages(run, layer).itertuples()
    rows = "; ".join(f"{row.label} {row.mean:.2f} ± {row.std:.2f}" for row in stages)
    return _("Mean and standard deviation at each stage: {rows}.").format(rows=rows)


def mask_alt(run: Run) -> str:
    """Write the alt text of the mask."""
    mask = terms.option(run.mask.mask_kind)
    return _("Mask: {mask}. Rows are queries, columns keys; grey is forbidden.").format(mask=mask)


def head_sentence(run: Run, layer: int) -> str:
    """Which head is the sharpest, against what even weights would give."""
    heads = cached.heads(run, layer)
    sharpest = heads.iloc[heads["entropy_bits"].argmin()]
    text = _("The sharpest is head {head}: {entropy:.2f} bits, effectively {tokens:.1f} tokens.")
    sharp = text.format(
        head=from_one(sharpest["head"]),
        entropy=sharpest["entropy_bits"],
        tokens=sharpest["effective_tokens"],
    )
    where = (
        "" if run.config.n_layers == 1 else _("Layer {layer}.").format(layer=from_one(layer)) + " "
    )
    return f"{where}{sharp} {_named_heads(heads) if run.weights else _without_structure(run)}"


def _without_structure(run: Run) -> str:
    text = _(
        "The weights are random (seed {seed}), so heads differ little: training gives them roles."
    )
    return text.format(seed=run.seed)


def _named_heads(heads: pd.DataFrame) -> str:
    """Which heads of a trained model do what their largest share says."""
    named = heads[heads["name"] != ""]
    roles = [_role(head) for _i, head in named.iterrows()]
    if not roles:
        return _("The weights are trained; here no head puts most of its weight on one position.")
    return _("The weights are trained: {roles}.").format(roles="; ".join(roles))


def _role(head: pd.Series) -> str:
    text = _("head {head}: {name} {share:.0%}")
    name, share = terms.head_name(head["name"]), head[head["name"]]
    return text.format(head=from_one(head["head"]), name=name, share=share)


def head_measures(run: Run, layer: int, head: int, token: int) -> str:
    """The measures of one head in a line."""
    row = cached.heads(run, layer).iloc[head]
    text = _(
        "**Head {head}** · entropy {entropy:.2f} bits · mean distance {distance:.1f} "
        "tokens · weight on first token {first:.2f}, itself {same:.2f}, previous token "
        "{previous:.2f} · row sums {least:.3f} to {most:.3f} · pinned: {token}"
    )
    return text.format(
        head=from_one(head),
        entropy=row["entropy_bits"],
        distance=row["distance_tokens"],
        first=row["first_token"],
        same=row["same_token"],
        previous=row["previous_token"],
        least=row["row_sum_min"],
        most=row["row_sum_max"],
        token=literal(told_apart(run.input.labels)[token]),
    )


def overview_note(run: Run) -> str:
    """How to read the overview."""
    note = _("All heads on one scale; grey is masked. Choose a head by a click or by number.")
    if blind := cached.blind_queries(run):
        note += " " + _("Queries that cannot attend to any key: {n}; their rows are zeros.").format(
            n=blind
        )
    k = tiles.cells_per_side(run.input.shape[1], run.config.n_heads)
    if k == 1:
        return note
    return f"{note} " + _("Each cell shows the largest of {k} × {k} weights.").format(k=k)


def window_note(run: Run, token: int) -> str:
    """Which part of a long text is drawn; nothing where all of it is."""
    shown, n = labelled.window(run, token), len(run.input.labels)
    if shown.stop - shown.start == n:
        return ""
    text = _("Shown: tokens {first} to {last} of {n}, around the pinned one; pin another to move.")
    return text.format(first=shown.start + 1, last=shown.stop, n=n)


def heads_alt(run: Run, layer: int, *_marked: int) -> str:
    """Write the alt text of all heads."""
    rows = "; ".join(labelled.heads(run, layer)["hover"])
    return _("Attention weights of all heads on one scale: {rows}.").format(rows=rows)


def spread_alt(run: Run, layer: int, name: str) -> str:
    """Write the alt text of the histogram."""
    stage = labelled.one_stage(run, layer, name)
    text = _("Distribution of the values of {stage}: mean {mean:.3f}, std {std:.3f}.")
    return text.format(stage=stage["label"], mean=stage["mean"], std=stage["std"])


def token_values_alt(run: Run, layer: int, name: str, token: int, _n_dims: int) -> str:
    """Write the alt text of one token's features."""
    before, after = labelled.before_and_after(run, layer, name)
    text = _("First features of token {token}: {before} against {after}.")
    return text.format(token=run.input.labels[token], before=before, after=after)


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
