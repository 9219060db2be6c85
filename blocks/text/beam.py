"""Writing the target of an encoder–decoder: the likeliest token each time, or a beam of them.

Beam search goes on with the likeliest beginnings of one length. What it looked at stands in a
tree, with what became of each. Sutskever et al. 2014, section 3.2; the length penalty is that of
Wu et al. 2016, eq. 14.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

import pandas as pd
import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kv_cache import KVCache
from blocks.model.models import EncoderDecoder
from blocks.model.options import LARGEST_SIZE
from blocks.model.probe import Replacement, listening
from blocks.observe.recording import Recorder

MOST_BEAMS, LARGEST_PENALTY = 4096, 10.0


@dataclass(frozen=True, kw_only=True)
class BeamConfig:
    """How to write: every target begins with `start_id`, and `stop_id` ends it.

    `beam_width` of 1 is greedy. `max_new_tokens` counts what is written, the stop token too. A
    `length_penalty` above 0 favours longer targets; the tokens of `never` are not written.
    """

    start_id: int
    stop_id: int
    never: tuple[int, ...] = ()
    beam_width: int = 4
    max_new_tokens: int = 32
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        if faults := [*_faults(self)]:
            raise ConfigError(faults)

    def score(self, log_prob: float, length: int) -> float:
        """log_prob / ((5 + length) / 6)^length_penalty: what decides between finished targets."""
        return log_prob / ((5 + length) / 6) ** self.length_penalty


class Fate(StrEnum):
    """What became of a hypothesis at its step."""

    KEPT = "kept"
    FINISHED = "finished"
    DROPPED = "dropped"


@dataclass(frozen=True)
class Hypothesis:
    """A beginning of the target: its last token, and the hypothesis that it continues.

    `parent` is that one's place in the tree, None at the first step; `step` counts from 1 and is
    the length. `step_rank` is its place among all continuations of the step, from 1 for the
    likeliest. `token_log_prob` is of this token after its parent, `log_prob` of all of them
    together, in nats; `score`, see `BeamConfig.score`.
    """

    parent: int | None
    step: int
    step_rank: int
    token_id: int
    token_log_prob: float
    log_prob: float
    score: float
    fate: Fate


class TargetReader:
    """An encoder–decoder that has read its source, asked again and again what comes next.

    `source_ids` is (batch, source), `is_source` the same, False on padding. With `use_cache` off
    everything is computed anew for each token; the answers are the same. `replace` changes what
    passes at some probes, as `record` does. The tokens of `never` have no probability.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        config: ModelConfig,
        source_ids: Tensor,
        is_source: Tensor | None = None,
        *,
        use_cache: bool = True,
        replace: Mapping[str, Replacement] | None = None,
        never: Sequence[int] = (),
    ):
        self.model, self.replace = model, replace or {}
        self.never = torch.tensor(never, dtype=torch.long, device=source_ids.device)
        self.cache = KVCache(config) if use_cache else None
        self.mask = None if is_source is None else is_source[:, None, None, :]
        with torch.inference_mode(), self._changed():
            self.memory = model.encode(source_ids, self.mask)

    def log_probs(self, target_ids: Tensor) -> Tensor:
        """Score every token after each target so far: (rows, target) to (rows, vocab_size)."""
        if self.cache is not None:
            self.cache = self.cache.ready_for(target_ids.shape[1])
        unread = target_ids[:, 0 if self.cache is None else self.cache.seen :]
        with torch.inference_mode(), self._changed():
            logits = self.model.decode(unread, self.memory, memory_mask=self.mask, cache=self.cache)
            last = logits[:, -1]
            if len(self.never):
                last = last.index_fill(-1, self.never, -torch.inf)
            return last.to(torch.promote_types(last.dtype, torch.float32)).log_softmax(-1)

    def _changed(self) -> AbstractContextManager[None]:
        return listening(Recorder((), self.replace)) if self.replace else nullcontext()

    def choose_rows(self, rows: Tensor) -> None:
        """Go on with these rows, all of them of one source."""
        if self.cache is not None:
            self.cache.choose_rows(rows)


class BeamSearch:
    """One search for the target of one source; it belongs to one thread at a time.

    `tree` holds every hypothesis that was looked at, in the order of the steps: at each step the
    2 · beam_width likeliest, of which up to beam_width are kept. One that ends is finished where
    it is among the first beam_width. Where a token is `forced`, it alone is kept or finishes.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        config: ModelConfig,
        source_ids: Sequence[int],
        search: BeamConfig,
        *,
        is_source: Sequence[bool] | None = None,
        forced: Sequence[int] = (),
        use_cache: bool = True,
        replace: Mapping[str, Replacement] | None = None,
    ):
        self.search, self.forced = search, tuple(forced)
        self.device = next(model.parameters()).device
        source = torch.tensor([list(source_ids)], device=self.device)
        seen = None if is_source is None else torch.tensor([list(is_source)], device=self.device)
        self.reader = TargetReader(
            model, config, source, seen, use_cache=use_cache, replace=replace, never=search.never
        )
        self.n_steps = min(search.max_new_tokens, config.max_seq_len)
        self.tree: list[Hypothesis] = []
        self.alive: list[int | None] = [None]  # places in the tree; None is the start token alone
        self.step = 0

    def run(self) -> "BeamSearch":
        """Search to the end."""
        while not self.is_done:
            self.advance()
        return self

    def advance(self) -> None:
        """Lengthen each hypothesis that is alive by one token; nothing where the search is done."""
        if self.is_done:
            return
        self.step += 1
        first = len(self.tree)
        self.tree += self._judged(self._candidates())
        row_of = {place: row for row, place in enumerate(self.alive)}
        kept = [i for i in range(first, len(self.tree)) if self.tree[i].fate is Fate.KEPT]
        rows = [row_of[self.tree[place].parent] for place in kept]
        self.alive = [*kept]
        self.reader.choose_rows(torch.tensor(rows, dtype=torch.long, device=self.device))

    @property
    def is_done(self) -> bool:
        """Whether no hypothesis can become better than the best `beam_width` that are finished."""
        if self.step >= self.n_steps or not self.alive:
            return True
        best = self.finished()[: self.search.beam_width]
        if len(best) < self.search.beam_width:
            return False
        hopes = (self.log_prob(place) for place in self.alive)
        return self.search.score(max(hopes), self.n_steps) <= self.tree[best[-1]].score

    def finished(self) -> list[int]:
        """Places of those that came to their stop token, the best score first."""
        places = [i for i, each in enumerate(self.tree) if each.fate is Fate.FINISHED]
        return sorted(places, key=lambda place: -self.tree[place].score)

    def results(self) -> list[int]:
        """Places of the best `beam_width`, the best score first.

        Where there was no room for more tokens, those that were still alive count too.
        """
        places = self.finished()
        if self.step >= self.n_steps:
            places += [place for place in self.alive if place is not None]
        places.sort(key=lambda place: -self.tree[place].score)
        return places[: self.search.beam_width]

    def log_prob(self, place: int | None) -> float:
        """Log-probability of a hypothesis; the start token alone is certain."""
        return 0.0 if place is None else self.tree[place].log_prob

    def token_ids(self, place: int | None) -> list[int]:
        """The whole hypothesis, without the start token, with the stop token where it has one."""
        written: list[int] = []
        while place is not None:
            written.append(self.tree[place].token_id)
            place = self.tree[place].parent
        return written[::-1]

    def frame(self) -> pd.DataFrame:
        """One row a hypothesis, in the order of the tree: its fields, `rank` among the results.

        `rank` counts from 1 and is missing elsewhere; so is the `parent` of the first step.
        """
        table = pd.DataFrame(
            [asdict(each) for each in self.tree],
            columns=[field.name for field in fields(Hypothesis)],
        )
        ranks = {place: rank for rank, place in enumerate(self.results(), start=1)}
        table["rank"] = [ranks.get(place) for place in range(len(table))]
        return table.astype({"parent": "Int64", "rank": "Int64", "fate": "str"})

    def _candidates(self) -> list[Hypothesis]:
        """The likeliest continuations, the likeliest first."""
        targets = [[self.search.start_id, *self.token_ids(place)] for place in self.alive]
        log_probs = self.reader.log_probs(torch.tensor(targets, device=self.device))
        n_wanted = 2 * self.search.beam_width
        top = log_probs.topk(min(n_wanted, log_probs.shape[-1]))
        rows = zip(self.alive, top.values.tolist(), top.indices.tolist(), strict=True)
        found = [
            self._lengthened(place, token_id, value)
            for place, values, token_ids in rows
            for value, token_id in zip(values, token_ids, strict=True)
        ]
        found = sorted(found, key=lambda each: -each.log_prob)[:n_wanted]
        found = [replace(each, step_rank=rank) for rank, each in enumerate(found, start=1)]
        token_id = self.forced_id
        if token_id is None or any(each.token_id == token_id for each in found):
            return found
        value = log_probs[0, token_id].item()
        rank = max(len(found), int((log_probs[0] > value).sum())) + 1
        forced = self._lengthened(self.alive[0], token_id, value)
        return [*found, replace(forced, step_rank=rank)]

    @property
    def forced_id(self) -> int | None:
        """The token that must come at this step, where one must."""
        return self.forced[self.step - 1] if self.step <= len(self.forced) else None

    def _lengthened(self, place: int | None, token_id: int, token_log_prob: float) -> Hypothesis:
        log_prob = self.log_prob(place) + token_log_prob
        score = self.search.score(log_prob, self.step)
        return Hypothesis(
            place, self.step, 0, token_id, token_log_prob, log_prob, score, Fate.DROPPED
        )

    def _judged(self, candidates: Sequence[Hypothesis]) -> Iterator[Hypothesis]:
        """Return the hypotheses with their fates."""
        width, n_kept, forced = self.search.beam_width, 0, self.forced_id
        for rank, each in enumerate(candidates):
            is_end, fate = each.token_id == self.search.stop_id, Fate.DROPPED
            if forced is not None and each.token_id != forced:
                pass
            elif is_end and (rank < width or forced is not None):
                fate = Fate.FINISHED
            elif not is_end and n_kept < width:
                fate = Fate.KEPT
                n_kept += 1
            yield replace(each, fate=fate)


def greedy(
    model: EncoderDecoder,
    config: ModelConfig,
    source_ids: Tensor,
    search: BeamConfig,
    *,
    is_source: Tensor | None = None,
    use_cache: bool = True,
) -> list[list[int]]:
    """The likeliest token each time, for all sources at once: (batch, source) to token ids.

    Each row ends with its stop token, or after `max_new_tokens`; the width of the beam is not
    used. `is_source` is False on padding, which changes nothing.
    """
    never = search.never
    reader = TargetReader(model, config, source_ids, is_source, use_cache=use_cache, never=never)
    target = source_ids.new_full((len(source_ids), 1), search.start_id)
    for _ in range(min(search.max_new_tokens, config.max_seq_len)):
        next_ids = reader.log_probs(target).argmax(-1, keepdim=True)
        target = torch.cat((target, next_ids), dim=1)
        if (target[:, 1:] == search.stop_id).any(dim=1).all():
            break
    return [_until(row, search.stop_id) for row in target[:, 1:].tolist()]


def _until(token_ids: list[int], stop_id: int) -> list[int]:
    n = token_ids.index(stop_id) + 1 if stop_id in token_ids else len(token_ids)
    return token_ids[:n]


def _faults(search: BeamConfig) -> Iterator[Fault]:
    for name, most in (("beam_width", MOST_BEAMS), ("max_new_tokens", LARGEST_SIZE)):
        value = getattr(search, name)
        if not 1 <= value <= most:
            text = N_("{name} ({value}) must be from {least} to {most}: use {mend}")
            mend = min(max(value, 1), most)
            said = {"name": name, "value": value, "least": 1, "most": most, "mend": mend}
            yield Fault(text, said, {name: mend})
    if not 0 <= search.length_penalty <= LARGEST_PENALTY:
        text = N_("length_penalty ({value}) must be from 0 to {most}: use {mend}")
        mended = LARGEST_PENALTY if search.length_penalty > LARGEST_PENALTY else 0.0
        said = {"value": search.length_penalty, "most": LARGEST_PENALTY, "mend": mended}
        yield Fault(text, said, {"length_penalty": mended})
