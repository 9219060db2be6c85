"""The widgets of the sidebar: the architecture, shared by all pages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st

from blocks import ModelConfig
from blocks.devices import available_devices, available_dtypes, device_name
from blocks.inspection.settings import LEADERS, moved_along
from blocks.kinds import (
    Activation,
    Architecture,
    Initialization,
    NormKind,
    NormPlacement,
    PositionKind,
)
from blocks.legal import divisors
from blocks.training.recipe import WeightDtype
from pages.ui import link, runs, starts, terms, weights
from pages.ui.fields import FIELDS, WEIGHTS
from pages.ui.language import _, current_language

WIDTHS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 576, 768, 1024, 1536, 2048, 3072, 4096)
LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
# What is only counted may be as large as anything published.
MORE_WIDTHS, MORE_LAYERS = (5120, 6144, 8192, 12288, 16384), (32, 48, 64, 80, 96, 128)
HEAD_WIDTHS = (4, 8, 16, 32, 64, 96, 128, 192, 256)
FF_FACTORS = (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8)
EXPERTS = (1, 2, 4, 8, 16)


def architecture(shown: Architecture | None, presets: Sequence[str] = ()) -> None:
    """Everything that the configuration holds, only legal choices, on a page that shows this.

    None: the page shows each model as what it is. `presets`: what one may start from, where it is
    not what runs on such a page.
    """
    config = weights.config(shown, "")
    _preset(presets or (starts.names_of_two() if _has_target(config) else starts.names()))
    _weights(shown)
    is_counted = bool(presets)
    if shown is not Architecture.BLOCK:
        _whole(config, (shown or config.architecture).reads_tokens, is_counted)
    _shape(config, is_counted)
    with st.expander(_("Experts, biases, dropout, initialization, seed, device"), key="more"):
        _details(config)
        _evaluation()
        _place(available_dtypes(link.value("device")), link.value("dtype"))


def to_train(config: ModelConfig) -> None:
    """The same for a model that is trained from the start."""
    _preset(starts.names_of_two() if _has_target(config) else starts.names())
    st.caption(_("The model to train. Its weights start random, drawn from the seed."))
    _whole(config, reads_tokens=True)
    _shape(config)
    with st.expander(_("Experts, biases, dropout, initialization, seed, device"), key="more"):
        _details(config)
        _place([*WeightDtype], trained_dtype())


def trained_dtype() -> WeightDtype:
    """The number format of a training: the reader's where one can train in it."""
    kinds = [kind for kind in WeightDtype if kind == link.value("dtype")]
    return kinds[0] if kinds else WeightDtype.FLOAT32


def _shape(config: ModelConfig, is_counted: bool = False) -> None:
    _sizes(config, is_counted)
    choose("norm_placement", _("Norm placement"), _placements(config))
    choose("norm_kind", _("Norm"), NormKind)
    switch("residual", _("Residual connection"), help=_("x + f(x). Off: only f(x) is passed on."))
    if not config.attention_only:
        pick("activation", _("Activation"), Activation)
    choose("position_kind", _("Positional encoding"), PositionKind)


def _has_target(config: ModelConfig) -> bool:
    return config.architecture is Architecture.ENCODER_DECODER


def _preset(shipped: Iterable[str]) -> None:
    source = _(starts.start(link.value("preset")).source)
    here = [runs.preset_of(run_id) for run_id in runs.mine()]
    known = [name for name in (*shipped, *here) if starts.is_known(name)]
    options = list(dict.fromkeys((*known, link.value("preset"))))
    with st.container(key="preset"):
        st.selectbox(
            _("Preset"),
            options,
            format_func=_preset_label,
            help=_("A published architecture, or a small trained model. Source: {source}.").format(
                source=source
            ),
            **link.view("preset", link.value("preset"), (tuple(options), current_language())),
        )
    changed = sorted(link.config_changes())
    if changed and not starts.start(link.value("preset")).weights:
        st.caption(_("Yours differs from it in {names}.").format(names=", ".join(changed)))


def _preset_label(name: str) -> str:
    start = starts.start(name)
    sizes = f"{start.config.d_model} / {start.config.n_heads} / {start.config.d_ff}"
    return f"{_(start.title)} · {sizes}"


def _weights(shown: Architecture | None) -> None:
    """Trained or random, and why; the way back to the trained ones where a change left them."""
    start = weights.started_from()
    why = weights.why_random(shown)
    if start.weights.startswith(runs.PREFIX):
        card = starts.model(start.weights).card
        st.caption(_("The model after {n:,} training steps.").format(n=card.n_steps))
    can_be_trained = bool(start.weights) and weights.fit(shown)
    if start.weights:
        _which_weights("random" if why else "trained", can_be_trained)
    if why:
        st.caption(why)
    if why and can_be_trained:
        st.button(
            _("Back to the trained model"),
            icon=":material/undo:",
            on_click=weights.back_to_trained,
            key="back_to_trained",
        )


def _which_weights(shown: str, can_be_trained: bool) -> None:
    """Those that run; to choose the trained ones undoes what keeps them from running."""
    random = _("random (seed {seed})").format(seed=link.value("seed"))
    view = link.view("weights", shown, (random, shown))
    if shown == "random":
        view |= {"on_change": weights.back_to_trained, "args": ()}
    st.segmented_control(
        _("Weights"),
        WEIGHTS,
        format_func={"trained": _("trained"), "random": random}.__getitem__,
        required=True,
        disabled=not can_be_trained,
        **view,
    )


def _whole(config: ModelConfig, reads_tokens: bool, is_counted: bool = False) -> None:
    layers = LAYERS + MORE_LAYERS if is_counted else LAYERS
    if _has_target(config):
        slide("n_layers", _("n_layers · encoder layers"), layers, config.n_layers)
        label = _("n_decoder_layers · decoder layers")
        slide("n_decoder_layers", label, layers, config.n_decoder_layers)
        _followed("n_decoder_layers", config)
        switch("share_embeddings", _("Share one embedding table between source and target"))
    else:
        slide("n_layers", _("n_layers · layers"), layers, config.n_layers)
    if reads_tokens:
        switch("tie_embeddings", _("Weight tying (embedding = output)"))


def _sizes(config: ModelConfig, is_counted: bool) -> None:
    widths = WIDTHS + MORE_WIDTHS if is_counted else WIDTHS
    slide("d_model", _("d_model · hidden size"), widths, config.d_model)
    heads = [n for n in divisors(config.d_model) if _turns(config, n)]
    slide("n_heads", _("n_heads · query heads"), heads, config.n_heads)
    kv_heads = divisors(config.n_heads)
    slide("n_kv_heads", _("n_kv_heads · key and value heads"), kv_heads, config.n_kv_heads)
    _followed("n_kv_heads", config)
    kind = terms.attention_kind(config)
    st.caption(f"{_width_of_a_head(config)} · {kind}")
    if config.attention_only:
        return
    wide = [max(1, int(factor * config.d_model)) for factor in FF_FACTORS]
    slide("d_ff", _("d_ff · width of the feed-forward hidden layer"), wide, config.d_ff)
    _followed("d_ff", config)
    if config.n_experts > 1:
        text = _("d_ff of each of {n} experts; a token passes through {active} of them.")
        st.caption(text.format(n=config.n_experts, active=config.n_active_experts))


def _followed(name: str, config: ModelConfig) -> None:
    """Where a value has moved along with another from what was started from: said beside it."""
    led = moved_along(starts.start(link.value("preset")).config, config)
    if name in led:
        before, now = led[name]
        text = _("{name} follows {leader}: {before} → {now}")
        st.caption(text.format(name=name, leader=LEADERS[name], before=before, now=now))


def _width_of_a_head(config: ModelConfig) -> str:
    if config.attention.d_head is None:
        return f"d_head = {config.d_model} / {config.n_heads} = {config.d_head}"
    return f"n_heads · d_head = {config.n_heads} · {config.d_head} = {config.width_of_heads}"


def _placements(config: ModelConfig) -> list[NormPlacement]:
    """Parallel is about two parts: without feed-forward there is one, in a decoder are three."""
    has_two = not config.attention_only and not _has_target(config)
    return [kind for kind in NormPlacement if has_two or kind is not NormPlacement.PARALLEL]


def _turns(config: ModelConfig, n_heads: int) -> bool:
    """RoPE needs an even width of each head."""
    is_rope = config.position.position_kind is PositionKind.ROPE
    has_own = config.attention.d_head is not None
    return not is_rope or has_own or config.d_model // n_heads % 2 == 0


def _details(config: ModelConfig) -> None:
    _details_of_ends(config)
    if config.norm.norm_placement is NormPlacement.PARALLEL:
        n_norms = config.norm.parallel_norms
        slide("parallel_norms", _("parallel_norms · norms per layer"), (1, 2), n_norms)
    else:
        switch("attention_only", _("Attention only, no feed-forward"))
    if not config.attention_only:
        experts(config)
    _details_of_attention(config)
    switch("norm_affine", _("Norms have learned scales"))
    switch("feed_forward_bias", _("Biases in the feed-forward layer"))
    slider("dropout", _("Dropout"), config.dropout, least=0.0, most=0.9, step=0.05)
    pick("initialization", _("Initialization"), Initialization)


def _details_of_ends(config: ModelConfig) -> None:
    """What stands before the first layer of a whole model, and after the last."""
    if config.architecture.reads_tokens:
        switch("embedding_norm", _("Norm after embedding and position (BERT, BART)"))
    if _has_target(config):
        switch("relative_bias", _("Learned bias for each distance (T5)"))
    if config.architecture is Architecture.ENCODER:
        slide("n_segments", _("n_segments · rows for segments"), (0, 1, 2), config.n_segments)
        switch("pooler", _("Pooler: one vector of the first token"))


def _details_of_attention(config: ModelConfig) -> None:
    widths = {width for width in HEAD_WIDTHS if width <= config.d_model}
    slide("d_head", _("d_head · width of one head"), widths, config.d_head)
    if config.position.position_kind is PositionKind.ROPE:
        shown = config.position.rotary_share
        label = _("Rotated share of each head")
        slider("rotary_share", label, shown, least=0.05, most=1.0, step=0.05)
    switch("qk_norm", _("Normalize queries and keys (QK norm)"))
    if config.attention.qk_norm:
        switch("qk_norm_scale", _("QK norms have learned scales"))
    switch("attention_bias", _("Biases of queries, keys and values"))
    switch("out_bias", _("Bias of the output projection"), shown=config.has_out_bias)


def experts(config: ModelConfig) -> None:
    """How many feed-forward layers stand side by side, and how many of them a token passes."""
    slide("n_experts", _("n_experts · feed-forward layers side by side"), EXPERTS, config.n_experts)
    if config.n_experts > 1:
        active = range(1, min(config.n_experts, max(EXPERTS)) + 1)
        label = _("n_active_experts · experts per token")
        slide("n_active_experts", label, active, config.n_active_experts)
        shown = config.feed_forward.expert_capacity
        label = _("expert_capacity · times the even share (0: no limit)")
        slider("expert_capacity", label, shown, least=0.0, most=2.0, step=0.25)


def _evaluation() -> None:
    switch(
        "training",
        _("Training mode"),
        help=_("Dropout is on, and BatchNorm uses the statistics of this batch."),
    )


def _place(dtypes: Sequence[str], dtype: str) -> None:
    """Seed, device and number format."""
    enter("seed", _("Seed"), link.value("seed"))
    pick("device", _("Device"), available_devices(), label_of=device_name)
    pick("dtype", _("Number format"), dtypes, label_of=str, shown=dtype)


def choose(name: str, label: str, options: Iterable[str], *, label_of=terms.option) -> None:
    """A few choices side by side."""
    st.segmented_control(
        label,
        [str(option) for option in options],
        format_func=label_of,
        required=True,
        wrap=True,
        **link.view(name, link.value(name)),
    )


def pick(
    name: str, label: str, options: Iterable[str], *, label_of=terms.option, shown: str = ""
) -> None:
    """Many choices in a list; `shown` is the field's value unless told otherwise."""
    words = tuple(str(option) for option in options)
    with st.container(key=name):
        st.selectbox(
            label,
            words,
            format_func=label_of,
            **link.view(name, str(shown or link.value(name)), (words, current_language())),
        )


def slide(
    name: str,
    label: str,
    options: Iterable[Any],
    shown: Any,
    *,
    place: str = "",
    label_of: Callable[[Any], Any] = str,
) -> None:
    """A slider over legal values; one that came from a link or preset is among them.

    `place`: which of several sliders for one field it is.
    """
    choices = tuple(sorted({*options, shown}))
    with st.container(key=name + place):
        if len(choices) == 1:
            st.caption(_("{label}: {value}, the only legal value").format(label=label, value=shown))
        else:
            view = link.view(name, shown, (place, choices))
            st.select_slider(label, choices, format_func=label_of, **view)


def slider(name: str, label: str, shown, *, least=None, most=None, **more) -> None:
    """A slider over a range."""
    limits = _limits(name, shown, least, most)
    with st.container(key=name):
        st.slider(label, *limits, **more, **link.view(name, shown, limits))


def enter(name: str, label: str, shown: int, *, least=None, most=None, **more) -> None:
    """A whole number to type."""
    limits = _limits(name, shown, least, most)
    st.number_input(label, *limits, step=1, **more, **link.view(name, shown, limits))


def _limits(name: str, shown, least, most) -> tuple:
    """Those of the field, or what is of use here and what came from a link or preset."""
    read = FIELDS[name].read
    return (
        read.least if least is None else min(least, shown),
        read.most if most is None else max(most, shown),
    )


def switch(name: str, label: str, *, shown: bool | None = None, **more) -> None:
    """On or off; `shown` is the field's value unless told otherwise."""
    st.toggle(label, **more, **link.view(name, link.value(name) if shown is None else shown))
