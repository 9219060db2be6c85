"""What a configuration may be: every fault, each with the nearest value that is legal."""

import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from blocks.model.faults import N_, Fault
from blocks.model.kinds import Architecture, NormPlacement, PositionKind

LARGEST_SIZE, LARGEST_FLOAT = 1_000_000, 1e300
MOST_EXPERTS, LARGEST_CAPACITY = 64, 64.0
MOST_PARALLEL_NORMS = 2
MAY_BE_NONE = ("n_segments", "position_offset")
SHARES = ("dropout", "norm_eps", "rope_base", "rotary_share", "expert_capacity")
PAIRS = (
    "architecture",
    "d_model",
    "n_heads",
    "n_kv_heads",
    "d_head",
    "position_kind",
    "norm_placement",
    "parallel_norms",
    "attention_only",
    "n_experts",
    "n_active_experts",
)
Values = Mapping[str, Any]


def faults(values: Values, kinds: Values, defaults: Values) -> list[Fault]:
    """What is wrong with these values, by field name, given each field's type and default.

    Sizes are looked at once the types are right, and pairs once the sizes are.
    """
    wrong = [name for name, value in values.items() if not is_of(kinds[name], value)]
    if wrong:
        return [type_fault(name, values[name], defaults[name]) for name in wrong]
    sizes = [*_size_faults(values, kinds)]
    return sizes or [*_pair_faults(**{name: values[name] for name in PAIRS})]


def unknown_field(name: str) -> Fault:
    """What to say of a name that no configuration has."""
    text = N_("{name} is not a field of a configuration: remove it")
    return Fault(text, {"name": name})


def part_fault(name: str, default: Any) -> Fault:
    """What to say of a plain value in the place of a part, which has several fields."""
    first, value = next(iter(vars(default).items()))
    plain = str(value) if isinstance(value, StrEnum) else value
    text = N_("{name} has several fields: give each by its own name, for example {example}")
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
            text = N_("{name} ({value}) lies outside {least} to {most}: use {mend}")
            bounds = {"least": least, "most": LARGEST_SIZE}
            said = {"name": name, "value": _brief(value), "mend": mend, **bounds}
            yield Fault(text, said, {name: mend})
    yield from _share_faults(**{name: values[name] for name in SHARES})


def _share_faults(
    dropout: float, norm_eps: float, rope_base: float, rotary_share: float, expert_capacity: float
) -> Iterator[Fault]:
    if not 0 <= dropout < 1:
        text = N_("dropout ({value}) is the share dropped, 0 to 0.99: use {mend}")
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
            "rotary_share ({value}) is the share of a head that is rotated, at most 1: use {mend}"
        )
        yield Fault(text, {"value": rotary_share, "mend": 1.0}, {"rotary_share": 1.0})
    if not 0 <= expert_capacity <= LARGEST_CAPACITY:
        text = N_("expert_capacity ({value}) is 0 (no limit) or a factor up to {most}: use {mend}")
        mend = min(max(expert_capacity, 0.0), LARGEST_CAPACITY)
        said = {"value": expert_capacity, "most": LARGEST_CAPACITY, "mend": mend}
        yield Fault(text, said, {"expert_capacity": mend})


def _pair_faults(
    architecture: Architecture,
    d_model: int,
    n_heads: int,
    n_kv_heads: int | None,
    d_head: int | None,
    position_kind: PositionKind,
    norm_placement: NormPlacement,
    parallel_norms: int,
    attention_only: bool,
    n_experts: int,
    n_active_experts: int,
) -> Iterator[Fault]:
    is_rope = position_kind is PositionKind.ROPE
    if d_head is not None:
        if is_rope and d_head % 2:
            yield _odd_head(d_head)
    elif d_model % n_heads:
        yield _divide_fault("n_heads", n_heads, "d_model", d_model)
    elif is_rope and d_model // n_heads % 2:
        yield _odd_rotation(d_model, n_heads)
    if n_kv_heads is not None and n_heads % n_kv_heads:
        yield _divide_fault("n_kv_heads", n_kv_heads, "n_heads", n_heads)
    if attention_only and norm_placement is NormPlacement.PARALLEL:
        text = N_("parallel joins attention and feed-forward, and attention_only has one: use pre")
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})
    elif architecture is Architecture.ENCODER_DECODER and norm_placement is NormPlacement.PARALLEL:
        text = N_("parallel joins two sub-layers, and a decoder layer has three: use pre")
        yield Fault(text, mend={"norm_placement": NormPlacement.PRE})
    if parallel_norms > MOST_PARALLEL_NORMS:
        text = N_("parallel_norms ({value}) is 1 (shared) or 2 (one each): use 2")
        yield Fault(text, {"value": parallel_norms}, {"parallel_norms": MOST_PARALLEL_NORMS})
    yield from _expert_faults(n_experts, n_active_experts)


def _expert_faults(n_experts: int, n_active_experts: int) -> Iterator[Fault]:
    if n_experts > MOST_EXPERTS:
        text = N_("n_experts ({value}) is more than are built here: use {mend}")
        said = {"value": n_experts, "mend": MOST_EXPERTS}
        yield Fault(text, said, {"n_experts": MOST_EXPERTS})
    elif 1 < n_experts < n_active_experts:
        text = N_("n_active_experts ({value}) is more than n_experts ({mend}): use {mend}")
        said = {"value": n_active_experts, "mend": n_experts}
        yield Fault(text, said, {"n_active_experts": n_experts})


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
        text = N_("RoPE rotates pairs, and d_head ({d_head}) is odd: use sinusoidal positions")
        return Fault(text, values, {"position_kind": PositionKind.SINUSOIDAL})
    mend = min(even, key=lambda n: abs(n - n_heads))
    text = N_("RoPE rotates pairs, and d_head ({d_head}) is odd: use n_heads {mend}")
    return Fault(text, {**values, "mend": mend}, {"n_heads": mend})


def _odd_head(d_head: int) -> Fault:
    mend = d_head + 1
    text = N_("RoPE rotates pairs, and d_head ({d_head}) is odd: use d_head {mend}")
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
