"""What the modules of a GPT drafted, and what it would have written itself."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from blocks.observe.run import Run
from blocks.text.speculation import Pass

N_TOKENS = 40


@dataclass(frozen=True)
class Acceptance:
    """How often a draft of a module stood, with all before it, of how often there was one."""

    n_accepted: int
    n_drafted: int

    @property
    def share(self) -> float:
        """The acceptance rate; 0 where nothing was drafted."""
        return self.n_accepted / self.n_drafted if self.n_drafted else 0.0


@dataclass(frozen=True)
class Token:
    """A new token: whether a module had drafted it, and what it had drafted in its place."""

    token_id: int
    is_drafted: bool
    rejected: int | None


@dataclass(frozen=True, eq=False)
class DraftFacts:
    """A text that a model has written, pass by pass; `label`: what a token id is called."""

    run: Run
    passes: tuple[Pass, ...]
    label: Callable[[int], str]

    @property
    def n_written(self) -> int:
        """Tokens of all passes."""
        return sum(len(each.written) for each in self.passes)

    @property
    def n_accepted(self) -> int:
        """The number of written tokens that a module had drafted."""
        return sum(each.n_accepted for each in self.passes)

    @property
    def per_pass(self) -> float:
        """Tokens that one pass gave; 1 without modules."""
        return self.n_written / len(self.passes)

    @property
    def modules(self) -> tuple[Acceptance, ...]:
        """Of each module, the nearest first; the first pass has no draft yet."""
        drafted = [each for each in self.passes if each.drafted]
        return tuple(
            Acceptance(sum(each.n_accepted > k for each in drafted), len(drafted))
            for k in range(self.run.config.n_mtp_modules)
        )

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The text, token by token."""
        return tuple(token for each in self.passes for token in _tokens(each))

    def table(self) -> pd.DataFrame:
        """One row a pass: pass (from 1), drafted, written, accepted, n_tokens (so far)."""
        rows = [
            (i, self._labels(each.drafted), self._labels(each.written), each.n_accepted)
            for i, each in enumerate(self.passes, start=1)
        ]
        table = pd.DataFrame(rows, columns=["pass", "drafted", "written", "accepted"])
        table["n_tokens"] = (table["accepted"] + 1).cumsum()
        return table

    def _labels(self, token_ids: tuple[int, ...]) -> str:
        return " ".join(map(self.label, token_ids))


def _tokens(found: Pass) -> list[Token]:
    """What a pass wrote: accepted drafts, and its own token in the place of a rejected one."""
    n = found.n_accepted
    rejected = found.drafted[n] if n < len(found.drafted) else None
    accepted = [Token(token_id, True, None) for token_id in found.written[:n]]
    return [*accepted, Token(found.written[n], False, rejected)]
