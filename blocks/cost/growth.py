"""Where the size of a model goes as it grows: shares of its parts over width and depth."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from blocks.cost.breakdown import Kind, count_kinds
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError

FACTORS = tuple(2 ** (i / 2) for i in range(-8, 11))
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)


class Share(StrEnum):
    """Groups of parameters that are compared as a model grows."""

    EMBEDDINGS = "embeddings"
    ATTENTION = "attention"
    MIXER = "mixer"
    FEED_FORWARD = "feed_forward"
    REST = "rest"


SHARE_OF: Mapping[Kind, Share] = {
    Kind.EMBEDDING: Share.EMBEDDINGS,
    Kind.POSITION: Share.EMBEDDINGS,
    Kind.OUTPUT: Share.EMBEDDINGS,
    Kind.ATTENTION: Share.ATTENTION,
    Kind.CROSS_ATTENTION: Share.ATTENTION,
    Kind.MIXER: Share.MIXER,
    Kind.FEED_FORWARD: Share.FEED_FORWARD,
    Kind.ROUTER: Share.FEED_FORWARD,
    Kind.NORM: Share.REST,
    Kind.POOLER: Share.REST,
    Kind.MTP: Share.REST,
}


@dataclass(frozen=True, eq=False)
class GrowthFacts:
    """Shares as a model grows: `over` a size, by its name (see `over_width`), and its own size."""

    over: dict[str, pd.DataFrame]
    own: dict[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """The share of each at the model's own size."""
        table = self.over["d_model"].set_index("d_model")
        return {str(share): float(table[share].loc[self.own["d_model"]]) for share in Share}

    def at_the_end(self, size: str) -> tuple[int, float]:
        """The largest size, and what embeddings hold there."""
        last = self.over[size].iloc[-1]
        return int(last[size]), float(last[Share.EMBEDDINGS])


def growth_facts(config: ModelConfig) -> GrowthFacts:
    """Count a model at other widths, and at other depths."""
    over = {"d_model": over_width(config), "n_layers": over_depth(config)}
    return GrowthFacts(over, {size: getattr(config, size) for size in over})


def shares(config: ModelConfig) -> dict[Share, int]:
    """Parameters of each share; the sum is exact."""
    counts = dict.fromkeys(Share, 0)
    for kind, count in count_kinds(config).items():
        counts[SHARE_OF[kind]] += count
    return counts


def over_width(config: ModelConfig) -> pd.DataFrame:
    """From a sixteenth of the width to 32 times it: d_model, total, and the share of each.

    d_ff, and heads of a width of their own, grow in step; the number of heads stays.
    """
    step = config.n_heads * (1 if config.attention.d_head else 2)
    near = {max(1, round(factor * config.d_model / step)) * step for factor in FACTORS}
    return _table("d_model", {width: _as_wide(config, width) for width in near}, config)


def over_depth(config: ModelConfig) -> pd.DataFrame:
    """From one layer to 192: n_layers, total, and the share of each. Both stacks in step."""
    return _table("n_layers", {depth: _as_deep(config, depth) for depth in DEPTHS}, config)


def _table(name: str, sizes: Mapping[int, ModelConfig | None], own: ModelConfig) -> pd.DataFrame:
    known = {size: config for size, config in sizes.items() if config is not None}
    known[getattr(own, name)] = own
    rows = []
    for size in sorted(known):
        counts = shares(known[size])
        total = sum(counts.values())
        parts = {str(share): count / max(1, total) for share, count in counts.items()}
        rows.append({name: size, "total": float(total), **parts})
    return pd.DataFrame(rows)


def _as_wide(config: ModelConfig, width: int) -> ModelConfig | None:
    d_ff, d_head = config.feed_forward.d_ff, config.attention.d_head
    d_expert = config.experts.d_expert
    changes = {
        "d_model": width,
        "d_ff": d_ff and max(1, round(d_ff * width / config.d_model)),
        "d_expert": d_expert and max(1, round(d_expert * width / config.d_model)),
        "d_head": d_head and 2 * max(1, round(d_head * width / config.d_model / 2)),
    }
    return _changed(config, changes)


def _as_deep(config: ModelConfig, depth: int) -> ModelConfig | None:
    own = config.encoder_decoder.n_decoder_layers
    target = own and max(1, round(own * depth / config.n_layers))
    return _changed(config, {"n_layers": depth, "n_decoder_layers": target})


def _changed(config: ModelConfig, changes: Mapping[str, int | None]) -> ModelConfig | None:
    """None where that cannot be: larger than any configuration."""
    try:
        return config.replace(**changes)
    except ConfigError:
        return None
