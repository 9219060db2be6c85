"""What goes into an encoder–decoder: two texts, and three masks."""

from typing import NamedTuple

import torch
from torch import Tensor

from blocks.model.masks import causal, cross_padding, padding


class SourceTarget(NamedTuple):
    """Token ids of the text that is read, (batch, source), and of the one that is written so far.

    The target is (batch, target) and begins with a start token, so that each of its tokens has
    one to come after.
    """

    source: Tensor
    target: Tensor

    @property
    def device(self) -> torch.device:
        """The device that holds both."""
        return self.source.device


class SourceTargetMask(NamedTuple):
    """The masks of the three attentions; True means: may attend.

    `source` among the source (query and key), `target` among the target (None: causal), `cross`
    from the target (query) to the source (key); each broadcasts to (batch, n_heads, query, key).
    """

    source: Tensor | None = None
    target: Tensor | None = None
    cross: Tensor | None = None


def source_target_mask(is_source: Tensor, is_target: Tensor) -> SourceTargetMask:
    """No one sees padding, and no target token what comes after it.

    `is_source` is (batch, source) and `is_target` (batch, target), both False on padding.
    """
    target_len = is_target.shape[1]
    return SourceTargetMask(
        source=padding(is_source),
        target=causal(target_len, is_target.device) & padding(is_target),
        cross=cross_padding(target_len, is_source),
    )
