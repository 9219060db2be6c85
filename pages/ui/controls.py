"""The widgets of the sidebar: the architecture, shared by all pages."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import streamlit as st

from blocks import ModelConfig
from blocks.inspection.settings import LEADERS, moved_along
from blocks.model.devices import available_devices, available_dtypes, device_name
from blocks.model.faults import N_
from blocks.model.kinds import (
    Activation,
    Architecture,
    AttentionGate,
    Initialization,
    NormKind,
    NormPlacement,
    PositionKind,
    RopeScaling,
    RouterKind,
    TokenMixer,
)
from blocks.model.legal import divisors
from blocks.training.recipe import WeightDtype
from pages.ui import bringing, brought, link, runs, starts, terms, weights
from pages.ui.fields import FIELDS, WEIGHTS
from pages.ui.fold import fold
from pages.ui.language import _, current_language, enumeration
from pages.ui.readers import Between

WIDTHS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 576, 768, 1024, 1536, 2048, 3072, 4096)
LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
# What is only counted may be as large as anything published.
MORE_WIDTHS, MORE_LAYERS = (5120, 6144, 8192, 12288, 16384), (32, 48, 64, 80, 96, 128)
HEAD_WIDTHS = (4, 8, 16, 32, 64, 96, 128, 192, 256)
LATENT_WIDTHS = (8, 16, 32, 64, 128, 256, 512)
FF_FACTORS = (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8)
EXPERTS, SHARED_EXPERTS = (1, 2, 4, 8, 16, 32, 64), (0, 1, 2, 4)
MORE_EXPERTS, MOST_ACTIVE = (128, 256), 16
ROPE_FACTORS, ROPE_BASES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (0.0, 100.0, 1e3, 1e4, 1e5, 1e6)
TRAINED_LENGTHS = (8, 16, 32, 64, 128, 512, 2048, 4096, 8192)
RESIDUAL_MULTIPLIERS = (0.1, 0.22, 0.5, 0.75, 1.0, 1.5)
SCORE_MULTIPLIERS = (0.0, 0.0078125, 0.015625, 0.0625, 0.125, 0.25, 0.5, 1.0)
EMBEDDING_MULTIPLIERS, LOGIT_SCALES = (0.5, 1.0, 2.0, 6.0, 12.0, 24.0), (1.0, 2.0, 4.0, 8.0, 16.0)
GATE_LIMITS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0)
SOFTCAPS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
LOCAL_WINDOWS = (0, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
MTP_MODULES = (0, 1, 2, 3, 4)
EVERY = (0, 1, 2, 3, 4, 5, 6, 8)
# What stands first where no panel says what it answers to.
FIRST = ("n_layers", "d_model", "n_heads", "d_ff", "norm_placement", "norm_kind")
PAGE_OF = {
    Architecture.GPT: "pages/gpt.py",
    Architecture.ENCODER: "pages/encoder.py",
    Architecture.ENCODER_DECODER: "pages/seq2seq.py",
}
FOLLOWERS = ("n_decoder_layers", "n_kv_heads", "d_ff")


class Shown(NamedTuple):
    """What the sidebar is drawn for: the model of the page, and what becomes of it there."""

    config: ModelConfig
    kind: Architecture
    is_counted: bool = False
    is_to_train: bool = False

    @property
    def has_target(self) -> bool:
        """Whether it reads one text and writes another."""
        return self.config.architecture is Architecture.ENCODER_DECODER

    @property
    def has_wide_layers(self) -> bool:
        """Whether there is a feed-forward layer."""
        return not self.config.attention_only


def architecture(
    shown: Architecture | None, first: Sequence[str] = (), presets: Sequence[str] = ()
) -> None:
    """Everything that the configuration holds, only legal choices, on a page that shows this.

    None: the page shows each model as what it is. `first`: the fields that stand open; the others
    are folded. `presets`: what one may start from, where it is not what runs on such a page.
    """
    config = weights.config(shown, "")
    here = Shown(config, shown or config.architecture, is_counted=bool(presets))
    _preset(presets or (starts.names_of_two() if here.has_target else starts.names()))
    bringing.fold_of_ways()
    _weights(shown)
    _settings(here, first)


def to_train(config: ModelConfig) -> None:
    """Draw the controls of a model to train from scratch."""
    here = Shown(config, config.architecture, is_to_train=True)
    _preset(starts.names_of_two() if here.has_target else starts.names())
    st.caption(_("The model to train. Its initial weights are random, determined by the seed."))
    _settings(here)


def trained_dtype() -> WeightDtype:
    """The number format of a training: the reader's where one can train in it."""
    kinds = [kind for kind in WeightDtype if kind == link.value("dtype")]
    return kinds[0] if kinds else WeightDtype.FLOAT32


def drawable(shown: Shown) -> list[str]:
    """The fields that this model has, in the order of the table."""
    return [name for name, control in CONTROLS.items() if control.is_there(shown)]


def _settings(shown: Shown, first: Sequence[str] = ()) -> None:
    """What stands first, and all the rest one click away."""
    fields = drawable(shown)
    opened = [name for name in first or FIRST if name in fields]
    led = moved_along(starts.start(link.value("preset")).config, shown.config)
    for name in opened:
        CONTROLS[name].draw(shown)
        _moved_with(name, opened, led)
    folded = [name for name in fields if name not in opened]
    more = fold(_more_label(folded), key="more", icon=":material/tune:", type="compact")
    if more.open:
        with more:
            for name in folded:
                CONTROLS[name].draw(shown)
                _moved_with(name, folded, led)


def _more_label(folded: Sequence[str]) -> str:
    """How many settings there are, and how many of them the reader has changed."""
    n, n_changed = len(folded), len(link.state().keys() & {*folded})
    if not n_changed:
        return _("More settings · {n}").format(n=n)
    return _("More settings · {n} · :orange[{changed} changed]").format(n=n, changed=n_changed)


def _moved_with(name: str, beside: Sequence[str], led: Mapping[str, tuple[Any, Any]]) -> None:
    """Where a value has moved along with another from what was started from: said beside it.

    Where its own control is folded, beside the one that it follows.
    """
    for follower in [each for each in FOLLOWERS if each in led]:
        leader, (before, now) = LEADERS[follower], led[follower]
        if follower == name or (leader == name and follower not in beside):
            text = _("{name} follows {leader}: {before} → {now}")
            st.caption(text.format(name=follower, leader=leader, before=before, now=now))


def _preset(shipped: Iterable[str]) -> None:
    source = _(starts.start(link.value("preset")).source)
    here = [*(runs.preset_of(run_id) for run_id in runs.mine()), *brought.mine()]
    known = [name for name in (*shipped, *here) if starts.is_known(name)]
    options = list(dict.fromkeys((*known, link.value("preset"))))
    with st.container(key="preset"):
        st.selectbox(
            _("Preset"),
            options,
            format_func=preset_label,
            help=_("A published architecture, or a small trained model. Source: {source}.").format(
                source=source
            ),
            **link.view("preset", link.value("preset"), (tuple(options), current_language())),
        )
    changed = sorted(link.config_changes())
    if changed and not starts.start(link.value("preset")).weights:
        text = _("Your settings differ from the preset in {names}.")
        st.caption(text.format(names=enumeration(changed)))


def preset_label(name: str) -> str:
    """What something to start from is called in a list, with its sizes."""
    start = starts.start(name)
    sizes = f"{start.config.d_model} / {start.config.n_heads} / {start.config.d_ff}"
    return " · ".join(filter(None, (_(start.title), start.recipe, sizes)))


def _weights(shown: Architecture | None) -> None:
    """Trained or random, and why; where a change left the trained ones, the page says so."""
    start = weights.started_from()
    if whose := weights.whose():
        st.caption(whose)
    can_be_trained = bool(start.weights) and weights.fit(shown)
    if start.weights:
        _which_weights("trained" if weights.learned(shown) else "random", can_be_trained)
    if why := weights.why_random(shown):
        st.caption(why)
    if brought.is_name(start.weights) and not weights.fit(shown):
        path = PAGE_OF[start.config.architecture]
        label, query = _("Open this model on its own page"), link.elsewhere(path)
        st.page_link(path, label=label, icon=":material/arrow_forward:", query_params=query)


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


def _n_layers(shown: Shown) -> None:
    label = _("n_layers · encoder layers") if shown.has_target else _("n_layers · layers")
    slide("n_layers", label, _layers(shown), shown.config.n_layers)


def _n_decoder_layers(shown: Shown) -> None:
    label = _("n_decoder_layers · decoder layers")
    slide("n_decoder_layers", label, _layers(shown), shown.config.n_decoder_layers)


def _layers(shown: Shown) -> tuple[int, ...]:
    return LAYERS + MORE_LAYERS if shown.is_counted else LAYERS


def _d_model(shown: Shown) -> None:
    widths = WIDTHS + MORE_WIDTHS if shown.is_counted else WIDTHS
    slide("d_model", _("d_model · hidden size"), widths, shown.config.d_model)


def _n_heads(shown: Shown) -> None:
    config = shown.config
    heads = [n for n in divisors(config.d_model) if _turns(config, n)]
    slide("n_heads", _("n_heads · query heads"), heads, config.n_heads)
    kind = terms.attention_kind(config)
    st.caption(f"{_width_of_a_head(config)} · {kind}")


def _n_kv_heads(shown: Shown) -> None:
    kv_heads = divisors(shown.config.n_heads)
    label = _("n_kv_heads · key/value heads")
    slide("n_kv_heads", label, kv_heads, shown.config.n_kv_heads)


def _d_ff(shown: Shown) -> None:
    config = shown.config
    wide = [max(1, int(factor * config.d_model)) for factor in FF_FACTORS]
    slide("d_ff", _("d_ff · width of the feed-forward hidden layer"), wide, config.d_ff)
    if config.n_experts > 1:
        if config.experts.d_expert:
            st.caption(_("Experts have their own width, d_expert."))
            return
        text = _(
            "This is d_ff for each of the {n} experts; each token passes through {active} of them."
        )
        st.caption(text.format(n=config.n_experts, active=config.n_active_experts))


def _width_of_a_head(config: ModelConfig) -> str:
    if config.attention.d_head is None:
        return f"d_head = {config.d_model} / {config.n_heads} = {config.d_head}"
    return f"n_heads · d_head = {config.n_heads} · {config.d_head} = {config.width_of_heads}"


def _norm_placement(shown: Shown) -> None:
    """Parallel is about two parts: without feed-forward there is one, in a decoder are three."""
    has_two = shown.has_wide_layers and not shown.has_target
    options = [kind for kind in NormPlacement if has_two or kind is not NormPlacement.PARALLEL]
    choose("norm_placement", _("Norm placement"), options)


def _turns(config: ModelConfig, n_heads: int) -> bool:
    """RoPE needs an even width of each head."""
    is_rope = config.position.position_kind is PositionKind.ROPE
    has_own = config.attention.d_head is not None
    return not is_rope or has_own or config.d_model // n_heads % 2 == 0


def _position_kind(shown: Shown) -> None:
    """What turns queries or adds to scores is nothing to a model without them."""
    own = shown.config.position.position_kind
    attends = shown.config.has_attention
    kinds = [kind for kind in PositionKind if attends or _is_of_a_state(kind, own)]
    choose("position_kind", _("Positional encoding"), kinds)


def _is_of_a_state(kind: PositionKind, own: PositionKind) -> bool:
    return kind.is_added or kind in (PositionKind.NONE, own)


def _parallel_norms(shown: Shown) -> None:
    n_norms = shown.config.norm.parallel_norms
    slide("parallel_norms", _("parallel_norms · norms per layer"), (1, 2), n_norms)


def _n_segments(shown: Shown) -> None:
    slide("n_segments", _("n_segments · segment embeddings"), (0, 1, 2), shown.config.n_segments)


def _n_experts(shown: Shown) -> None:
    label = _("n_experts · feed-forward layers side by side")
    choices = EXPERTS + MORE_EXPERTS if shown.is_counted else EXPERTS
    slide("n_experts", label, choices, shown.config.n_experts)


def _n_active_experts(shown: Shown) -> None:
    active = range(1, min(shown.config.n_experts, MOST_ACTIVE) + 1)
    label = _("n_active_experts · experts per token")
    slide("n_active_experts", label, active, shown.config.n_active_experts)


def _d_expert(shown: Shown) -> None:
    config = shown.config
    label = _("d_expert · width of one expert")
    widths = {max(1, config.d_ff // part) for part in (1, 2, 4, 8, 16)}
    slide("d_expert", label, widths, config.d_expert)


def _n_shared_experts(shown: Shown) -> None:
    label = _("n_shared_experts · experts that every token uses")
    slide("n_shared_experts", label, SHARED_EXPERTS, shown.config.n_shared_experts)


def _n_dense_layers(shown: Shown) -> None:
    label = _("n_dense_layers · leading layers without experts")
    layers = range(min(shown.config.n_layers, 4))
    slide("n_dense_layers", label, layers, shown.config.n_dense_layers)


def _expert_capacity(shown: Shown) -> None:
    capacity = shown.config.experts.expert_capacity
    label = _("expert_capacity · in multiples of an equal share (0: no limit)")
    slider("expert_capacity", label, capacity, least=0.0, most=2.0, step=0.25)


def _d_head(shown: Shown) -> None:
    widths = {width for width in HEAD_WIDTHS if width <= shown.config.d_model}
    slide("d_head", _("d_head · width of one head"), widths, shown.config.d_head)


def _softcap(name: str, label: str) -> Callable[[Shown], None]:
    return lambda shown: slide(name, _(label), SOFTCAPS, shown.config.plain(name), label_of=_brief)


def _factor(name: str, label: str, factors: Sequence[float]) -> Callable[[Shown], None]:
    def draw(shown: Shown) -> None:
        own = float(shown.config.plain(name))
        slide(name, _(label), factors, own, label_of=_brief)

    return draw


def _keeps_its_writes(shown: Shown) -> bool:
    """Whether no norm after a sub-layer undoes a factor."""
    normed = (NormPlacement.SANDWICH, NormPlacement.RES_POST)
    return shown.config.norm.norm_placement not in normed


def _brief(x: float) -> str:
    return f"{x:g}"


def _local_window(shown: Shown) -> None:
    label = _("local_window · tokens seen per direction in a local layer, itself included")
    window = shown.config.local_window
    slide("local_window", label, LOCAL_WINDOWS, window, label_of=_or_all)


def _or_all(n: int) -> str:
    return str(n) if n else _("all")


def _global_every(shown: Shown) -> None:
    label = _("global_every · every n-th layer is global")
    slide("global_every", label, EVERY, shown.config.attention.global_every, label_of=_or_none)


def _or_none(n: int) -> str:
    return str(n) if n else _("none")


def _has_local_layers(shown: Shown) -> bool:
    several = shown.config.n_layers > 1 or shown.config.n_decoder_layers > 1
    return several and shown.config.local_window > 0


def _has_rope(shown: Shown) -> bool:
    is_rope = shown.config.position.position_kind is PositionKind.ROPE
    return is_rope and shown.config.has_attention


def _attends(shown: Shown) -> bool:
    return shown.config.has_attention


def _has_heads(shown: Shown) -> bool:
    return shown.config.has_attention or shown.config.token_mixer is not TokenMixer.GRU


def _may_keep_a_state(shown: Shown) -> bool:
    """Whether it reads from left to right, or one block of it is shown."""
    return shown.config.architecture in (Architecture.BLOCK, Architecture.GPT)


def _attention_every(shown: Shown) -> None:
    label = _("attention_every · every n-th layer uses attention")
    slide("attention_every", label, EVERY, shown.config.attention_every, label_of=_or_none)


def _has_several_with_a_state(shown: Shown) -> bool:
    has_state = shown.config.token_mixer is not TokenMixer.ATTENTION
    return has_state and shown.config.n_layers > 1


def _is_of_heads(shown: Shown) -> bool:
    """Whether keys and values are made for heads, not of latents."""
    return shown.config.has_attention and not shown.config.is_latent


def _turns_heads(shown: Shown) -> bool:
    return _has_rope(shown) and _is_of_heads(shown)


def _is_stretched(shown: Shown) -> bool:
    return _has_rope(shown) and shown.config.position.rope_scaling is not RopeScaling.NONE


def _is_stretched_by_length(shown: Shown) -> bool:
    """Whether it matters on how long texts the model was trained."""
    by_length = (RopeScaling.YARN, RopeScaling.LLAMA3, RopeScaling.LONGROPE)
    return _has_rope(shown) and shown.config.position.rope_scaling in by_length


def _is_stretched_by_yarn(shown: Shown) -> bool:
    return _has_rope(shown) and shown.config.position.rope_scaling is RopeScaling.YARN


def _is_gated(shown: Shown) -> bool:
    return shown.has_wide_layers and shown.config.feed_forward.activation.is_gated


def _rope_factor(shown: Shown) -> None:
    label = _("rope_factor · multiple of the trained length")
    factors, factor = ROPE_FACTORS, shown.config.position.rope_factor
    slide("rope_factor", label, factors, float(factor), label_of=_brief)


def _trained_len(shown: Shown) -> None:
    label = _("rope_trained_len · length of the training texts, in tokens")
    slide("rope_trained_len", label, TRAINED_LENGTHS, shown.config.position.rope_trained_len)


def _local_rope_base(shown: Shown) -> None:
    label = _("local_rope_base · RoPE base of local layers (0: same as in other layers)")
    base = float(shown.config.position.local_rope_base)
    slide("local_rope_base", label, ROPE_BASES, base, label_of=_brief)


def _nope_every(shown: Shown) -> None:
    label = _("nope_every · every n-th layer lacks positional encoding (NoPE)")
    slide("nope_every", label, EVERY, shown.config.position.nope_every, label_of=_or_none)


def _n_mtp_modules(shown: Shown) -> None:
    label = _("n_mtp_modules · tokens predicted beyond the next (MTP)")
    slide("n_mtp_modules", label, MTP_MODULES, shown.config.n_mtp_modules)


def _d_kv_latent(shown: Shown) -> None:
    widths = (0, *(width for width in LATENT_WIDTHS if width <= shown.config.d_model))
    label = _("d_kv_latent · width of the cached latent (MLA), 0: off")
    slide("d_kv_latent", label, widths, shown.config.d_kv_latent)


def _d_rotary(shown: Shown) -> None:
    widths = {width for width in HEAD_WIDTHS if width <= shown.config.d_head}
    label = _("d_rotary · extra rotated width per head")
    slide("d_rotary", label, widths, shown.config.d_rotary)


def _d_value(shown: Shown) -> None:
    widths = {width for width in HEAD_WIDTHS if width <= shown.config.d_model}
    slide("d_value", _("d_value · value width per head"), widths, shown.config.d_value)


def _rotary_share(shown: Shown) -> None:
    share = shown.config.position.rotary_share
    label = _("Rotated share of each head")
    slider("rotary_share", label, share, least=0.05, most=1.0, step=0.05)


def _attention_only(shown: Shown) -> None:
    """In a layer with a state that alone is left."""
    attends = shown.config.attends
    label = _("Attention only, no feed-forward") if attends else _("No feed-forward layers")
    switch("attention_only", label)


def _attention_bias(shown: Shown) -> None:
    """A GRU has gates instead of queries, keys and values."""
    label = _("Biases of queries, keys and values")
    switch(
        "attention_bias",
        label if _has_heads(shown) else _("Biases of gates and candidate (r, z, n)"),
    )


def _out_bias(shown: Shown) -> None:
    switch("out_bias", _("Bias of the output projection"), shown=shown.config.has_out_bias)


def _dropout(shown: Shown) -> None:
    slider("dropout", _("Dropout"), shown.config.dropout, least=0.0, most=0.9, step=0.05)


def _dtype(shown: Shown) -> None:
    dtypes = [*WeightDtype] if shown.is_to_train else available_dtypes(link.value("device"))
    dtype = trained_dtype() if shown.is_to_train else link.value("dtype")
    pick("dtype", _("Number format"), dtypes, label_of=str, shown=dtype)


def _device(_shown: Shown) -> None:
    pick("device", _("Device"), available_devices(), label_of=device_name)


def _switched(name: str, label: str, help: str = "") -> Callable[[Shown], None]:
    return lambda _shown: switch(name, _(label), help=_(help) or None)


def _chosen(name: str, label: str, options: Iterable[str]) -> Callable[[Shown], None]:
    return lambda _shown: choose(name, _(label), options)


def _picked(name: str, label: str, options: Iterable[str]) -> Callable[[Shown], None]:
    return lambda _shown: pick(name, _(label), options)


def _always(_shown: Shown) -> bool:
    return True


def _is_parallel(shown: Shown) -> bool:
    return shown.config.norm.norm_placement is NormPlacement.PARALLEL


def _may_shift(shown: Shown) -> bool:
    return shown.config.norm.norm_kind in (NormKind.LAYER_NORM, NormKind.BATCH_NORM)


def _may_lack_its_first_norm(shown: Shown) -> bool:
    is_whole = shown.kind in (Architecture.GPT, Architecture.ENCODER)
    is_normed = shown.config.norm.norm_kind is not NormKind.NONE
    is_pre = shown.config.norm.norm_placement is NormPlacement.PRE
    return is_whole and is_normed and is_pre


def _may_have_dense_layers(shown: Shown) -> bool:
    is_whole = shown.kind in (Architecture.GPT, Architecture.ENCODER)
    return _has_experts(shown) and is_whole and shown.config.n_layers > 1


def _has_experts(shown: Shown) -> bool:
    return shown.has_wide_layers and shown.config.n_experts > 1


class Control(NamedTuple):
    """One setting: what draws it, and which models have it."""

    draw: Callable[[Shown], None]
    is_there: Callable[[Shown], bool] = _always


# By the field that each sets, in the order in which they stand.
CONTROLS = {
    "n_layers": Control(_n_layers, lambda shown: shown.kind is not Architecture.BLOCK),
    "n_decoder_layers": Control(_n_decoder_layers, lambda shown: shown.has_target),
    "share_embeddings": Control(
        _switched("share_embeddings", N_("Share one embedding table between source and target")),
        lambda shown: shown.has_target,
    ),
    "tie_embeddings": Control(
        _switched("tie_embeddings", N_("Weight tying (embedding = output)")),
        lambda shown: shown.kind.reads_tokens,
    ),
    "d_model": Control(_d_model),
    "n_heads": Control(_n_heads, _has_heads),
    "n_kv_heads": Control(_n_kv_heads, _is_of_heads),
    "d_ff": Control(_d_ff, lambda shown: shown.has_wide_layers),
    "norm_placement": Control(_norm_placement),
    "norm_kind": Control(_chosen("norm_kind", N_("Norm"), NormKind)),
    "residual": Control(
        _switched(
            "residual", N_("Residual connection"), N_("x + f(x). Off: only f(x) is passed on.")
        ),
    ),
    "activation": Control(
        _picked("activation", N_("Activation"), Activation), lambda shown: shown.has_wide_layers
    ),
    "position_kind": Control(_position_kind),
    "sines_first": Control(
        _switched(
            "sines_first",
            N_("All sines before all cosines (Marian)"),
            N_("Off: sines and cosines are interleaved, as in the paper."),
        ),
        lambda shown: shown.config.position.position_kind is PositionKind.SINUSOIDAL,
    ),
    "embedding_norm": Control(
        _switched("embedding_norm", N_("Norm after the embeddings (BERT, BART)")),
        lambda shown: shown.config.architecture.reads_tokens,
    ),
    "relative_bias": Control(
        _switched("relative_bias", N_("Learned bias for each distance bucket (T5)")),
        lambda shown: shown.has_target,
    ),
    "n_segments": Control(
        _n_segments, lambda shown: shown.config.architecture is Architecture.ENCODER
    ),
    "pooler": Control(
        _switched("pooler", N_("Pooler: one vector from the first token")),
        lambda shown: shown.config.architecture is Architecture.ENCODER,
    ),
    "parallel_norms": Control(_parallel_norms, _is_parallel),
    "attention_only": Control(_attention_only, lambda shown: not _is_parallel(shown)),
    "n_experts": Control(_n_experts, lambda shown: shown.has_wide_layers),
    "n_active_experts": Control(_n_active_experts, _has_experts),
    "d_expert": Control(_d_expert, _has_experts),
    "n_shared_experts": Control(_n_shared_experts, _has_experts),
    "n_dense_layers": Control(_n_dense_layers, _may_have_dense_layers),
    "router_kind": Control(_chosen("router_kind", N_("Router scores"), RouterKind), _has_experts),
    "router_bias": Control(
        _switched("router_bias", N_("Router with a learned bias (gpt-oss)")), _has_experts
    ),
    "normalize_top_k": Control(
        _switched("normalize_top_k", N_("Weights of the chosen experts sum to 1")), _has_experts
    ),
    "expert_capacity": Control(_expert_capacity, _has_experts),
    "token_mixer": Control(
        _chosen("token_mixer", N_("Token mixer"), TokenMixer), _may_keep_a_state
    ),
    "attention_every": Control(_attention_every, _has_several_with_a_state),
    "d_head": Control(_d_head, _has_heads),
    "d_kv_latent": Control(_d_kv_latent, lambda shown: _attends(shown) and not shown.has_target),
    "d_rotary": Control(_d_rotary, lambda shown: shown.config.is_latent),
    "d_value": Control(_d_value, lambda shown: shown.config.is_latent),
    "rotary_share": Control(_rotary_share, _turns_heads),
    "local_window": Control(_local_window, _is_of_heads),
    "global_every": Control(_global_every, _has_local_layers),
    "global_first": Control(
        _switched("global_first", N_("The first layer is global (ModernBERT)")),
        lambda shown: _has_local_layers(shown) and shown.config.attention.global_every > 1,
    ),
    "rope_scaling": Control(
        _picked("rope_scaling", N_("RoPE scaling for longer texts"), RopeScaling), _has_rope
    ),
    "rope_factor": Control(_rope_factor, _is_stretched),
    "rope_trained_len": Control(_trained_len, _is_stretched_by_length),
    "local_rope_base": Control(
        _local_rope_base, lambda shown: _has_rope(shown) and shown.config.local_window > 0
    ),
    "yarn_whole_pairs": Control(
        _switched(
            "yarn_whole_pairs",
            N_("YaRN: ramp rounded to whole pairs"),
            N_(
                "Off: the number of rotations alone sets where the ramp begins and ends, even "
                "between pairs (gpt-oss)."
            ),
        ),
        _is_stretched_by_yarn,
    ),
    "nope_every": Control(_nope_every, _turns_heads),
    "qk_norm": Control(
        _switched("qk_norm", N_("Normalize queries and keys (QK norm)")), _is_of_heads
    ),
    "qk_norm_whole": Control(
        _switched("qk_norm_whole", N_("QK norm over all heads at once (OLMo 2)")),
        lambda shown: shown.config.attention.qk_norm and _is_of_heads(shown),
    ),
    "qk_norm_scale": Control(
        _switched("qk_norm_scale", N_("QK norms have learned scales")),
        lambda shown: shown.config.attention.qk_norm and _is_of_heads(shown),
    ),
    "score_softcap": Control(
        _softcap("score_softcap", N_("Soft cap on scores (0: none)")), _is_of_heads
    ),
    "logit_softcap": Control(
        _softcap("logit_softcap", N_("Soft-cap on logits (0: none)")),
        lambda shown: shown.config.architecture.reads_tokens,
    ),
    "residual_multiplier": Control(
        _factor(
            "residual_multiplier",
            N_("residual_multiplier · scales each sub-layer's output (Granite)"),
            RESIDUAL_MULTIPLIERS,
        ),
        _keeps_its_writes,
    ),
    "attention_multiplier": Control(
        _factor(
            "attention_multiplier",
            N_("attention_multiplier · scales the scores (0: 1 / √d_head)"),
            SCORE_MULTIPLIERS,
        ),
        _attends,
    ),
    "n_mtp_modules": Control(_n_mtp_modules, lambda shown: shown.kind is Architecture.GPT),
    "embedding_multiplier": Control(
        _factor(
            "embedding_multiplier",
            N_("embedding_multiplier · scales the embeddings"),
            EMBEDDING_MULTIPLIERS,
        ),
        lambda shown: shown.kind.reads_tokens,
    ),
    "logits_scaling": Control(
        _factor("logits_scaling", N_("logits_scaling · divides the logits"), LOGIT_SCALES),
        lambda shown: shown.kind.reads_tokens,
    ),
    "attention_sink": Control(
        _switched(
            "attention_sink",
            N_("Learned attention sink (gpt-oss)"),
            N_("One extra score per head that absorbs attention weight but passes nothing on."),
        ),
        _is_of_heads,
    ),
    "attention_gate": Control(
        _chosen("attention_gate", N_("Gate on the attention output"), AttentionGate), _is_of_heads
    ),
    "attention_bias": Control(_attention_bias),
    "out_bias": Control(_out_bias),
    "norm_affine": Control(_switched("norm_affine", N_("Norms have learned scales"))),
    "norm_bias": Control(
        _switched("norm_bias", N_("Norms have learned shifts")),
        lambda shown: shown.config.norm.norm_affine and _may_shift(shown),
    ),
    "first_norm": Control(
        _switched(
            "first_norm",
            N_("Norm before the first attention"),
            N_("Off: the first layer's attention reads the stream directly (ModernBERT)."),
        ),
        _may_lack_its_first_norm,
    ),
    "feed_forward_bias": Control(
        _switched("feed_forward_bias", N_("Biases in the feed-forward layer"))
    ),
    "gate_limit": Control(
        _factor("gate_limit", N_("gate_limit · clamp on gate and up (0: none)"), GATE_LIMITS),
        _is_gated,
    ),
    "up_offset": Control(
        _switched("up_offset", N_("The gate multiplies 1 + up (gpt-oss)")), _is_gated
    ),
    "dropout": Control(_dropout),
    "initialization": Control(_picked("initialization", N_("Initialization"), Initialization)),
    "training": Control(
        _switched(
            "training",
            N_("Training mode"),
            N_("Dropout is on, and BatchNorm uses the statistics of this batch."),
        ),
        lambda shown: not shown.is_to_train,
    ),
    "seed": Control(lambda _shown: enter("seed", _("Seed"), link.value("seed"))),
    "device": Control(_device),
    "dtype": Control(_dtype),
}


LabelOf = Callable[[str], str]


def choose(
    name: str, label: str, options: Iterable[str], *, label_of: LabelOf = terms.option
) -> None:
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
    name: str,
    label: str,
    options: Iterable[str],
    *,
    label_of: LabelOf = terms.option,
    shown: str = "",
    place: str = "",
) -> None:
    """Many choices in a list; `shown` is the field's value unless told otherwise.

    `place`: which of several lists for one field it is.
    """
    words = tuple(str(option) for option in options)
    with st.container(key=name + place):
        st.selectbox(
            label,
            words,
            format_func=label_of,
            **link.view(name, str(shown or link.value(name)), (place, words, current_language())),
        )


def several(
    name: str,
    label: str,
    options: tuple[str, ...],
    shown: Sequence[str],
    *,
    write: Callable[[Sequence[str]], str],
    label_of: LabelOf = terms.option,
    place: str = "",
    is_list: bool = False,
) -> None:
    """Some of several choices, side by side or in a list; `write` makes one text of them.

    `place`: which of several such widgets for one field it is.
    """
    key = f"{name}__{zlib.crc32(repr((place, options, current_language())).encode()):x}"
    st.session_state[key] = [*shown]
    look: dict[str, Any] = {} if is_list else {"selection_mode": "multi", "wrap": True}
    with st.container(key=name + place):
        (st.multiselect if is_list else st.pills)(
            label,
            options,
            format_func=label_of,
            key=key,
            on_change=_several_chosen,
            args=(name, key, options, write),
            **look,
        )


def _several_chosen(
    name: str, key: str, options: tuple[str, ...], write: Callable[[Sequence[str]], str]
) -> None:
    found = st.session_state[key]
    link.change(name, write([word for word in options if word in found]))


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
            text = _("{label}: {value}, the only valid value")
            st.caption(text.format(label=label, value=label_of(shown)))
        else:
            view = link.view(name, shown, (place, choices))
            st.select_slider(label, choices, format_func=label_of, **view)


def slider(
    name: str,
    label: str,
    shown: float,
    *,
    least: float | None = None,
    most: float | None = None,
    first: int = 0,
    place: str = "",
    **more: Any,
) -> None:
    """A slider over a range; `first`: what it shows for 0. `place` as in `slide`."""
    low, high = limits = _limits(name, shown, least, most)
    with st.container(key=name + place):
        view = link.view(name, shown, (place, limits), first=first)
        st.slider(label, low + first, high + first, **more, **view)


def enter(
    name: str,
    label: str,
    shown: int,
    *,
    least: int | None = None,
    most: int | None = None,
    first: int = 0,
    **more: Any,
) -> None:
    """A whole number to type; `first`: what it shows for 0."""
    low, high = limits = _limits(name, shown, least, most)
    view = link.view(name, shown, limits, first=first)
    st.number_input(label, low + first, high + first, step=1, **more, **view)


def _limits(
    name: str, shown: float, least: float | None, most: float | None
) -> tuple[float, float]:
    """Those of the field, or what is of use here and what came from a link or preset."""
    read = cast(Between, FIELDS[name].read)  # as every field with such a control
    return (
        read.least if least is None else min(least, shown),
        read.most if most is None else max(most, shown),
    )


def switch(name: str, label: str, *, shown: bool | None = None, **more: Any) -> None:
    """On or off; `shown` is the field's value unless told otherwise."""
    st.toggle(label, **more, **link.view(name, link.value(name) if shown is None else shown))
