"""What a model expects at each position, and how surprised it is by what stands there."""

import math
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from blocks.observe.run import Run


def surprise(logits: Tensor, token_ids: Tensor) -> pd.DataFrame:
    """How unexpected each token was, given those before it: one row per token, the first excepted.

    `logits` (seq, vocab_size), `token_ids` (seq,). Columns: position (from 1, of the token),
    token_id, probability, bits (−log₂ probability), rank (1: it was the first guess).
    The mean of `bits` · ln 2 is the cross-entropy loss of the text.
    """
    log_probability = torch.log_softmax(logits[:-1].float(), dim=-1)
    targets = token_ids[1:]
    found = log_probability.gather(-1, targets[:, None])
    rank = (log_probability > found).sum(dim=-1) + 1
    columns = torch.stack((targets.double(), found[:, 0].double(), rank.double())).cpu().numpy()
    table = pd.DataFrame({"position": range(1, len(targets) + 1)})
    table["token_id"] = columns[0].astype(int)
    table["probability"] = torch.from_numpy(columns[1]).exp().numpy()
    table["bits"] = -columns[1] / torch.log(torch.tensor(2.0)).item()
    table["rank"] = columns[2].astype(int)
    return table


def guesses(logits: Tensor) -> pd.DataFrame:
    """The likeliest token at each position: token_id, probability; `logits` (seq, vocab_size)."""
    probability, token_id = logits.float().softmax(dim=-1).max(dim=-1)
    return pd.DataFrame(
        {"token_id": token_id.cpu().numpy(), "probability": probability.cpu().numpy()}
    )


def candidates(logits: Tensor, n: int) -> pd.DataFrame:
    """The `n` most probable tokens: token_id, probability; `logits` is (vocab_size,)."""
    top = logits.float().softmax(dim=-1).topk(min(n, len(logits)))
    return pd.DataFrame(
        {"token_id": top.indices.cpu().numpy(), "probability": top.values.cpu().numpy()}
    )


@dataclass(frozen=True, eq=False)
class SurpriseFacts:
    """How surprised a run was by each token of its text (see `surprise`), and the pinned one.

    Positions count from 0, padding included.
    """

    run: Run
    tokens: pd.DataFrame
    pinned: int

    @property
    def bits(self) -> float:
        """The mean surprise."""
        return float(self.tokens["bits"].mean())

    @property
    def nats(self) -> float:
        """The same in nats: the loss."""
        return self.bits * math.log(2)

    @property
    def perplexity(self) -> float:
        """The number of equally likely tokens that would leave it as uncertain."""
        return float(2**self.bits)

    @property
    def guess_bits(self) -> float:
        """What a guess among all tokens alike would cost."""
        return math.log2(self.run.config.vocab_size)

    @property
    def is_worse_than_a_guess(self) -> bool:
        """Whether it costs more than that, in the two digits that are read."""
        return round(self.bits, 2) > round(self.guess_bits, 2)

    @property
    def most(self) -> pd.Series:
        """The token that surprised most."""
        return self.tokens.iloc[int(self.tokens["bits"].argmax())]

    @property
    def bits_after_first(self) -> float | None:
        """The mean without the first guess, where that is the worst of several; else None.

        It is made from one token alone, and nothing has told the model that a text begins there.
        """
        first, rest = self.tokens["bits"].iloc[0], self.tokens["bits"].iloc[1:]
        return float(rest.mean()) if len(rest) and first > rest.max() else None

    def table(self) -> pd.DataFrame:
        """The same with labels, positions from 1."""
        labels = [self.run.input.labels[position] for position in self.tokens["position"]]
        return self.tokens.assign(position=self.tokens["position"] + 1, label=labels)


def surprise_facts(run: Run, logits: Tensor, pinned: int) -> SurpriseFacts:
    """The surprise of the text of a run; `logits`: (seq, vocab_size)."""
    text = run.input.text
    table = surprise(logits[text], run.values()[0, text])
    return SurpriseFacts(run, table.assign(position=table["position"] + text.start), pinned)
