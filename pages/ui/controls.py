"""The widgets of the sidebar: the architecture, shared by all pages."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import streamlit as st

from blocks import ModelConfig
from blocks.inspection.settings import moved_along
from blocks.model.config import OPTIONS
from blocks.model.devices import available_devices, available_dtypes, device_name
from blocks.model.faults import N_
from blocks.model.in_use import settable
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
from blocks.weights.pocket import pocket_names
from pages.ui import bringing, brought, link, runs, starts, terms, weights
from pages.ui.fields import FIELDS, WEIGHTS
from pages.ui.fold import fold
from pages.ui.language import _, bracketed, current_language, enumeration, ngettext
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
    here = Shown(weights.config(shown, ""), is_counted=bool(presets))
    _preset(presets or (starts.names_of_two() if here.has_target else starts.names()))
    bringing.fold_of_ways()
    _weights(shown)
    _settings(here, first)


def to_train(config: ModelConfig) -> None:
    """Draw the controls of a model to train from scratch."""
    here = Shown(config, is_to_train=True)
    _preset(starts.names_of_two() if here.has_target else starts.names())
    st.caption(_("The model to train. Its initial weights are random, determined by the seed."))
    _settings(here)


def trained_dtype() -> WeightDtype:
    """The number format of a training: the reader's where one can train in it."""
    kinds = [kind for kind in WeightDtype if kind == link.value("dtype")]
    return kinds[0] if kinds else WeightDtype.FLOAT32


def drawable(shown: Shown) -> list[str]:
    """The fields that do something in this model, in the order of the table."""
    offered = settable(shown.config) | BESIDE
    if shown.config.architecture is Architecture.BLOCK:
        offered -= OF_SEVERAL_LAYERS
    if shown.is_to_train:
        offered -= {"training"}
    return [name for name in CONTROLS if name in offered]


def _settings(shown: Shown, first: Sequence[str] = ()) -> None:
    """What stands first, and all the rest one click away."""
    fields = drawable(shown)
    opened = [name for name in first or FIRST if name in fields]
    led = moved_along(starts.start(link.value("preset")).config, shown.config)
    for name in opened:
        CONTROLS[name](shown)
        _moved_with(name, opened, led)
    folded = [name for name in fields if name not in opened]
    more = fold(_more_label(folded), key="more", icon=":material/tune:", type="compact")
    if more.open:
        with more:
            for name in folded:
                CONTROLS[name](shown)
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
        leader, (before, now) = OPTIONS[follower].follows, led[follower]
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
    """What something to start from is called in a list: whether it is trained, how deep it is."""
    start = starts.start(name)
    trained = _("trained") if start.weights in pocket_names() else ""
    told = enumeration(filter(None, (trained, start.recipe, layers_of(start.config))))
    return bracketed(_(start.title), told)


def layers_of(config: ModelConfig) -> str:
    """How many layers there are; of an encoder–decoder, on either side."""
    if config.architecture is Architecture.ENCODER_DECODER:
        return _("{n} + {m} layers").format(n=config.n_layers, m=config.n_decoder_layers)
    return ngettext("{n} layer", "{n} layers", config.n_layers).format(n=config.n_layers)


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
    """A trained model may be cut after any of its layers."""
    start = weights.started_from()
    learned = range(1, start.config.n_layers + 1) if start.weights else ()
    return (*LAYERS, *learned, *(MORE_LAYERS if shown.is_counted else ()))


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


def _brief(x: float) -> str:
    return f"{x:g}"


def _local_window(shown: Shown) -> None:
    label = _("local_window · visible tokens on each side, current token included")
    window = shown.config.local_window
    slide("local_window", label, LOCAL_WINDOWS, window, label_of=_or_all)


def _or_all(n: int) -> str:
    return str(n) if n else _("all")


def _global_every(shown: Shown) -> None:
    label = _("global_every · every n-th layer is global")
    slide(
        "global_every", label, _every(shown), shown.config.attention.global_every, label_of=_or_none
    )


def _every(shown: Shown) -> list[int]:
    """Every so many layers, of as many as there are."""
    n_layers = max(shown.config.n_layers, shown.config.n_decoder_layers)
    return [n for n in EVERY if n <= n_layers]


def _or_none(n: int) -> str:
    return str(n) if n else _("none")


def _has_heads(shown: Shown) -> bool:
    return shown.config.has_attention or shown.config.token_mixer is not TokenMixer.GRU


def _attention_every(shown: Shown) -> None:
    label = _("attention_every · every n-th layer uses attention")
    slide("attention_every", label, _every(shown), shown.config.attention_every, label_of=_or_none)


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
    slide("nope_every", label, _every(shown), shown.config.position.nope_every, label_of=_or_none)


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
    switch("out_bias", _("Bias of the output projection"), shown=shown.config.out_bias)


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


# By the field that each sets, in the order in which they stand; `settable` says where.
CONTROLS: dict[str, Callable[[Shown], None]] = {
    "n_layers": _n_layers,
    "n_decoder_layers": _n_decoder_layers,
    "share_embeddings": _switched(
        "share_embeddings", N_("Share one embedding table between source and target")
    ),
    "tie_embeddings": _switched("tie_embeddings", N_("Weight tying (embedding = output)")),
    "d_model": _d_model,
    "n_heads": _n_heads,
    "n_kv_heads": _n_kv_heads,
    "d_ff": _d_ff,
    "norm_placement": _norm_placement,
    "norm_kind": _chosen("norm_kind", N_("Norm"), NormKind),
    "residual": _switched(
        "residual", N_("Residual connection"), N_("x + f(x). Off: only f(x) is passed on.")
    ),
    "activation": _picked("activation", N_("Activation"), Activation),
    "position_kind": _position_kind,
    "sines_first": _switched(
        "sines_first",
        N_("All sines before all cosines (Marian)"),
        N_("Off: sines and cosines are interleaved, as in the paper."),
    ),
    "embedding_norm": _switched("embedding_norm", N_("Norm after the embeddings (BERT, BART)")),
    "relative_bias": _switched("relative_bias", N_("Learned bias for each distance bucket (T5)")),
    "n_segments": _n_segments,
    "pooler": _switched("pooler", N_("Pooler: one vector from the first token")),
    "parallel_norms": _parallel_norms,
    "attention_only": _attention_only,
    "n_experts": _n_experts,
    "n_active_experts": _n_active_experts,
    "d_expert": _d_expert,
    "n_shared_experts": _n_shared_experts,
    "shared_expert_gate": _switched(
        "shared_expert_gate",
        N_("Gate on the shared experts (Qwen3-Next)"),
        N_(
            "A sigmoid of the token's vector multiplies what the shared experts say, so that "
            "each token decides how much of it passes."
        ),
    ),
    "n_dense_layers": _n_dense_layers,
    "router_kind": _chosen("router_kind", N_("Router scores"), RouterKind),
    "router_bias": _switched("router_bias", N_("Router with a learned bias (gpt-oss)")),
    "normalize_top_k": _switched("normalize_top_k", N_("Weights of the chosen experts sum to 1")),
    "expert_capacity": _expert_capacity,
    "token_mixer": _chosen("token_mixer", N_("Token mixer"), TokenMixer),
    "attention_every": _attention_every,
    "d_head": _d_head,
    "d_kv_latent": _d_kv_latent,
    "d_rotary": _d_rotary,
    "d_value": _d_value,
    "rotary_share": _rotary_share,
    "local_window": _local_window,
    "global_every": _global_every,
    "global_first": _switched("global_first", N_("The first layer is global (ModernBERT)")),
    "rope_scaling": _picked("rope_scaling", N_("RoPE scaling for longer texts"), RopeScaling),
    "rope_factor": _rope_factor,
    "rope_trained_len": _trained_len,
    "local_rope_base": _local_rope_base,
    "yarn_whole_pairs": _switched(
        "yarn_whole_pairs",
        N_("YaRN: ramp rounded to whole pairs"),
        N_(
            "Off: the number of rotations alone sets where the ramp begins and ends, even "
            "between pairs (gpt-oss)."
        ),
    ),
    "nope_every": _nope_every,
    "qk_norm": _switched("qk_norm", N_("Normalize queries and keys (QK norm)")),
    "qk_norm_whole": _switched("qk_norm_whole", N_("QK norm over all heads at once (OLMo 2)")),
    "qk_norm_scale": _switched("qk_norm_scale", N_("QK norms have learned scales")),
    "score_softcap": _softcap("score_softcap", N_("Soft cap on scores (0: none)")),
    "logit_softcap": _softcap("logit_softcap", N_("Soft-cap on logits (0: none)")),
    "residual_multiplier": _factor(
        "residual_multiplier",
        N_("residual_multiplier · scales each sub-layer's output (Granite)"),
        RESIDUAL_MULTIPLIERS,
    ),
    "attention_multiplier": _factor(
        "attention_multiplier",
        N_("attention_multiplier · scales the scores (0: 1 / √d_head)"),
        SCORE_MULTIPLIERS,
    ),
    "n_mtp_modules": _n_mtp_modules,
    "embedding_multiplier": _factor(
        "embedding_multiplier",
        N_("embedding_multiplier · scales the embeddings"),
        EMBEDDING_MULTIPLIERS,
    ),
    "logits_scaling": _factor(
        "logits_scaling", N_("logits_scaling · divides the logits"), LOGIT_SCALES
    ),
    "attention_sink": _switched(
        "attention_sink",
        N_("Learned attention sink (gpt-oss)"),
        N_("One extra score per head that absorbs attention weight but passes nothing on."),
    ),
    "attention_gate": _chosen("attention_gate", N_("Gate on the attention output"), AttentionGate),
    "attention_bias": _attention_bias,
    "out_bias": _out_bias,
    "norm_affine": _switched("norm_affine", N_("Norms have learned scales")),
    "norm_bias": _switched("norm_bias", N_("Norms have learned shifts")),
    "first_norm": _switched(
        "first_norm",
        N_("Norm before the first attention"),
        N_("Off: the first layer's attention reads the stream directly (ModernBERT)."),
    ),
    "feed_forward_bias": _switched("feed_forward_bias", N_("Biases in the feed-forward layer")),
    "gate_limit": _factor(
        "gate_limit", N_("gate_limit · clamp on gate and up (0: none)"), GATE_LIMITS
    ),
    "up_offset": _switched("up_offset", N_("The gate multiplies 1 + up (gpt-oss)")),
    "dropout": _dropout,
    "initialization": _picked("initialization", N_("Initialization"), Initialization),
    "training": _switched(
        "training",
        N_("Training mode"),
        N_("Dropout is on, and BatchNorm uses the statistics of this batch."),
    ),
    "seed": lambda _shown: enter("seed", _("Seed"), link.value("seed")),
    "device": _device,
    "dtype": _dtype,
}
# What stands beside the model.
BESIDE = CONTROLS.keys() - ModelConfig().flat().keys()
# What a block alone does not have, though its configuration may say it.
OF_SEVERAL_LAYERS = {"n_layers", "first_norm"}


LabelOf = Callable[[str], str]


def choose(
    name: str,
    label: str,
    options: Iterable[str],
    *,
    label_of: LabelOf = terms.option,
    shown: str = "",
) -> None:
    """A few choices side by side; `shown` is the field's value unless told otherwise."""
    st.segmented_control(
        label,
        [str(option) for option in options],
        format_func=label_of,
        required=True,
        wrap=True,
        **link.view(name, shown or link.value(name)),
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
