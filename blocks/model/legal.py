"""What a configuration may be: every fault, each with the nearest value that is legal."""

import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from blocks.model.faults import N_, Fault
from blocks.model.kinds import Architecture, NormKind, NormPlacement, PositionKind, TokenMixer

LARGEST_SIZE, LARGEST_FLOAT = 1_000_000, 1e300
MOST_EXPERTS, LARGEST_CAPACITY, LARGEST_SCALE = 512, 64.0, 64.0
MOST_PARALLEL_NORMS, MOST_MTP_MODULES = 2, 8
MAY_BE_NONE = (
    *("n_segments", "position_offset", "local_window", "global_every", "nope_every"),
    *("n_shared_experts", "n_dense_layers", "d_kv_latent", "d_q_latent", "n_mtp_modules"),
    "attention_every",
)
SHARES = ("dropout", "norm_eps", "rope_base", "rotary_share", "expert_capacity", "routed_scale")
CAPS = (
    *("score_softcap", "logit_softcap", "local_rope_base", "attention_multiplier"),
    *("gate_limit", "rope_attention_factor"),
)
SCALES = ("embedding_multiplier", "residual_multiplier", "logits_scaling")
BOUNDS = {"local_rope_base": 1e9}
LARGEST_CAP, LARGEST_FACTOR = 1e6, 1e4
PAIRS = (
    "architecture",
    "d_model",
    "n_heads",
    "n_kv_heads",
    "d_head",
    "d_kv_latent",
    "d_rotary",
    "position_kind",
    "norm_placement",
    "parallel_norms",
    "attention_only",
    "token_mixer",
    "n_state_heads",
    "n_key_heads",
    "n_mtp_modules",
    "n_experts",
    "n_active_experts",
    "n_shared_experts",
    "n_expert_groups",
    "n_active_groups",
)
NOT_WITH_LATENTS = (
    *("local_window", "score_softcap", "attention_sink", "attention_gate"),
    "nope_every",
)
Values = Mapping[str, Any]


def faults(values: Values, kinds: Values, defaults: Values) -> list[Fault]:
    """Return the faults of these values, by field name, given each field's type and default.

    Sizes are looked at once the types are right, and pairs once the sizes are.
    """
    wrong = [name for name, value in values.items() if not is_of(kinds[name], value)]
    if wrong:
        return [type_fault(name, values[name], defaults[name]) for name in wrong]
    sizes = [*_size_faults(values, kinds)]
    if sizes:
        return sizes
    pairs = _pair_faults(**{name: values[name] for name in PAIRS})
    others = *_faults_beside_latents(values, defaults), *_scale_faults(values)
    return [*pairs, *others, *_factor_faults(values)]


def unknown_field(name: str) -> Fault:
    """What to say of a name that no configuration has."""
    text = N_("{name} is not a field of a configuration: remove it")
    return Fault(text, {"name": name})


def part_fault(name: str, default: Any) -> Fault:
    """What to say of a plain value in the place of a part, which has several fields."""
    first, value = next(iter(vars(default).items()))
    plain = str(value) if isinstance(value, StrEnum) else value
    text = N_("{name} has several fields: set each by its own name, for example {example}")
    return Fault(text, {"name": name, "example": f"{first}={plain!r}"})


def type_fault(name: str, value: object, default: object) -> Fault:
    """What to say of a value that is not of its field's type."""
    text = N_("{name} cannot be {value}: use {default}")
    choices = " / ".join(type(default)) if isinstance(default, StrEnum) else default
    values = {"name": name, "value": _brief(value), "default": choices}
    return Fault(text, values, {name: default})


def is_of(kind: Any, value: Any) -> bool:
    """Whether a value has the type of a field; numbers are finite."""
    if kind is float:
        return type(value) in (int, float) and abs(value) < LARGEST_FLOAT  # NaN is not
    return type(value) in (typing.get_args(kind) or (kind,))


def _brief(value: object, most: int = 40) -> str:
    """A value as it can be shown, however long it is."""
    if type(value) is int and value.bit_length() > 4 * most:
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1}…"
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def _size_faults(values: Values, kinds: Values) -> Iterator[Fault]:
    for name, value in values.items():
        is_size = type(value) is int and kinds[name] is not float
        least = 0 if name in MAY_BE_NONE else 1
        if is_size and not least <= value <= LARGEST_SIZE:
            mend = min(max(value, least), LARGEST_SIZE)
            text = N_("{name} ({value}) must be from {least} to {most}: use {mend}")
            bounds = {"least": least, "most": LARGEST_SIZE}
            said = {"name": name, "value": _brief(value), "mend": mend, **bounds}
            yield Fault(text, said, {name: mend})
    yield from _share_faults(**{name: values[name] for name in SHARES})
    for name in CAPS:
        most = BOUNDS.get(name, LARGEST_CAP)
        if not 0 <= values[name] <= most:
            text = N_("{name} ({value}) must be 0 (none) or a number up to {most}: use {mend}")
            mend = min(max(values[name], 0.0), most)
            said = {"name": name, "value": values[name], "most": most, "mend": mend}
            yield Fault(text, said, {name: mend})
    for name in SCALES:
        if not 0 < values[name] <= LARGEST_CAP:
            text = N_("{name} ({value}) must be above 0 and at most {most}: use {mend}")
            said = {"name": name, "value": values[name], "most": LARGEST_CAP, "mend": 1.0}
            yield Fault(text, said, {name: 1.0})
    if not 1 <= (factor := values["rope_factor"]) <= LARGEST_FACTOR:
        text = N_("rope_factor ({value}) must be from 1 to {most}: use {mend}")
        mend = min(max(factor, 1.0), LARGEST_FACTOR)
        said = {"value": factor, "most": LARGEST_FACTOR, "mend": mend}
        yield Fault(text, said, {"rope_factor": mend})


def _share_faults(
    dropout: float,
    norm_eps: float,
    rope_base: float,
    rotary_share: float,
    expert_capacity: float,
    routed_scale: float,
) -> Iterator[Fault]:
    if not 0 <= dropout < 1:
        text = N_("dropout ({value}) must be a probability from 0 to 0.99: use {mend}")
        mend = 0.0 if dropout < 0 else 0.99
        yield Fault(text, {"value": dropout, "mend": mend}, {"dropout": mend})
    if not 0 < norm_eps <= 1:
        text = N_("norm_eps ({value}) must be above 0 and at most 1: use {mend}")
        yield Fault(text, {"value": norm_eps, "mend": 1e-5}, {"norm_eps": 1e-5})
    if not 1 < rope_base <= 1e9:
        text = N_("rope_base ({value}) must be above 1 and at most 1e9: use {mend}")
        yield Fault(text, {"value": rope_base, "mend": 10_000.0}, {"rope_base": 10_000.0})
    if not 0 < rotary_share <= 1:
        text = N_(
            "rotary_share ({value}), the rotated share of a head, must be above 0 and at "
            "most 1: use {mend}"
        )
        yield Fault(text, {"value": rotary_share, "mend": 1.0}, {"rotary_share": 1.0})
    if not 0 <= expert_capacity <= LARGEST_CAPACITY:
        text = N_(
            "expert_capacity ({value}) must be 0 (no limit) or a factor up to {most}: use {mend}"
        )
        mend = min(max(expert_capacity, 0.0), LARGEST_CAPACITY)
        said = {"value": expert_capacity, "most": LARGEST_CAPACITY, "mend": mend}
        yield Fault(text, said, {"expert_capacity": mend})
    if not 0 < routed_scale <= LARGEST_SCALE:
        text = N_("routed_scale ({value}) must be above 0 and at most {most}: use {mend}")
        said = {"value": routed_scale, "most": LARGEST_SCALE, "mend": 1.0}
        yield Fault(text, said, {"routed_scale": 1.0})


def _pair_faults(
    architecture: Architecture,
    d_model: int,
    n_heads: int,
    n_kv_heads: int | None,
    d_head: int | None,
    d_kv_latent: int,
    d_rotary: int | None,
    position_kind: PositionKind,
    norm_placement: NormPlacement,
    parallel_norms: int,
    attention_only: bool,
    token_mixer: TokenMixer,
    n_state_heads: int | None,
    n_key_heads: int | None,
    n_mtp_modules: int,
    n_experts: int,
    n_active_experts: int,
    n_shared_experts: int,
    n_expert_groups: int,
    n_active_groups: int,
) -> Iterator[Fault]:
    is_latent = d_kv_latent > 0
    is_rope = position_kind is PositionKind.ROPE and not is_latent
    yield from _head_faults(d_model, n_heads, n_kv_heads, d_head, is_rope=is_rope)
    if is_latent:
        yield from _latent_faults(architecture, d_rotary)
    yield from _mixer_faults(architecture, token_mixer)
    n_states = n_state_heads or n_heads
    if n_key_heads is not None and n_states % n_key_heads:
        yield _divide_fault("n_key_heads", n_key_heads, "n_state_heads", n_states)
    yield from _mtp_faults(architecture, n_mtp_modules)
    if attention_only and norm_placement is NormPlacement.PARALLEL:
        text = N_(
            "“parallel” joins attention and feed-forward, but attention_only has only "
            "attention: use “pre”"
        )
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})
    elif architecture is Architecture.ENCODER_DECODER and norm_placement is NormPlacement.PARALLEL:
        text = N_("“parallel” joins two sub-layers, but a decoder layer has three: use “pre”")
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})
    if parallel_norms > MOST_PARALLEL_NORMS:
        text = N_("parallel_norms ({value}) must be 1 (shared) or 2 (one each): use 2")
        yield Fault(text, {"value": parallel_norms}, {"parallel_norms": MOST_PARALLEL_NORMS})
    yield from _many_faults(n_experts=n_experts, n_shared_experts=n_shared_experts)
    if 1 < n_experts <= MOST_EXPERTS:
        yield from _expert_faults(n_experts, n_active_experts, n_expert_groups, n_active_groups)


def _head_faults(
    d_model: int, n_heads: int, n_kv_heads: int | None, d_head: int | None, *, is_rope: bool
) -> Iterator[Fault]:
    if d_head is not None:
        if is_rope and d_head % 2:
            yield _odd_head(d_head)
    elif d_model % n_heads:
        yield _divide_fault("n_heads", n_heads, "d_model", d_model)
    elif is_rope and d_model // n_heads % 2:
        yield _odd_rotation(d_model, n_heads)
    if n_kv_heads is not None and n_heads % n_kv_heads:
        yield _divide_fault("n_kv_heads", n_kv_heads, "n_heads", n_heads)


def _mixer_faults(architecture: Architecture, token_mixer: TokenMixer) -> Iterator[Fault]:
    """A state is passed on from left to right: what reads both ways, or two texts, has none."""
    if architecture in (Architecture.BLOCK, Architecture.GPT):
        return
    if token_mixer is not TokenMixer.ATTENTION:
        text = N_(
            "{value} reads only from left to right, which does not suit the architecture "
            "{kind}: use {mend}"
        )
        mend = TokenMixer.ATTENTION
        said = {"value": str(token_mixer), "kind": str(architecture), "mend": str(mend)}
        yield Fault(text, said, {"token_mixer": mend})


def _mtp_faults(architecture: Architecture, n_mtp_modules: int) -> Iterator[Fault]:
    """Of what comes after the next token learns who predicts the next one."""
    reads_both_ways = architecture in (Architecture.ENCODER, Architecture.ENCODER_DECODER)
    if n_mtp_modules and reads_both_ways:
        text = N_(
            "n_mtp_modules ({value}) applies only to a GPT, not to the {kind} architecture: use 0"
        )
        said = {"value": n_mtp_modules, "kind": str(architecture)}
        yield Fault(text, said, {"n_mtp_modules": 0})
    elif n_mtp_modules > MOST_MTP_MODULES:
        text = N_("{name} ({value}) is more than can be built here: use {mend}")
        said = {"name": "n_mtp_modules", "value": n_mtp_modules, "mend": MOST_MTP_MODULES}
        yield Fault(text, said, {"n_mtp_modules": MOST_MTP_MODULES})


def _latent_faults(architecture: Architecture, d_rotary: int | None) -> Iterator[Fault]:
    if architecture is Architecture.ENCODER_DECODER:
        text = N_("Latent attention is for models that read one text: use d_kv_latent 0")
        yield Fault(text, mend={"d_kv_latent": 0})
    if d_rotary is not None and d_rotary % 2:
        text = N_("RoPE rotates dimensions in pairs, but d_rotary ({value}) is odd: use {mend}")
        yield Fault(text, {"value": d_rotary, "mend": d_rotary + 1}, {"d_rotary": d_rotary + 1})


def _faults_beside_latents(values: Values, defaults: Values) -> Iterator[Fault]:
    if not values["d_kv_latent"]:
        return
    for name in NOT_WITH_LATENTS:
        if values[name] != defaults[name]:
            text = N_("Latent attention does not support {name} ({value}) here: use {mend}")
            said = {"name": name, "value": str(values[name]), "mend": str(defaults[name])}
            yield Fault(text, said, {name: defaults[name]})


def _scale_faults(values: Values) -> Iterator[Fault]:
    """A norm of the write takes the multiplier away again."""
    after = values["norm_placement"] in (NormPlacement.SANDWICH, NormPlacement.RES_POST)
    is_normed = after and values["norm_kind"] is not NormKind.NONE
    if is_normed and values["residual_multiplier"] != 1:
        text = N_("A norm on a sub-layer's output undoes residual_multiplier ({value}): use 1")
        said = {"value": values["residual_multiplier"]}
        yield Fault(text, said, {"residual_multiplier": 1.0})


def factors(text: str) -> tuple[float, ...] | None:
    """The numbers of a text, with commas between; None where it has anything else."""
    try:
        found = tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError:
        return None
    return found if all(0 < each <= LARGEST_FACTOR for each in found) else None


def _factor_faults(values: Values) -> Iterator[Fault]:
    """Factors are numbers; that there is one for each pair, a narrower model need not know."""
    for name in ("rope_short_factors", "rope_long_factors"):
        if factors(values[name]) is None:
            text = N_(
                "{name} must be empty or a comma-separated list of numbers above 0 and at "
                "most {most}: leave it empty"
            )
            yield Fault(text, {"name": name, "most": LARGEST_FACTOR}, {name: ""})


def _many_faults(**sizes: int) -> Iterator[Fault]:
    for name, value in sizes.items():
        if value > MOST_EXPERTS:
            text = N_("{name} ({value}) is more than can be built here: use {mend}")
            said = {"name": name, "value": value, "mend": MOST_EXPERTS}
            yield Fault(text, said, {name: MOST_EXPERTS})


def _expert_faults(
    n_experts: int, n_active_experts: int, n_expert_groups: int, n_active_groups: int
) -> Iterator[Fault]:
    """Of a mixture: a token chooses among its experts, and its groups hold as many."""
    if n_experts < n_active_experts:
        text = N_("n_active_experts ({value}) is more than n_experts ({mend}): use {mend}")
        said = {"value": n_active_experts, "mend": n_experts}
        yield Fault(text, said, {"n_active_experts": n_experts})
    elif n_experts % n_expert_groups:
        yield _divide_fault("n_expert_groups", n_expert_groups, "n_experts", n_experts)
    else:
        least = -(-n_active_experts * n_expert_groups // n_experts)
        mend = min(max(n_active_groups, least), n_expert_groups)
        if n_active_groups != mend:
            text = N_(
                "n_active_groups ({value}) must be from {least} to {most} for the groups to "
                "hold the active experts: use {mend}"
            )
            said = {"value": n_active_groups, "least": least, "most": n_expert_groups, "mend": mend}
            yield Fault(text, said, {"n_active_groups": mend})


def _divide_fault(name: str, value: int, whole_name: str, whole: int) -> Fault:
    below, above = neighbours(divisors(whole), value)
    nearest = below if value - below <= above - value else above
    choices = str(below) if below == above else f"{below} / {above}"
    text = N_("{name} ({value}) does not divide {whole_name} ({whole}): use {choices}")
    values = {"name": name, "value": value, "whole_name": whole_name, "whole": whole}
    return Fault(text, {**values, "choices": choices}, {name: nearest})


def _odd_rotation(d_model: int, n_heads: int) -> Fault:
    """RoPE turns pairs of numbers, so a head must have an even width."""
    even = [n for n in divisors(d_model) if d_model // n % 2 == 0]
    values = {"d_head": d_model // n_heads}
    if not even:
        text = N_(
            "RoPE rotates dimensions in pairs, but d_head ({d_head}) is odd: use sinusoidal "
            "positional encoding"
        )
        return Fault(text, values, {"position_kind": PositionKind.SINUSOIDAL})
    mend = min(even, key=lambda n: abs(n - n_heads))
    text = N_("RoPE rotates dimensions in pairs, but d_head ({d_head}) is odd: use n_heads {mend}")
    return Fault(text, {**values, "mend": mend}, {"n_heads": mend})


def _odd_head(d_head: int) -> Fault:
    mend = d_head + 1
    text = N_("RoPE rotates dimensions in pairs, but d_head ({d_head}) is odd: use d_head {mend}")
    return Fault(text, {"d_head": d_head, "mend": mend}, {"d_head": mend})


def divisors(whole: int) -> list[int]:
    """Every number that divides `whole`, ascending."""
    small = [n for n in range(1, int(whole**0.5) + 1) if whole % n == 0]
    return sorted({*small, *(whole // n for n in small)})


def neighbours(choices: list[int], value: int) -> tuple[int, int]:
    """The choices next below and next above a value (twice the same at an end)."""
    below = [n for n in choices if n <= value] or choices[:1]
    above = [n for n in choices if n >= value] or choices[-1:]
    return below[-1], above[0]
