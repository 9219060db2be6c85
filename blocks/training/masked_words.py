"""Guessing hidden words from both sides, as BERT learned.

Every English word of the stories is one token of our tokenizer, and so is every Chinese character:
what is masked is one token, never a part of a word. Punctuation is never masked.
Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from blocks.corpora.stories import Language
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.text.bpe import MASK, BytePairTokenizer
from blocks.text.tokenizers import shipped_tokenizer
from blocks.training.next_token import story_windows
from blocks.training.task import IGNORED, Batch, LogitsOf, share_right
from blocks.training.windows import Windows

ASKED_SHARE, MASKED_SHARE, REPLACED_SHARE = 0.15, 0.8, 0.1
N_SCORED = 64


@dataclass(frozen=True, eq=False)
class MaskedWordsTask:
    """Windows of stories in which 15 % of the words are asked for.

    Of those, 80 % are hidden behind [MASK], 10 % are replaced by a random word, 10 % stay.
    """

    seq_len: int
    tokenizer: BytePairTokenizer
    learned: Windows
    unseen: Windows
    is_word: Tensor

    name: ClassVar[str] = "masked_words"
    architectures: ClassVar[tuple[Architecture, ...]] = (Architecture.ENCODER,)
    learner: ClassVar[Architecture] = Architecture.ENCODER
    score_name: ClassVar[str] = N_("words predicted correctly")

    @classmethod
    def of(cls, language: Language, seq_len: int) -> "MaskedWordsTask":
        """The stories of one language."""
        tokenizer = shipped_tokenizer()
        learned, unseen = (story_windows(language, held_out=side) for side in (False, True))
        return cls(seq_len, tokenizer, learned, unseen, _is_word(tokenizer, learned))

    @property
    def vocab_size(self) -> int:
        """How many token ids there are."""
        return self.tokenizer.vocab_size

    def batch(self, batch_size: int, random: torch.Generator) -> Batch:
        """Masked windows of the stories to learn from."""
        return self._masked(self.learned.draw(batch_size, self.seq_len, random), random)

    def held_out(self, batch_size: int, random: torch.Generator) -> Batch:
        """Masked windows of held-out stories."""
        return self._masked(self.unseen.draw(batch_size, self.seq_len, random), random)

    def score(self, logits_of: LogitsOf, random: torch.Generator) -> float:
        """Share of the asked words of held-out stories that are guessed right."""
        return share_right(self.held_out(N_SCORED, random), logits_of)

    def prompt(self) -> None:
        """None: an encoder does not write."""

    def _masked(self, token_ids: Tensor, random: torch.Generator) -> Batch:
        """Ask for words, at least one per row, and hide most of them: (batch, seq)."""
        draw = torch.rand(token_ids.shape, generator=random)
        draw = draw.where(self.is_word[token_ids], 1.0)
        is_asked = draw <= draw.amin(1, keepdim=True).clamp(min=ASKED_SHARE)
        fate = torch.rand(token_ids.shape, generator=random)
        read = token_ids.where(fate >= MASKED_SHARE + REPLACED_SHARE, self._any(token_ids, random))
        read = read.where(fate >= MASKED_SHARE, self.tokenizer.special[MASK])
        return Batch(read.where(is_asked, token_ids), token_ids.where(is_asked, IGNORED))

    def _any(self, like: Tensor, random: torch.Generator) -> Tensor:
        """A random word for each place."""
        words = self.is_word.nonzero()[:, 0]
        return words[torch.randint(len(words), like.shape, generator=random)]


def _is_word(tokenizer: BytePairTokenizer, text: Windows) -> Tensor:
    """Which token ids are words of this text: (vocab_size,)."""
    occurs = text.token_ids.bincount(minlength=tokenizer.vocab_size) > 0
    texts = [tokenizer.decode([token_id]) for token_id in range(tokenizer.vocab_size)]
    return occurs & torch.tensor([text.strip().isalpha() for text in texts])
