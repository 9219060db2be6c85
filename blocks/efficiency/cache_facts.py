"""What a model still can do that reads and writes through a rounded KV cache, measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from operator import eq
from typing import Any

from blocks.efficiency.cache_rounding import HALF, CacheAxis, CacheRounding, RoundedCache
from blocks.efficiency.cached_reading import CachedReader, Ids, written_on
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.own_text import answers
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kv_cache import KVCache
from blocks.model.models import GPT, EncoderDecoder
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.training.pairs import PairTask
from blocks.training.task import IGNORED

N_TEXTS, GIVEN = 8, 4  # texts that are written; of a row, one part in so many is given
CACHE_BITS = (8, 4, 3, 2)
FLOAT = 4  # bytes


@dataclass(frozen=True)
class CacheMeasure:
    """One way to keep a cache; `how` is None for keys and values as they are.

    `n_bytes` are those of one row of `n_tokens`, of numbers in half precision where they are not
    rounded. `largest_difference` is that of the logits on a held-out batch, from those without a
    cache. `written` are the tokens that follow the beginnings of held-out rows, greedily.
    """

    how: CacheRounding | None
    n_bytes: int
    n_tokens: int
    largest_difference: float
    scores: tuple[float, ...]
    written: tuple[tuple[int, ...], ...]

    @property
    def score(self) -> float:
        """The mean over the draws."""
        return sum(self.scores) / len(self.scores)


@dataclass(frozen=True)
class CacheFacts:
    """All ways that were measured, keys and values as they are first; `chosen` is one of them.

    `texts` are what follows the first beginning that differs, exact and chosen, as text.
    """

    measures: tuple[CacheMeasure, ...]
    chosen: CacheMeasure
    texts: tuple[str, str]
    score_name: str
    is_share: bool

    @property
    def exact(self) -> CacheMeasure:
        """Keys and values as they are."""
        return self.measures[0]

    def of(self, axis: CacheAxis) -> tuple[CacheMeasure, ...]:
        """The measures of one axis, the most bits first."""
        return tuple(each for each in self.measures if each.how and each.how.axis is axis)

    def first_differences(self, measure: CacheMeasure) -> tuple[int, ...]:
        """For each text the tokens that were written before it first differs; all where none."""
        return tuple(map(n_in_common, measure.written, self.exact.written))

    @property
    def n_same(self) -> int:
        """Texts that are the same to the end."""
        return sum(map(eq, self.chosen.written, self.exact.written))

    @property
    def earliest(self) -> int:
        """Tokens that are the same in the text that differs first."""
        return min(self.first_differences(self.chosen))


def n_in_common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two texts begin with alike."""
    alike = map(eq, one, other)
    return sum(takewhile(bool, alike))


def ways(group_size: int, n_recent: int) -> tuple[CacheRounding | None, ...]:
    """Return the caches to measure: exact ones, then every axis at every number of bits."""
    rounded = (
        CacheRounding(n_bits=n, axis=axis, group_size=group_size, n_recent=n_recent)
        for n in CACHE_BITS
        for axis in CacheAxis
    )
    return (None, *rounded)


def cache_facts(
    model: Calibrated, measures: tuple[CacheMeasure, ...], how: CacheRounding
) -> CacheFacts:
    """Facts of what was measured; `how` is among it, or else the last stands for it."""
    chosen = next((each for each in measures if each.how == how), measures[-1])
    pairs = zip(measures[0].written, chosen.written, strict=True)
    exact, rounded = min(pairs, key=lambda pair: n_in_common(*pair))
    texts = model.tokenizer.decode(exact), model.tokenizer.decode(rounded)
    return CacheFacts(measures, chosen, texts, model.score_name, model.is_share)


def cache_fault(model: Calibrated) -> Fault | None:
    """Why a model has no cache that could be rounded."""
    if not model.file.config.attends:
        text = N_(
            "A {mixer} layer keeps a fixed-size state and no keys: choose a model with attention"
        )
        return Fault(text, {"mixer": str(model.file.config.token_mixer)})
    if isinstance(model.model, GPT | EncoderDecoder):
        return None
    return Fault(
        N_(
            "An encoder reads the whole text at once and keeps no cache: choose a model that "
            "generates text"
        )
    )


def measure_cache(model: Calibrated, how: CacheRounding | None) -> CacheMeasure:
    """Read and write through a cache. Raises `ConfigError` where the model has none."""
    if fault := cache_fault(model):
        raise ConfigError([fault])
    reader = CachedReader(model.model, _new_cache(model, how))  # type: ignore[arg-type]
    batch = model.examiner.batches[0]
    exact = model.examiner.logits_of(model.model)(*batch.read)
    asked = batch.targets != IGNORED
    read = reader(*batch.read)
    difference = (read - exact)[asked].abs().max()
    cache, n_rows = reader.cache, len(batch.targets)
    scores = model.scores(reader) if model.text is None else answers(batch, read).bits.tolist()
    return CacheMeasure(
        how=how,
        n_bytes=cache.nbytes() // (n_rows if how else n_rows * FLOAT // HALF),
        n_tokens=cache.seen,
        largest_difference=float(difference),
        scores=tuple(scores),
        written=_written(model, reader),
    )


def _new_cache(model: Calibrated, how: CacheRounding | None) -> Callable[[], KVCache]:
    config = model.file.config
    return partial(KVCache, config) if how is None else partial(RoundedCache, config, how)


def _written(model: Calibrated, reader: CachedReader) -> tuple[tuple[int, ...], ...]:
    ids, mask, n_new = beginnings(model)
    rows = written_on(reader, ids, mask, n_new).tolist()
    task = model.task if model.text is None else None
    stop = task.marks.stop if isinstance(task, PairTask) else None
    return tuple(tuple(row[: row.index(stop)] if stop in row else row) for row in rows)


def beginnings(model: Calibrated) -> tuple[Ids, Any, int]:
    """What is written on: held-out rows, their mask, and for how many tokens."""
    batch = model.examiner.batches[0]
    ids, mask = batch.token_ids, batch.mask
    if isinstance(ids, SourceTarget):
        source, target = (each[:N_TEXTS] for each in ids)
        if isinstance(mask, SourceTargetMask):
            mask = SourceTargetMask(*(None if m is None else m[:N_TEXTS] for m in mask))
        return SourceTarget(source, target[:, :1]), mask, target.shape[1]
    n = ids.shape[1]
    return ids[:N_TEXTS, : n // GIVEN], None, n - n // GIVEN
