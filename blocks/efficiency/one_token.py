"""One token of one row: what a reader waits for while a model writes."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from blocks.cost.pass_time import FilledCache
from blocks.model.config import ModelConfig
from blocks.model.kv_cache import Cache, KVCache, StateCache
from blocks.model.models import GPT, EncoderDecoder, Model
from blocks.model.source_target import SourceTarget
from blocks.training.task import Batch


class HeldState(StateCache):
    """The state after so many tokens, whatever is read next."""

    def __init__(self, cache: StateCache):
        super().__init__()
        self.state, self.seen = cache.state, cache.seen

    def keep(self, state: tuple[Tensor, ...], n_new: int) -> None:
        """Leave it as it is."""


@torch.inference_mode()
def one_more_token(model: Model, config: ModelConfig, batch: Batch) -> Callable[[], Tensor]:
    """What reads the last token of the first row of a batch, and gives its logits.

    A GPT and an encoder–decoder have all that stands before it in a KV cache, the same at each
    call: (1, 1, vocab_size). An encoder has none and reads its row whole: (1, seq, vocab_size).
    Masks are left out: what fills up a row is read as if it were text.
    """
    step = _step(model, config, batch.token_ids)

    @torch.inference_mode()
    def read() -> Tensor:
        return step()

    return read


def _step(model: Model, config: ModelConfig, ids: Tensor | SourceTarget) -> Callable[[], Tensor]:
    if isinstance(model, EncoderDecoder) and isinstance(ids, SourceTarget):
        read, row = partial(model.decode, memory=model.encode(ids.source[:1])), ids.target[:1]
    elif isinstance(model, GPT) and isinstance(ids, Tensor):
        read, row = partial(model), ids[:1]
    else:
        return partial(model, ids[:1])
    cache = KVCache(config)
    read(row[:, :-1], cache=cache)
    cache.layers = tuple(map(_held, cache.layers))
    return partial(read, row[:, -1:], cache=cache)


def _held(cache: Cache) -> Cache:
    """With room for one token, which each that is read takes anew."""
    if isinstance(cache, StateCache):
        return HeldState(cache)
    held = FilledCache(*(torch.cat([each, each[:, :, -1:]], dim=2) for each in cache.tensors))
    held.seen = cache.seen
    return held
