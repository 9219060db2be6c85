"""Learning to write on: text, and stories."""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from blocks.corpora.stories import Language, grammatical_share, stories
from blocks.corpora.texts import require_length, split
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.masks import everyone
from blocks.text.bpe import END, BytePairTokenizer
from blocks.text.characters import CharacterTokenizer
from blocks.text.sampling import SamplingConfig, choose_each
from blocks.text.tokenizers import shipped_tokenizer
from blocks.training.task import Batch, LogitsOf
from blocks.training.windows import Windows

N_STORIES, N_HELD_OUT_STORIES = 4_000, 400
N_SCORED = 16
WRITERS, WRITTEN = 8, 64
SAMPLING = SamplingConfig(temperature=0.8)


@dataclass(frozen=True, eq=False)
class NextTokenTask:
    """Windows of a text, each token asked for the one after it.

    With `sees_ahead` all tokens that are there may be read, the one asked for among them.
    """

    name: str
    seq_len: int
    tokenizer: CharacterTokenizer | BytePairTokenizer
    learned: Windows
    unseen: Windows
    sees_ahead: bool = field(default=False, kw_only=True)

    architectures: ClassVar[tuple[Architecture, ...]] = (Architecture.GPT,)
    learner: ClassVar[Architecture] = Architecture.GPT

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return self.tokenizer.vocab_size

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Windows of what is learned from."""
        return self._shifted(self.learned.draw(batch_size, self.seq_len + 1, random))

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Windows of what is held out."""
        return self._shifted(self.unseen.draw(batch_size, self.seq_len + 1, random))

    def read_by(self, logits_of: LogitsOf) -> LogitsOf:
        """A model as it reads token ids here, under the mask of this task."""
        if not self.sees_ahead:
            return logits_of
        return lambda token_ids: logits_of(token_ids, everyone(token_ids.shape[1]))

    def _shifted(self, windows: Tensor) -> Batch:
        """Each token, and the one after it: (batch, seq + 1) to twice (batch, seq)."""
        mask = everyone(windows.shape[1] - 1) if self.sees_ahead else None
        return Batch(windows[:, :-1], windows[:, 1:], mask)


class TextTask(NextTokenTask):
    """A text, of which the last tenth is held out."""

    score_name: ClassVar[str] = N_("bits per character")

    @classmethod
    def of(cls, text: str, seq_len: int, *, in_characters: bool) -> "TextTask":
        """The task of one text, in characters or byte pairs."""
        require_length(text)
        tokenizer = CharacterTokenizer.of(text) if in_characters else shipped_tokenizer()
        learned, unseen = split(tokenizer.encode(text))
        if len(unseen) <= seq_len:
            raise ConfigError([_too_short(len(unseen), seq_len)])
        parts = (Windows(torch.tensor(part)) for part in (learned, unseen))
        return cls("text", seq_len, tokenizer, *parts)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Bits that the model still needs to tell one held-out character; lower is better."""
        batch = self.held_out(N_SCORED, random)
        logits = logits_of(*batch.read).to("cpu", torch.float32)
        nats = cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="sum")
        return nats.item() / math.log(2) / self._n_characters(batch.targets)

    def prompt(self) -> list[int]:
        """The first tokens of what is held out."""
        return self.unseen.token_ids[: max(self.seq_len // 4, 1)].tolist()

    def _n_characters(self, token_ids: Tensor) -> int:
        if isinstance(self.tokenizer, CharacterTokenizer):
            return token_ids.numel()
        return int(torch.tensor(self.tokenizer.n_characters())[token_ids].sum())


@dataclass(frozen=True, eq=False)
class StoryTask(NextTokenTask):
    """Stories in a row, each after an [END]."""

    language: Language

    score_name: ClassVar[str] = N_("grammatical sentences")

    @classmethod
    def of(cls, language: Language, seq_len: int) -> "StoryTask":
        """The stories of one language."""
        learned, unseen = (story_windows(language, held_out=side) for side in (False, True))
        return cls("stories", seq_len, shipped_tokenizer(), learned, unseen, language)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of grammatical sentences in what the model writes by itself."""
        read = self.read_by(logits_of)
        written = torch.tensor(self.prompt()).expand(WRITERS, -1)
        for _ in range(WRITTEN):
            logits = read(written[:, -self.seq_len :])[:, -1]
            chosen = choose_each(logits, SAMPLING, random)
            written = torch.cat([written, chosen[:, None]], dim=1)
        return grammatical_share(map(self.tokenizer.decode, written.tolist()), self.language)

    def prompt(self) -> list[int]:
        """The [END] after which a story begins."""
        return [self.tokenizer.special[END]]


@cache
def story_windows(language: Language, *, held_out: bool) -> Windows:
    """Stories as token ids: an [END] before each, then its text as in the middle of a text."""
    tokenizer = shipped_tokenizer()
    told = stories(language, N_HELD_OUT_STORIES if held_out else N_STORIES, held_out=held_out)
    end = tokenizer.special[END]
    token_ids: list[int] = []
    for index, text in enumerate(told):
        token_ids += end, *tokenizer.encode(language.grammar_of(index).separator + text)
    return Windows(torch.tensor(token_ids))


def _too_short(n: int, seq_len: int) -> Fault:
    text = N_(
        "seq_len ({seq_len}) must be less than the number of held-out tokens ({n}): use {mend}"
    )
    return Fault(text, {"n": n, "seq_len": seq_len, "mend": n - 1}, {"seq_len": n - 1})
