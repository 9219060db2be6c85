"""Changing something inside a model while it runs, to see what depends on it.

Each change replaces what passes one probe (see `blocks.model.probe`): a part writes nothing, or
what it writes on average, or what it wrote for another input. Nothing in the model is changed.
Ablation and activation patching as in Wang et al. 2022, section 2; Meng et al. 2022, section 2.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture, TokenMixer
from blocks.model.legal import type_fault
from blocks.model.probe import Replacement
from blocks.observe.recording import Recording


class InterventionKind(StrEnum):
    """What replaces the value of a part."""

    ZERO = "zero"
    MEAN = "mean"
    PATCH = "patch"


class Part(StrEnum):
    """A part of a layer; the value is the probe's name."""

    HEAD = "head_out"
    ATTENTION = "attention_out"
    CROSS_HEAD = "cross_head_out"
    CROSS_ATTENTION = "cross_attention_out"
    FEED_FORWARD = "feed_forward_out"
    STREAM = "resid_post"

    @property
    def is_head(self) -> bool:
        """Whether it is one of several heads."""
        return self in (Part.HEAD, Part.CROSS_HEAD)

    @property
    def is_cross(self) -> bool:
        """Whether only a decoder that reads a source has it."""
        return self in (Part.CROSS_HEAD, Part.CROSS_ATTENTION)


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """One change: of which part of which layer, at one token or (None) at all of them.

    `head` belongs to parts that are heads, `stack` (encoder or decoder) to a model that has both.
    Plain strings stand for enums. As text, which a link carries: "head_out.2.3:zero" is head 3 of
    layer 2 (both from 0), "decoder.attention_out.0:mean@5" what attention of the decoder writes at
    token 5. Raises `ConfigError` for what no model has.
    """

    part: Part
    layer: int
    kind: InterventionKind = InterventionKind.ZERO
    head: int | None = None
    token: int | None = None
    stack: str = ""

    def __post_init__(self) -> None:
        for name, usual in (("part", Part.HEAD), ("kind", InterventionKind.ZERO)):
            value = getattr(self, name)
            if value not in [*type(usual)]:
                raise ConfigError([type_fault(name, value, usual)])
            object.__setattr__(self, name, type(usual)(value))
        numbers = {"layer": self.layer, "head": self.head, "token": self.token}
        for name, number in numbers.items():
            if number is not None and not hasattr(number, "__index__"):
                raise ConfigError([type_fault(name, number, 0)])
            if number is not None and number < 0:
                text = N_("{name} ({value}) counts from 0: use 0 or more")
                raise ConfigError([Fault(text, {"name": name, "value": number})])
        if self.head is not None and not self.part.is_head:
            text = N_(
                "{part} does not belong to a single head: leave head out, or change {head_part}"
            )
            values = {"part": str(self.part), "head_part": str(Part.HEAD)}
            raise ConfigError([Fault(text, values)])

    @property
    def path(self) -> str:
        """The probe whose tensor is changed."""
        return f"{self._stack}layers.{self.layer}.{self.part}"

    @property
    def _stack(self) -> str:
        return f"{self.stack}." if self.stack else ""

    def __str__(self) -> str:
        head = "" if self.head is None else f".{self.head}"
        token = "" if self.token is None else f"@{self.token}"
        return f"{self._stack}{self.part}.{self.layer}{head}:{self.kind}{token}"

    def fits(self, config: ModelConfig, seq_len: int) -> bool:
        """Whether this model, on that many tokens, has the place that is changed."""
        has_stack = self.stack in stacks(config)
        has_part = self.part in part_choices(config, self.stack)
        has_head = self.head is None or self.head < config.n_heads_in(self.layer)
        has_token = self.token is None or self.token < seq_len
        is_below = self.layer < n_layers(config, self.stack)
        return has_stack and has_part and has_head and has_token and is_below

    def changed(self, x: Tensor, other: Tensor | None = None) -> Tensor:
        """Return the replacement of `x`: (batch, seq, d_model), or (batch, n_heads, seq, d_head).

        `other` is what passed there for the other input; of two lengths the first tokens meet.
        Raises `ConfigError` where there is no such head or token.
        """
        place, new = self.place(x, x if other is None else other), x.clone()
        if self.kind is InterventionKind.ZERO:
            new[place] = 0
        elif self.kind is InterventionKind.MEAN:
            new[place] = x.mean(dim=-2, keepdim=True).expand_as(x)[place]
        elif other is not None:
            new[place] = other[place]
        return new

    def place(self, x: Tensor, other: Tensor, n: int = 0) -> tuple[slice, ...]:
        """Where `x` is changed: rows, [heads,] tokens, as far as `other` has so many.

        `n`: tokens of the text, where `x` has more. Raises `ConfigError` where there is no such
        head or token.
        """
        n, heads, tokens = n or x.shape[-2], slice(None), slice(None)
        if self.head is not None:
            _check_place("head", self.head, x.shape[1])
            heads = slice(self.head, self.head + 1)
        if self.token is not None:
            _check_place("token", self.token, n)
            tokens = slice(self.token, self.token + 1)
        met = slice(*tokens.indices(min(n, other.shape[-2])))
        return (slice(None), heads, met) if self.part.is_head else (slice(None), met)


def _check_place(name: str, number: int, n: int) -> None:
    if number >= n:
        text = N_("{name} ({value}) does not exist here: use 0 to {last}")
        raise ConfigError([Fault(text, {"name": name, "value": number, "last": n - 1})])


TEXT = re.compile(r"(?:(encoder|decoder)\.)?(\w+)\.(\d{1,4})(?:\.(\d{1,5}))?:(\w+)(?:@(\d{1,5}))?")


def read_interventions(text: str) -> tuple[Intervention, ...]:
    """What `written` wrote. ValueError where the text is anything else."""
    found = (_read(part) for part in text.split(",") if part)
    return tuple(dict.fromkeys(found))


def _read(text: str) -> Intervention:
    match = TEXT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    stack, part, layer, head, kind, token = match.groups()
    if Part(part).is_head is (head is None) or (Part(part).is_cross and stack != "decoder"):
        raise ValueError(text)
    return Intervention(
        part=Part(part),
        layer=int(layer),
        head=None if head is None else int(head),
        kind=InterventionKind(kind),
        token=None if token is None else int(token),
        stack=stack or "",
    )


def written(interventions: Iterable[Intervention]) -> str:
    """Write all interventions as one text."""
    return ",".join(map(str, interventions))


def replacements(
    interventions: Intervention | Iterable[Intervention], other: Recording | None = None
) -> Mapping[str, Replacement]:
    """What `record(..., replace=...)` takes; several changes of one tensor come one after another.

    `other`, where something is patched: what passed the same probes for the other input. Raises
    `ConfigError` where it is missing.
    """
    found: dict[str, Replacement] = {}
    for each in [interventions] if isinstance(interventions, Intervention) else interventions:
        source = patched_from(each, other) if _is_patch(each) else None
        step = partial(each.changed, other=source)
        found[each.path] = _after(found[each.path], step) if each.path in found else step
    return found


def lasting(interventions: Iterable[Intervention]) -> tuple[Intervention, ...]:
    """Those that hold for tokens still to be written: parts that are off at every token."""
    off = (each for each in interventions if each.kind is InterventionKind.ZERO)
    return tuple(each for each in off if each.token is None)


def patched_from(patch: Intervention, other: Recording | None) -> Tensor:
    """What passed there for the other input. Raises `ConfigError` where nothing says that."""
    if other is None:
        text = N_("{change} takes values from another input: add other=record(model, other_input)")
        raise ConfigError([Fault(text, {"change": str(patch)})])
    return other.tensor(patch.path)


def patched_paths(interventions: Iterable[Intervention]) -> set[str]:
    """The probes whose tensors must be known of the other input."""
    return {each.path for each in interventions if _is_patch(each)}


def _is_patch(intervention: Intervention) -> bool:
    return intervention.kind is InterventionKind.PATCH


def _after(first: Replacement, second: Callable[[Tensor], Tensor]) -> Replacement:
    return lambda x: second(first(x))


def stacks(config: ModelConfig) -> tuple[str, ...]:
    """The halves of an encoder–decoder; any other model is one, without a name."""
    is_two = config.architecture is Architecture.ENCODER_DECODER
    return ("encoder", "decoder") if is_two else ("",)


def n_layers(config: ModelConfig, stack: str) -> int:
    """Layers of one of the `stacks`."""
    return config.n_decoder_layers if stack == "decoder" else config.n_layers


def part_choices(config: ModelConfig, stack: str = "") -> tuple[Part, ...]:
    """The parts that all layers of this configuration have."""
    absent = {part for part in Part if part.is_cross and stack != "decoder"}
    if config.attention_only:
        absent.add(Part.FEED_FORWARD)
    if config.token_mixer is TokenMixer.GRU and not config.attends:
        absent.add(Part.HEAD)
    return tuple(part for part in Part if part not in absent)


@lru_cache(maxsize=16)
def heads_of(config: ModelConfig, stack: str = "") -> tuple[Intervention, ...]:
    """Every head and every sub-layer switched off, one at a time; layer by layer."""
    parts = [part for part in part_choices(config, stack) if part is not Part.STREAM]
    parts.sort(key=lambda part: not part.is_head)
    return tuple(
        Intervention(part=part, layer=layer, head=head, stack=stack)
        for layer in range(n_layers(config, stack))
        for part in parts
        for head in (range(config.n_heads_in(layer)) if part.is_head else (None,))
    )


def without_cross_attention(
    config: ModelConfig, layers: Iterable[int] | None = None
) -> tuple[Intervention, ...]:
    """Cross-attention writes nothing: in these layers of the decoder, or in all of them."""
    chosen = range(config.n_decoder_layers) if layers is None else layers
    part = Part.CROSS_ATTENTION
    return tuple(Intervention(part=part, layer=layer, stack="decoder") for layer in chosen)
