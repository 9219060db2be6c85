"""A text of one's own in place of a training task: one half calibrates, the other one is asked.

A GPT is asked for each next token, an encoder for tokens that are hidden from it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.text.marks import mask_id
from blocks.text.tokenizer import Tokenizer
from blocks.training.task import IGNORED, Batch, LogitsOf
from blocks.training.writer import Writer

MOST_TOKENS, LEAST_TOKENS, LONGEST_ROW = 2048, 64, 512
HIDDEN, SHIFTS = 7, (1, 4)
"""An encoder's tokens are hidden one in so many (14 %), in rows that begin at either shift."""
SCORE_NAME = N_("bits per token")


class Answers(NamedTuple):
    """What was asked, token by token: bits that its answer costs, and whether it ranked first."""

    bits: Tensor
    is_right: Tensor

    @property
    def nats(self) -> float:
        """The mean cross entropy."""
        return float(self.bits.double().mean()) * math.log(2)


@dataclass(frozen=True, eq=False)
class OwnText:
    """The two halves as batches of one row; no token of one is in the other.

    `n_tokens` is what both hold, `n_left` how many tokens of the text there are beyond them, and
    `n_asked` what an answer is scored on.
    """

    calibration: list[Batch]
    batches: list[Batch]
    n_tokens: int
    n_left: int

    @property
    def halves(self) -> tuple[int, int]:
        """Tokens that calibrate, and those that are scored."""
        first = self.n_tokens // 2
        return first, self.n_tokens - first

    @property
    def n_asked(self) -> int:
        """Tokens that are asked for."""
        return sum(int((batch.targets != IGNORED).sum()) for batch in self.batches)

    @torch.no_grad()
    def answers(self, logits_of: LogitsOf, n_batches: int | None = None) -> Answers:
        """Ask a model for the tokens of the second half, or of its first rows."""
        found = [answers(batch, logits_of(*batch.read)) for batch in self.batches[:n_batches]]
        return Answers(*map(torch.cat, zip(*found, strict=True)))

    def held_out_loss(self, model: nn.Module, n_batches: int | None = None) -> float:
        """The mean cross entropy in nats per token, as of an `Examiner`."""
        return self.answers(self.logits_of(model), n_batches).nats

    def score(self, model: nn.Module) -> float:
        """The same in bits."""
        return self.held_out_loss(model) / math.log(2)

    def logits_of(self, model: nn.Module) -> Writer:
        """The model as a function: ids (batch, seq) to logits, float32 on the CPU."""
        return Writer(model, "cpu")


def answers(batch: Batch, logits: Tensor) -> Answers:
    """Those of the logits (1, seq, vocab_size) of a batch, where anything was asked."""
    is_asked = batch.targets != IGNORED
    asked, targets = logits[is_asked].float(), batch.targets[is_asked]
    nats = cross_entropy(asked, targets, reduction="none")
    return Answers(nats / math.log(2), asked.argmax(-1) == targets)


def own_text(config: ModelConfig, tokenizer: Tokenizer, text: str) -> OwnText:
    """The first tokens of a text as a model reads them. Raises `ConfigError` where it cannot.

    Rows are as long as one another, at most `LONGEST_ROW` or what the model has positions for; the
    tokens that its tokenizer puts around a text stand around each.
    """
    before, ids, after = _around(tokenizer, text)
    faults = [*text_faults(config, tokenizer), *_length_faults(len(ids))]
    if faults:
        raise ConfigError(faults)
    used = ids[:MOST_TOKENS]
    halves = used[: len(used) // 2], used[len(used) // 2 :]
    most = min(LONGEST_ROW, config.max_seq_len) - len(before) - len(after)
    rows = [[[*before, *row, *after] for row in _rows(half, most)] for half in halves]
    if config.architecture is Architecture.GPT:
        calibration, asked = ([*map(_shifted, each, [len(before)] * len(each))] for each in rows)
    else:
        hide, special = mask_id(tokenizer), {*tokenizer.special.values()}
        calibration, asked = (
            [_hidden(row, shift, hide, special) for row in each for shift in SHIFTS]
            for each in rows
        )
    return OwnText(calibration, asked, len(used), len(ids) - len(used))


def windows(tokenizer: Tokenizer, text: str, n: int, n_windows: int) -> list[Batch]:
    """Rows of `n` tokens of a text (of half of it, where it is shorter), each begun further on.

    What its tokenizer puts before a text stands before each row, and is not asked for.
    """
    before, ids, _after = _around(tokenizer, text)
    n = min(n, len(ids) // 2)
    starts = [round(i * (len(ids) - n) / max(1, n_windows - 1)) for i in range(n_windows)]
    return [_shifted([*before, *ids[start : start + n]], len(before)) for start in starts]


def text_faults(config: ModelConfig, tokenizer: Tokenizer) -> Iterator[Fault]:
    """Why no text says how good a model is; nothing where one does."""
    if config.architecture is Architecture.ENCODER_DECODER:
        yield Fault(
            N_(
                "An encoder–decoder reads a source and predicts a target, and a single text does "
                "not say which part is which: choose a model that reads one text"
            )
        )
    elif config.architecture is Architecture.ENCODER and mask_id(tokenizer) < 0:
        yield Fault(
            N_(
                "This encoder has no mask token, so it has nothing to predict in a text: "
                "choose a model that predicts tokens"
            )
        )
    elif not config.architecture.reads_tokens:
        yield Fault(N_("A block alone reads no tokens: choose a whole model"))


def _length_faults(n: int) -> Iterator[Fault]:
    if n < LEAST_TOKENS:
        text = N_(
            "The text has {n} tokens, too few to calibrate and score on: provide at least {least}"
        )
        yield Fault(text, {"n": n, "least": LEAST_TOKENS})


def _around(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[int], list[int]]:
    """What a tokenizer puts before a text, the text itself, and what it puts behind it."""
    ids, empty = tokenizer.encode(text), tokenizer.encode("")
    n_before = next((i for i, (a, b) in enumerate(zip(ids, empty, strict=False)) if a != b), 0)
    if ids[: len(empty)] == empty:
        n_before = len(empty)
    n_after = len(empty) - n_before
    return ids[:n_before], ids[n_before : len(ids) - n_after], ids[len(ids) - n_after :]


def _rows(ids: Sequence[int], most: int) -> list[Sequence[int]]:
    """As few as there must be, all as long; fewer tokens than rows are left over at the end."""
    n_rows = math.ceil(len(ids) / most)
    n = len(ids) // n_rows
    return [ids[i * n : (i + 1) * n] for i in range(n_rows)]


def _shifted(row: Sequence[int], n_before: int) -> Batch:
    """Each token, and the one after it; what stands before the text is not asked for."""
    targets = torch.tensor([row[1:]])
    targets[:, : max(n_before - 1, 0)] = IGNORED
    return Batch(torch.tensor([row[:-1]]), targets)


def _hidden(row: Sequence[int], shift: int, hide: int, special: set[int]) -> Batch:
    """Every seventh token hidden, and asked for."""
    ids = torch.tensor([row])
    is_hidden = torch.arange(ids.shape[1]) % HIDDEN == shift
    is_hidden &= torch.tensor([each not in special for each in row])
    return Batch(ids.masked_fill(is_hidden, hide), ids.masked_fill(~is_hidden, IGNORED))
