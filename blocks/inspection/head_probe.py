"""What each head of a model is for, whatever the reader's text: random tokens, twice.

From the second copy on a token has stood there before, and what follows it can be told only by
looking back. Nothing in random tokens can be known by heart. Olsson et al. 2022, "In-context
Learning and Induction Heads", who score induction heads on 25 random tokens repeated; they give no
threshold. A head is named here where more than half of its weight goes to one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.predictions import surprise
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.model.masks import causal
from blocks.model.models import Encoder
from blocks.model.probe import listening
from blocks.model.randomness import generator
from blocks.observe.heads import NAMED_ABOVE
from blocks.observe.interventions import Intervention, Part, replacements
from blocks.observe.recording import Recorder

N_TOKENS, N_ROWS, SEED, FEWEST, MOST_OFF = 25, 2, 0, 4, 32
KINDS = ("induction", "previous_token", "duplicate_token", "first_token", "same_token")


@dataclass(frozen=True, eq=False)
class HeadProbe:
    """The scores of all heads, and how surprising each token of the probe was to the model.

    `heads`: layer, head, the mean weight of the second copy on each of `KINDS`, name (the largest
    of them where it is above 0.5) and score (that of the name); `bits`: (2n − 1,), the surprisal of
    every token but the first, mean over the rows.
    """

    heads: pd.DataFrame
    bits: np.ndarray

    @property
    def n_tokens(self) -> int:
        """Different tokens in a row."""
        return (len(self.bits) + 1) // 2

    def named(self, kind: str) -> pd.DataFrame:
        """The heads of this name, the highest score first."""
        found = self.heads[self.heads["name"] == kind]
        return found.sort_values("score", ascending=False, kind="stable")

    def places(self, kind: str) -> tuple[tuple[int, int], ...]:
        """Layer and head of those named so, the highest score first: as many as a link names."""
        found = self.named(kind)[:MOST_OFF]
        return tuple(zip(found["layer"].tolist(), found["head"].tolist(), strict=True))

    @property
    def n_named(self) -> dict[str, int]:
        """How many heads have each name; none is left out that any has."""
        return {kind: n for kind in KINDS if (n := len(self.named(kind)))}

    def copies(self, bits: np.ndarray | None = None) -> tuple[float, float]:
        """Mean surprisal of the first and of the second copy, of the model or of these `bits`.

        The first token of the second copy is left out of both: nothing says that it begins.
        """
        shown = self.bits if bits is None else bits
        return float(shown[: self.n_tokens - 1].mean()), float(shown[self.n_tokens :].mean())


@dataclass(frozen=True, eq=False)
class ProbeFacts:
    """One kind of head: which have its name, and what the second copy costs without them.

    `off`: layer and head of those that are switched off together, `others` of as many others;
    `without` and `without_others`: the surprisal of each token then. None of it where none has the
    name. `selected`: the layer and head that is looked at; `in_text`: where no head of the model
    has a name, how many have each in the text of the reader.
    """

    probe: HeadProbe
    kind: str
    off: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int], ...]
    without: np.ndarray | None
    without_others: np.ndarray | None
    selected: tuple[int, int]
    in_text: tuple[tuple[str, int], ...] = ()

    @property
    def scores(self) -> np.ndarray:
        """Of every head, a row each layer that attends: (n_layers, n_heads)."""
        heads = self.probe.heads
        return heads[self.kind].to_numpy().reshape(heads["layer"].nunique(), -1)

    @property
    def strongest(self) -> pd.Series:
        """The head with the highest score, named or not."""
        return self.probe.heads.iloc[int(self.probe.heads[self.kind].argmax())]


def can_probe(config: ModelConfig) -> bool:
    """Whether it reads tokens from left to right, attends, and has room for two copies."""
    return config.architecture is Architecture.GPT and config.has_attention and _n(config) >= FEWEST


def probe_ids(config: ModelConfig) -> Tensor:
    """The rows of token ids: (2, 50), or as long as the model can read."""
    random = generator(SEED, "head probe")
    drawn = torch.rand(N_ROWS, config.vocab_size, generator=random).topk(_n(config)).indices
    return drawn.repeat(1, 2)


def _n(config: ModelConfig) -> int:
    return min(N_TOKENS, config.vocab_size, config.max_seq_len // 2)


def head_probe(model: Encoder, config: ModelConfig) -> HeadProbe:
    """Run the probe once and score every head."""
    recorder = Recorder({"pattern"}, {})
    bits = _bits(model, config, recorder)
    patterns = [recorder.tensors[f"layers.{layer}.pattern"] for layer in config.attention_layers]
    shares = torch.cat([_shares(pattern) for pattern in patterns]).cpu().numpy()
    table = pd.DataFrame(shares, columns=list(KINDS))
    table.insert(0, "layer", np.repeat(config.attention_layers, config.n_heads))
    table.insert(1, "head", np.tile(np.arange(config.n_heads), len(patterns)))
    most = table[list(KINDS)].max(axis=1)
    largest = table[list(KINDS)].idxmax(axis=1)
    return HeadProbe(table.assign(name=largest.where(most > NAMED_ABOVE, ""), score=most), bits)


def probe_bits(
    model: Encoder, config: ModelConfig, without: Sequence[tuple[int, int]]
) -> np.ndarray:
    """The surprisal of the probe's tokens where these heads (layer, head) write nothing."""
    changes = [Intervention(part=Part.HEAD, layer=layer, head=head) for layer, head in without]
    return _bits(model, config, Recorder((), replacements(changes)))


def as_many_others(
    heads: pd.DataFrame, off: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """A control for heads that are switched off: of the same layers as many others, by lot.

    Of each layer no more than are left there.
    """
    random = generator(SEED, "control")
    found: list[tuple[int, int]] = []
    for layer in sorted({layer for layer, _head in off}):
        n = sum(at == layer for at, _head in off)
        of_layer = heads.loc[heads["layer"] == layer, "head"]
        left = [int(head) for head in of_layer if (layer, head) not in off]
        order = torch.randperm(len(left), generator=random)[:n]
        found += [(layer, left[i]) for i in order.tolist()]
    return tuple(found)


def _bits(model: Encoder, config: ModelConfig, recorder: Recorder) -> np.ndarray:
    """Only one row at a time is unembedded: a large vocabulary has large logits."""
    device = model.embed.weight.device
    ids = probe_ids(config).to(device)
    with listening(recorder), torch.no_grad():
        stream = model.encode(ids, causal(ids.shape[1], device))
        rows = zip(stream.split(1), ids, strict=True)
        bits = [surprise(model.unembed_logits(row)[0], own)["bits"] for row, own in rows]
    return np.mean(bits, axis=0)


def _shares(pattern: Tensor) -> Tensor:
    """Mean weight of the second copy on each of `KINDS`: (batch, n_heads, 2n, 2n) to (n_heads, 5).

    The first token of the second copy is left out: its earlier copy is the first token.
    """
    n = pattern.shape[-1] // 2
    query = torch.arange(n + 1, 2 * n, device=pattern.device)
    keys = {
        "induction": query - n + 1,
        "previous_token": query - 1,
        "duplicate_token": query - n,
        "first_token": torch.zeros_like(query),
        "same_token": query,
    }
    found = [pattern[:, :, query, keys[kind]].float().mean(dim=(0, 2)) for kind in KINDS]
    return torch.stack(found, dim=1)
