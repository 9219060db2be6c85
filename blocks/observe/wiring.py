"""How the stages of a block hang together: what each one reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement


class PartKind(StrEnum):
    """What does the work of a stage."""

    EMBEDDING = "embedding"
    STREAM = "stream"
    POSITION = "position"
    NORM = "norm"
    ATTENTION = "attention"
    CROSS_ATTENTION = "cross_attention"
    FEED_FORWARD = "feed_forward"
    RESIDUAL = "residual"


@dataclass(frozen=True)
class Step:
    """A stage, what does its work, and the stages it reads."""

    stage: str
    part: PartKind
    reads: tuple[str, ...]


def wiring(config: ModelConfig, layer: int = 0, *, stack: str = "") -> tuple[Step, ...]:
    """The stages of one layer in the order in which they pass, as `record` sees them.

    `stack` is the half of an encoder–decoder: a layer of its decoder has three sub-layers.
    """
    return tuple(_Wiring(config, layer, is_decoder=stack == "decoder").steps())


def kept_stages(config: ModelConfig) -> set[str]:
    """What a recording keeps by name: every stage of every layer."""
    if config.architecture is not Architecture.ENCODER_DECODER:
        return {step.stage for step in wiring(config)}
    steps = (*wiring(config), *wiring(config, stack="decoder"))
    ends = {"embedding", "embedding_norm", "final_norm"}
    return {*ends, *(step.stage for step in steps)}


def frame(config: ModelConfig, layer: int = 0, *, stack: str = "") -> pd.DataFrame:
    """Return the wiring as a frame, one row per stage: stage, part, reads."""
    found = wiring(config, layer, stack=stack)
    steps = [(step.stage, str(step.part), step.reads) for step in found]
    return pd.DataFrame(steps, columns=["stage", "part", "reads"])


@dataclass(frozen=True)
class _Wiring:
    config: ModelConfig
    layer: int
    is_decoder: bool = False

    def steps(self) -> Iterator[Step]:
        yield from self.entry()
        if self.config.norm.norm_placement is NormPlacement.PARALLEL:
            yield from self.parallel()
        else:
            yield from self.sublayers()

    def entry(self) -> Iterator[Step]:
        """What the layer reads: a block's own input, or the stream of a whole model."""
        is_whole = self.config.architecture.reads_tokens
        if self.layer > 0:
            yield Step("resid_pre", PartKind.STREAM, ())
        elif is_whole or not self.config.position.position_kind.is_added:
            yield Step("resid_pre", PartKind.EMBEDDING, ())
        else:
            yield Step("input", PartKind.EMBEDDING, ())
            yield Step("resid_pre", PartKind.POSITION, ("input",))

    def sublayers(self) -> Iterator[Step]:
        """One after the other; the last one writes `resid_post`."""
        names = ["attention", "cross_attention"] if self.is_decoder else ["attention"]
        streams = ["resid_mid", "resid_cross"][: len(names)]
        if not self.config.attention_only:
            names.append("feed_forward")
        streams = [*streams[: len(names) - 1], "resid_post"]
        for name, x, stream in zip(names, ("resid_pre", *streams), streams, strict=False):
            yield from self.sublayer(name, x, stream)

    def sublayer(self, name: str, x: str, stream: str) -> Iterator[Step]:
        """One sub-layer, its norms, and its addition to the stream."""
        placement, write, read = self.config.norm.norm_placement, f"{name}_out", x
        is_post = placement is NormPlacement.POST
        if self.has_norm and placement in (NormPlacement.PRE, NormPlacement.SANDWICH):
            read = f"{name}_norm"
            yield Step(read, PartKind.NORM, (x,))
        yield Step(write, PartKind(name), (read,))
        if self.has_norm and placement in (NormPlacement.SANDWICH, NormPlacement.RES_POST):
            yield Step(f"{write}_norm", PartKind.NORM, (write,))
            write = f"{write}_norm"
        if self.has_norm and is_post:
            yield Step(f"{name}_sum", PartKind.RESIDUAL, self.added(x, write))
            yield Step(stream, PartKind.NORM, (f"{name}_sum",))
        else:
            yield Step(stream, PartKind.RESIDUAL, self.added(x, write))

    def parallel(self) -> Iterator[Step]:
        """Both sub-layers read the stream, through one norm or each its own, and write to it."""
        reads = self.parallel_reads()
        for norm in dict.fromkeys(reads) if self.has_norm else ():
            yield Step(norm, PartKind.NORM, ("resid_pre",))
        yield Step("attention_out", PartKind.ATTENTION, reads[:1])
        yield Step("feed_forward_out", PartKind.FEED_FORWARD, reads[1:])
        both = self.added("resid_pre", "attention_out", "feed_forward_out")
        yield Step("resid_post", PartKind.RESIDUAL, both)

    def parallel_reads(self) -> tuple[str, str]:
        """What attention reads, and what the feed-forward layer does."""
        if not self.has_norm:
            return "resid_pre", "resid_pre"
        is_shared = self.config.norm.parallel_norms == 1
        return ("norm", "norm") if is_shared else ("attention_norm", "feed_forward_norm")

    def added(self, x: str, *writes: str) -> tuple[str, ...]:
        return (x, *writes) if self.config.norm.residual else writes

    @property
    def has_norm(self) -> bool:
        return self.config.norm.norm_kind is not NormKind.NONE
