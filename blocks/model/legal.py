"""What a configuration may be: every fault, each with the nearest value that is legal."""

import typing
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from blocks.model.faults import N_, Fault, unknown_fault
from blocks.model.kinds import Architecture, NormPlacement, PositionKind
from blocks.model.options import Option, brief

LARGEST_FLOAT = 1e300


def faults(config: Any, options: Mapping[str, Option]) -> list[Fault]:
    """Return the faults of a configuration, given its options.

    Bounds are looked at once the types are right, and what goes together once the bounds are kept.
    """
    found = [(each, each.read(config)) for each in options.values()]
    wrong = [(each, value) for each, value in found if not is_of(each.kind, value)]
    if wrong:
        return [type_fault(each.name, value, each.default) for each, value in wrong]
    checks = (
        each.check(each.name, value, each.default)
        for each, value in found
        if each.check and value is not None
    )
    if outside := [fault for fault in checks if fault]:
        return outside
    return [*_pair_faults(config), *_barred(config, found)]


def _barred(config: Any, found: list[tuple[Option, Any]]) -> Iterator[Fault]:
    """Yield the faults of options that must keep their default beside others."""
    for each, value in found:
        if each.bar and value != each.default and each.bar.where(config):
            said = {"name": each.name, "value": str(value), "mend": str(each.default)}
            kind = {"kind": str(config.architecture)}
            yield Fault(each.bar.text, said | kind, {each.name: each.default})


def unknown_field(name: str, known: Iterable[str]) -> Fault:
    """Return the fault of a name that is none of the fields, with those that may be meant."""
    text = N_("{name} is not a field: the nearest names are {names}")
    return unknown_fault(text, name, known)


def part_fault(name: str, default: Any) -> Fault:
    """Return the fault of a plain value in the place of a part, which has several fields."""
    first, value = next(iter(vars(default).items()))
    plain = str(value) if isinstance(value, StrEnum) else value
    text = N_("{name} has several fields: set each by its own name, for example {example}")
    return Fault(text, {"name": name, "example": f"{first}={plain!r}"})


def type_fault(name: str, value: object, default: object) -> Fault:
    """Return the fault of a value that is not of its field's type."""
    text = N_("{name} cannot be {value}: use {default}")
    mend = _meant(value, default)
    choices = " / ".join(type(default)) if isinstance(default, StrEnum) else mend
    values = {"name": name, "value": brief(value), "default": choices}
    return Fault(text, values, {name: mend})


def _meant(value: Any, default: Any) -> Any:
    """A whole number that was written as 4.0 or "4"; else the default."""
    if type(default) is int and is_of(float, value) and value == int(value):
        return int(value)
    return int(value) if type(default) is int and str(value).isdecimal() else default


def is_of(kind: Any, value: Any) -> bool:
    """Whether a value has the type of a field; numbers are finite."""
    if kind is float:
        return type(value) in (int, float) and abs(value) < LARGEST_FLOAT  # NaN is not
    return type(value) in (typing.get_args(kind) or (kind,))


def _pair_faults(config: Any) -> Iterator[Fault]:
    yield from _head_faults(config)
    if config.d_kv_latent and (config.latent.d_rotary or 0) % 2:
        text = N_("RoPE rotates dimensions in pairs, but d_rotary ({value}) is odd: use {mend}")
        value = config.latent.d_rotary
        yield Fault(text, {"value": value, "mend": value + 1}, {"d_rotary": value + 1})
    if config.n_state_heads % config.n_key_heads:
        names = "n_key_heads", "n_state_heads"
        yield _divide_fault(names[0], config.n_key_heads, names[1], config.n_state_heads)
    yield from _placement_faults(config)
    if config.n_experts > 1:
        yield from _expert_faults(config)


def _head_faults(config: Any) -> Iterator[Fault]:
    is_rope = config.position.position_kind is PositionKind.ROPE and not config.d_kv_latent
    own, n_kv_heads = config.attention.d_head, config.attention.n_kv_heads
    if own is None and config.d_model % config.n_heads:
        yield _divide_fault("n_heads", config.n_heads, "d_model", config.d_model)
    elif is_rope and config.d_head % 2:
        yield _odd_rotation(config.d_model, config.n_heads) if own is None else _odd_head(own)
    if n_kv_heads is not None and config.n_heads % n_kv_heads:
        yield _divide_fault("n_kv_heads", n_kv_heads, "n_heads", config.n_heads)


def _placement_faults(config: Any) -> Iterator[Fault]:
    """Parallel is about two parts."""
    if config.norm.norm_placement is not NormPlacement.PARALLEL:
        return
    if config.attention_only:
        text = N_(
            "“parallel” puts attention and feed-forward side by side, but attention_only has "
            "only attention: use “pre”"
        )
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})
    elif config.architecture is Architecture.ENCODER_DECODER:
        text = N_(
            "“parallel” puts two sub-layers side by side, but a decoder layer has three: use “pre”"
        )
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})


def _expert_faults(config: Any) -> Iterator[Fault]:
    """Check a mixture: a token chooses among its experts, and its groups hold as many."""
    n_experts, n_active = config.n_experts, config.n_active_experts
    n_groups, n_active_groups = config.experts.n_expert_groups, config.experts.n_active_groups
    if n_experts < n_active:
        text = N_("n_active_experts ({value}) is more than n_experts ({mend}): use {mend}")
        said = {"value": n_active, "mend": n_experts}
        yield Fault(text, said, {"n_active_experts": n_experts})
    elif n_experts % n_groups:
        yield _divide_fault("n_expert_groups", n_groups, "n_experts", n_experts)
    else:
        least = -(-n_active * n_groups // n_experts)
        mend = min(max(n_active_groups, least), n_groups)
        if n_active_groups != mend:
            text = N_(
                "n_active_groups ({value}) must be from {least} to {most} for the groups to "
                "hold the active experts: use {mend}"
            )
            said = {"value": n_active_groups, "least": least, "most": n_groups, "mend": mend}
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
