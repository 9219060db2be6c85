"""The sidebar: every option of the architecture, shared by all pages.

Where an option applies, and what it may be, its declaration in `blocks.model.parts` says; here
stand its label, its widget and what that offers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import streamlit as st

from blocks import ModelConfig
from blocks.inspection.settings import moved_along
from blocks.model import has
from blocks.model.config import OPTIONS
from blocks.model.devices import available_devices, available_dtypes, device_name
from blocks.model.faults import N_
from blocks.model.in_use import legal_values, settable
from blocks.model.kinds import Architecture, NormPlacement, PositionKind
from blocks.model.legal import divisors
from blocks.training.recipe import WeightDtype
from blocks.weights.pocket import pocket_names
from pages.page import bringing
from pages.server import brought, runs, starts
from pages.show.controls import choose, enter, pick, slide, slider, switch
from pages.show.fold import fold
from pages.show.typed import slide_or_type, typed
from pages.stage import link, weights
from pages.state.fields import WEIGHTS
from pages.words import terms
from pages.words.language import _, bracketed, current_language, enumeration, ngettext

WIDTHS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 576, 768, 1024, 1536, 2048, 3072, 4096)
LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
# What is only counted may be as large as anything published.
MORE_WIDTHS, MORE_LAYERS = (5120, 6144, 8192, 12288, 16384), (32, 48, 64, 80, 96, 128)
HEAD_WIDTHS = (4, 8, 16, 32, 64, 96, 128, 192, 256)
LATENT_WIDTHS = (8, 16, 32, 64, 128, 256, 512)
FF_FACTORS = (0.5, 1, 1.5, 2, 3, 4, 5, 6, 8)
EXPERTS, MORE_EXPERTS, MOST_ACTIVE = (1, 2, 4, 8, 16, 32, 64), (128, 256), 16
ROPE_BASES = (0.0, 100.0, 1e3, 1e4, 1e5, 1e6)
TRAINED_LENGTHS = (8, 16, 32, 64, 128, 512, 2048, 4096, 8192)
SCORE_MULTIPLIERS = (0.0, 0.0078125, 0.015625, 0.0625, 0.125, 0.25, 0.5, 1.0)
SOFTCAPS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
LOCAL_WINDOWS = (0, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
EVERY = (0, 1, 2, 3, 4, 5, 6, 8)
# What stands first where no panel says what it answers to.
FIRST = ("n_layers", "d_model", "n_heads", "d_ff", "norm_placement", "norm_kind")
PAGE_OF = {
    Architecture.GPT: "pages/gpt.py",
    Architecture.ENCODER: "pages/encoder.py",
    Architecture.ENCODER_DECODER: "pages/seq2seq.py",
}
TYPED = ("n_layers", "d_model", "d_ff", "d_expert")  # of what is only counted, beside the slider
FOLLOWERS = ("n_decoder_layers", "n_kv_heads", "d_ff")


class Shown(NamedTuple):
    """What the sidebar is drawn for: the model of the page, and what becomes of it there."""

    config: ModelConfig
    is_counted: bool = False
    is_to_train: bool = False

    def value(self, name: str) -> Any:
        """What counts: in the model of the page, or of what stands beside it."""
        if name not in OPTIONS:
            return trained_dtype() if name == "dtype" and self.is_to_train else link.value(name)
        found = self.config.counted(name)
        return float(found) if OPTIONS[name].kind is float else found


Label = str | Callable[[ModelConfig], str]
Values = Sequence[Any] | Callable[[Shown], Iterable[Any]]


@dataclass(frozen=True)
class Control:
    """What an option is called where it is set; `note`: what is said below."""

    label: Label
    help: str = ""
    note: Callable[[ModelConfig], str] | None = None

    def draw(self, name: str, shown: Shown) -> None:
        """Draw the widget, and its note."""
        label = self.label if isinstance(self.label, str) else self.label(shown.config)
        self.widget(name, _(label), shown)
        if self.note and (text := self.note(shown.config)):
            st.caption(text)

    def widget(self, name: str, label: str, shown: Shown) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Switch(Control):
    """On or off."""

    def widget(self, name: str, label: str, shown: Shown) -> None:
        switch(name, label, shown=shown.value(name), help=_(self.help) or None)


@dataclass(frozen=True)
class Slide(Control):
    """A slider over a few values; what is only counted may have `more`."""

    values: Values = ()
    more: Sequence[Any] = ()
    label_of: Callable[[Any], str] | None = None

    def widget(self, name: str, label: str, shown: Shown) -> None:
        """Draw a slider."""
        own = self.values(shown) if callable(self.values) else self.values
        values = (*own, *(self.more if shown.is_counted else ()))
        value = shown.value(name)
        label_of = self.label_of or ("{:g}".format if isinstance(value, float) else str)
        draw = slide_or_type if shown.is_counted and name in TYPED else slide
        draw(name, label, values, value, label_of=label_of)


@dataclass(frozen=True)
class Range(Control):
    """A slider over a range."""

    least: float = 0.0
    most: float = 1.0
    step: float = 0.05

    def widget(self, name: str, label: str, shown: Shown) -> None:
        value, step = shown.value(name), self.step
        slider(name, label, value, least=self.least, most=self.most, step=step)


@dataclass(frozen=True)
class Pick(Control):
    """One of a few words: side by side, or in a list; all that its type has, unless told."""

    values: Values = ()
    is_list: bool = False
    label_of: Callable[[str], str] = terms.option

    def widget(self, name: str, label: str, shown: Shown) -> None:
        """Draw buttons or a list."""
        own = self.values(shown) if callable(self.values) else OPTIONS[name].kind
        draw = pick if self.is_list else choose
        draw(name, label, own, label_of=self.label_of, shown=shown.value(name))


@dataclass(frozen=True)
class Typed(Control):
    """A number of any size to type, with units."""

    def widget(self, name: str, label: str, shown: Shown) -> None:
        typed(name, label, shown.value(name))


@dataclass(frozen=True)
class Number(Control):
    """A whole number to type."""

    def widget(self, name: str, label: str, shown: Shown) -> None:
        enter(name, label, shown.value(name))


def architecture(
    shown: Architecture | None, first: Sequence[str] = (), presets: Sequence[str] = ()
) -> None:
    """Everything that the configuration holds, only legal choices, on a page that shows this.

    None: the page shows each model as what it is. `first`: the fields that stand open; the others
    are folded. `presets`: what one may start from, where it is not what runs on such a page.
    """
    here = Shown(weights.config(shown, ""), is_counted=bool(presets))
    _preset(presets or (starts.names_of_two() if has.TWO_STACKS(here.config) else starts.names()))
    bringing.fold_of_ways()
    _weights(shown)
    _settings(here, first)


def seed() -> None:
    st.caption(_("The open panel trains models of its own, so only the seed matters here."))
    CONTROLS["seed"].draw("seed", Shown(weights.config(None, "")))


def to_train(config: ModelConfig) -> None:
    """Draw the controls of a model to train from scratch."""
    here = Shown(config, is_to_train=True)
    _preset(starts.names_of_two() if has.TWO_STACKS(here.config) else starts.names())
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
    if not shown.is_counted:
        offered -= OF_COUNTED
    return [name for name in CONTROLS if name in offered]


def _settings(shown: Shown, first: Sequence[str] = ()) -> None:
    """What stands first, and all the rest one click away."""
    fields = drawable(shown)
    opened = [name for name in first or FIRST if name in fields]
    led = moved_along(starts.start(link.value("preset")).config, shown.config)
    for name in opened:
        CONTROLS[name].draw(name, shown)
        _moved_with(name, opened, led)
    folded = [name for name in fields if name not in opened]
    more = fold(_more_label(folded), key="more", icon=":material/tune:", type="compact")
    if more.open:
        with more:
            for name in folded:
                CONTROLS[name].draw(name, shown)
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
    changed = sorted(link.now().config_changes)
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


def _layers(shown: Shown) -> tuple[int, ...]:
    start = weights.started_from()
    learned = range(1, start.config.n_layers + 1) if start.weights else ()
    return (*LAYERS, *learned)


def _heads(shown: Shown) -> tuple[int, ...]:
    return legal_values(shown.config, "n_heads", tuple(divisors(shown.config.d_model)))


def _kind_of_heads(config: ModelConfig) -> str:
    said = f"n_heads · d_head = {config.n_heads} · {config.d_head} = {config.width_of_heads}"
    if config.attention.d_head is None:
        said = f"d_head = {config.d_model} / {config.n_heads} = {config.d_head}"
    return f"{said} · {terms.attention_kind(config)}"


def _widths_of_experts(config: ModelConfig) -> str:
    if config.n_experts == 1:
        return ""
    if config.experts.d_expert:
        return _("Experts have their own width, d_expert.")
    return _(
        "This is d_ff for each of the {n} experts; each token passes through {active} of them."
    ).format(n=config.n_experts, active=config.n_active_experts)


def _position_kinds(shown: Shown) -> list[PositionKind]:
    """What turns queries or adds to scores is nothing to a model without them."""
    own = PositionKind.NONE, shown.config.position.position_kind
    attends = shown.config.has_attention
    return [kind for kind in PositionKind if attends or kind.is_added or kind in own]


def _every(shown: Shown) -> list[int]:
    n_layers = max(shown.config.n_layers, shown.config.n_decoder_layers)
    return [n for n in EVERY if n <= n_layers]


def _up_to(widths: Sequence[int], name: str) -> Callable[[Shown], Iterable[int]]:
    return lambda shown: (width for width in widths if width <= shown.value(name))


def _dtypes(shown: Shown) -> Sequence[str]:
    return [*WeightDtype] if shown.is_to_train else available_dtypes(link.value("device"))


def _or_none(n: int) -> str:
    return str(n) if n else _("none")


def _or_all(n: int) -> str:
    return str(n) if n else _("all")


# By the field that each sets, in the order in which they stand; `settable` says where.
CONTROLS: dict[str, Control] = {
    "n_layers": Slide(
        lambda c: N_("n_layers · encoder layers") if has.TWO_STACKS(c) else N_("n_layers · layers"),
        values=_layers,
        more=MORE_LAYERS,
    ),
    "n_decoder_layers": Slide(
        N_("n_decoder_layers · decoder layers"), values=_layers, more=MORE_LAYERS
    ),
    "share_embeddings": Switch(N_("Share one embedding table between source and target")),
    "tie_embeddings": Switch(N_("Weight tying (embedding = output)")),
    "d_model": Slide(N_("d_model · hidden size"), values=WIDTHS, more=MORE_WIDTHS),
    "n_heads": Slide(N_("n_heads · query heads"), values=_heads, note=_kind_of_heads),
    "n_kv_heads": Slide(
        N_("n_kv_heads · key/value heads"), values=lambda s: divisors(s.config.n_heads)
    ),
    "d_ff": Slide(
        N_("d_ff · width of the feed-forward hidden layer"),
        values=lambda s: (max(1, int(factor * s.config.d_model)) for factor in FF_FACTORS),
        note=_widths_of_experts,
    ),
    "vocab_size": Typed(N_("vocab_size · tokens in the vocabulary")),
    "norm_placement": Pick(
        N_("Norm placement"),
        values=lambda s: legal_values(s.config, "norm_placement", tuple(NormPlacement)),
    ),
    "norm_kind": Pick(N_("Norm")),
    "residual": Switch(N_("Residual connection"), N_("x + f(x). Off: only f(x) is passed on.")),
    "activation": Pick(N_("Activation"), is_list=True),
    "position_kind": Pick(N_("Positional encoding"), values=_position_kinds),
    "sines_first": Switch(
        N_("All sines before all cosines (Marian)"),
        N_("Off: sines and cosines are interleaved, as in the paper."),
    ),
    "embedding_norm": Switch(N_("Norm after the embeddings (BERT, BART)")),
    "relative_bias": Switch(N_("Learned bias for each distance bucket (T5)")),
    "n_segments": Slide(N_("n_segments · segment embeddings"), values=(0, 1, 2)),
    "pooler": Switch(N_("Pooler: one vector from the first token")),
    "parallel_norms": Slide(N_("parallel_norms · norms per layer"), values=(1, 2)),
    "attention_only": Switch(
        lambda c: (
            N_("Attention only, no feed-forward") if c.attends else N_("No feed-forward layers")
        )
    ),
    "n_experts": Slide(
        N_("n_experts · feed-forward layers side by side"), values=EXPERTS, more=MORE_EXPERTS
    ),
    "n_active_experts": Slide(
        N_("n_active_experts · experts per token"),
        values=lambda s: range(1, min(s.config.n_experts, MOST_ACTIVE) + 1),
    ),
    "d_expert": Slide(
        N_("d_expert · width of one expert"),
        values=lambda s: (max(1, s.config.d_ff // part) for part in (1, 2, 4, 8, 16)),
    ),
    "n_shared_experts": Slide(
        N_("n_shared_experts · experts that every token uses"), values=(0, 1, 2, 4)
    ),
    "shared_expert_gate": Switch(
        N_("Gate on the shared experts (Qwen3-Next)"),
        N_(
            "A sigmoid computed from the token's vector scales the output of the shared "
            "experts: it sets how much of that output passes."
        ),
    ),
    "n_dense_layers": Slide(
        N_("n_dense_layers · leading layers without experts"),
        values=lambda s: range(min(s.config.n_layers, 4)),
    ),
    "router_kind": Pick(N_("Router scores")),
    "router_bias": Switch(N_("Router with a learned bias (gpt-oss)")),
    "normalize_top_k": Switch(N_("Weights of the chosen experts sum to 1")),
    "expert_capacity": Range(
        N_("expert_capacity · in multiples of an equal share (0: no limit)"), most=2.0, step=0.25
    ),
    "token_mixer": Pick(N_("Token mixer")),
    "attention_every": Slide(
        N_("attention_every · every n-th layer uses attention"), values=_every, label_of=_or_none
    ),
    "d_head": Slide(N_("d_head · width of one head"), values=_up_to(HEAD_WIDTHS, "d_model")),
    "d_kv_latent": Slide(
        N_("d_kv_latent · width of the cached latent (MLA), 0: off"),
        values=_up_to((0, *LATENT_WIDTHS), "d_model"),
    ),
    "d_rotary": Slide(
        N_("d_rotary · extra rotated width per head"), values=_up_to(HEAD_WIDTHS, "d_head")
    ),
    "d_value": Slide(N_("d_value · value width per head"), values=_up_to(HEAD_WIDTHS, "d_model")),
    "rotary_share": Range(N_("Rotated share of each head"), least=0.05),
    "local_window": Slide(
        N_("local_window · visible tokens on each side, current token included"),
        values=LOCAL_WINDOWS,
        label_of=_or_all,
    ),
    "global_every": Slide(
        N_("global_every · every n-th layer is global"), values=_every, label_of=_or_none
    ),
    "global_first": Switch(N_("The first layer is global (ModernBERT)")),
    "rope_scaling": Pick(N_("RoPE scaling for longer texts"), is_list=True),
    "rope_factor": Slide(
        N_("rope_factor · multiple of the trained length"), values=(1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    ),
    "rope_trained_len": Slide(
        N_("rope_trained_len · length of the training texts, in tokens"), values=TRAINED_LENGTHS
    ),
    "local_rope_base": Slide(
        N_("local_rope_base · RoPE base of local layers (0: same as in other layers)"),
        values=ROPE_BASES,
    ),
    "yarn_whole_pairs": Switch(
        N_("YaRN: ramp rounded to whole pairs"),
        N_(
            "Off: the number of rotations alone sets where the ramp begins and ends, even "
            "between pairs (gpt-oss)."
        ),
    ),
    "nope_every": Slide(
        N_("nope_every · every n-th layer lacks positional encoding (NoPE)"),
        values=_every,
        label_of=_or_none,
    ),
    "qk_norm": Switch(N_("Normalize queries and keys (QK norm)")),
    "qk_norm_whole": Switch(N_("QK norm over all heads at once (OLMo 2)")),
    "qk_norm_scale": Switch(N_("QK norms have learned scales")),
    "score_softcap": Slide(N_("Soft cap on scores (0: none)"), values=SOFTCAPS),
    "logit_softcap": Slide(N_("Soft cap on logits (0: none)"), values=SOFTCAPS),
    "residual_multiplier": Slide(
        N_("residual_multiplier · scales each sub-layer's output (Granite)"),
        values=(0.1, 0.22, 0.5, 0.75, 1.0, 1.5),
    ),
    "attention_multiplier": Slide(
        N_("attention_multiplier · scales the scores (0: 1 / √d_head)"), values=SCORE_MULTIPLIERS
    ),
    "n_mtp_modules": Slide(
        N_("n_mtp_modules · tokens predicted beyond the next (MTP)"), values=range(5)
    ),
    "embedding_multiplier": Slide(
        N_("embedding_multiplier · scales the embeddings"), values=(0.5, 1.0, 2.0, 6.0, 12.0, 24.0)
    ),
    "logits_scaling": Slide(
        N_("logits_scaling · divides the logits"), values=(1.0, 2.0, 4.0, 8.0, 16.0)
    ),
    "attention_sink": Switch(
        N_("Learned attention sink (gpt-oss)"),
        N_("One extra score per head that absorbs attention weight but passes nothing on."),
    ),
    "attention_gate": Pick(N_("Gate on the attention output")),
    "attention_bias": Switch(
        lambda c: (
            N_("Biases of queries, keys and values")
            if has.HEADS(c)
            else N_("Biases of gates and candidate (r, z, n)")
        )
    ),
    "out_bias": Switch(N_("Bias of the output projection")),
    "norm_affine": Switch(N_("Norms have learned scales")),
    "norm_bias": Switch(N_("Norms have learned shifts")),
    "first_norm": Switch(
        N_("Norm before the first attention"),
        N_("Off: the first layer's attention reads the stream directly (ModernBERT)."),
    ),
    "feed_forward_bias": Switch(N_("Biases in the feed-forward layer")),
    "gate_limit": Slide(
        N_("gate_limit · clamp on gate and up (0: none)"), values=(0.0, 0.5, 1.0, 2.0, 4.0, 7.0)
    ),
    "up_offset": Switch(N_("The gate multiplies 1 + up (gpt-oss)")),
    "dropout": Range(N_("Dropout"), most=0.9),
    "initialization": Pick(N_("Initialization"), is_list=True),
    "training": Switch(
        N_("Training mode"), N_("Dropout is on, and BatchNorm uses the statistics of this batch.")
    ),
    "seed": Number(N_("Seed")),
    "device": Pick(
        N_("Device"), values=lambda s: available_devices(), is_list=True, label_of=device_name
    ),
    "dtype": Pick(N_("Number format"), values=_dtypes, is_list=True, label_of=str),
}
# What stands beside the model.
BESIDE = CONTROLS.keys() - OPTIONS.keys()
# What a tokenizer decides where a model runs.
OF_COUNTED = {"vocab_size"}
# What a block alone does not have, though its configuration may say it.
OF_SEVERAL_LAYERS = {"n_layers", "first_norm"}
