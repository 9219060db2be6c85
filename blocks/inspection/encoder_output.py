"""What the encoder hands to the decoder: its vectors, how alike they are, how they came about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.corpora.stories import Language
from blocks.corpora.translation import Pair
from blocks.model.models import Model
from blocks.model.source_target import SourceTarget, source_target_mask
from blocks.observe.recording import Recording, record
from blocks.observe.run import Run
from blocks.text.bilingual import SentenceTokenizer
from blocks.text.marks import marks_of
from blocks.training.pairs import is_filled, padded

ALIKE = 1.02  # the longest against the shortest of vectors that are about as long


class Lengths(NamedTuple):
    """The longest and the shortest vector: label and length of each."""

    longest: str
    most: float
    shortest: str
    least: float

    @property
    def are_alike(self) -> bool:
        """Whether one length says it all."""
        return self.most <= ALIKE * self.least


@dataclass(frozen=True, eq=False)
class SourceFacts:
    """The source before the first layer and as it is handed over.

    `tokens`: as the function of this name has them; `before` and `after`: cosines (source, source),
    with the mean of all pairs of different tokens; `changes`: (step, source), relative, of each
    layer and of the final norm where there is one. Means leave padding out.
    """

    labels: tuple[str, ...]
    is_token: NDArray[np.bool_]
    tokens: pd.DataFrame
    before: NDArray[np.float32]
    after: NDArray[np.float32]
    mean_before: float
    mean_after: float
    changes: NDArray[np.float32]
    n_layers: int
    pinned: int
    seed: int | None

    @property
    def is_alone(self) -> bool:
        """Whether there is no second token to compare with."""
        return int(self.is_token.sum()) == 1

    @property
    def drift(self) -> float:
        """How much more alike the tokens have become."""
        return self.mean_after - self.mean_before

    @property
    def most_changed(self) -> tuple[int, float]:
        """The step that changes tokens most on average, and by how much."""
        means = self.changes[:, self.is_token].mean(axis=1)
        return int(means.argmax()), float(means.max())

    @property
    def lengths(self) -> Lengths:
        """The longest and the shortest vector that is handed over."""
        norms = self._read("norm")
        most, least = max(norms, key=norms.__getitem__), min(norms, key=norms.__getitem__)
        return Lengths(self.labels[most], norms[most], self.labels[least], norms[least])

    @property
    def steadiest(self) -> tuple[str, float]:
        """The token that has kept its direction best, and its cosine."""
        cosines = self._read("cosine")
        most = max(cosines, key=cosines.__getitem__)
        return self.labels[most], cosines[most]

    def _read(self, column: str) -> dict[int, float]:
        """A column by token, without padding."""
        values = self.tokens[column].tolist()
        return {i: values[i] for i in np.flatnonzero(self.is_token).tolist()}


def source_facts(run: Run, seen: Recording, pinned: int) -> SourceFacts:
    """What the encoder of a run hands over."""
    stages = stream(seen, run.config.n_layers)
    alike = [cosines(stages[step]) for step in (0, -1)]
    is_token = run.input.is_token()[0]
    rows = is_token.to(stages.device)
    means = [mean_cosine(each[rows][:, rows]) for each in alike]
    changed = changes(stages).cpu().numpy()
    return SourceFacts(
        labels=run.input.labels,
        is_token=is_token.numpy(),
        tokens=tokens(stages),
        before=alike[0].cpu().numpy(),
        after=alike[1].cpu().numpy(),
        mean_before=means[0],
        mean_after=means[1],
        changes=changed if changed[-1].any() else changed[:-1],
        n_layers=run.config.n_layers,
        pinned=pinned,
        seed=None if run.weights else run.seed,
    )


def stream(seen: Recording, n_layers: int) -> Tensor:
    """The source before the first layer, after each, and as it is handed over.

    (n_layers + 2, source, d_model) of the first sequence; where there is no final norm the last
    two are the same.
    """
    before = seen.tensor("resid_pre", 0, stack="encoder")
    after = [seen.tensor("resid_post", layer, stack="encoder") for layer in range(n_layers)]
    output = seen.tensors.get("encoder.final_norm", after[-1])
    return torch.stack([each[0].float() for each in (before, *after, output)])


def tokens(stages: Tensor) -> pd.DataFrame:
    """One row a source token: mean, std, norm of what is handed over, and what it was before.

    `stages` is that of `stream`. Columns: mean, std, norm; norm_before and cosine, both against
    the same token before the first layer.
    """
    before, output = stages[0], stages[-1]
    columns = {
        "mean": output.mean(dim=-1),
        "std": output.std(dim=-1, correction=0),
        "norm": output.norm(dim=-1),
        "norm_before": before.norm(dim=-1),
        "cosine": torch.cosine_similarity(before, output, dim=-1),
    }
    return pd.DataFrame(
        torch.stack(list(columns.values()), dim=1).cpu().numpy(), columns=list(columns)
    )


def cosines(vectors: Tensor) -> Tensor:
    """How alike the tokens are, −1 to 1: (source, d_model) to (source, source)."""
    unit = torch.nn.functional.normalize(vectors.float(), dim=-1)
    return (unit @ unit.mT).clamp(-1, 1)


def changes(stages: Tensor) -> Tensor:
    """How much each step changes each token: ‖after − before‖ / ‖before‖.

    (n_layers + 2, source, d_model) to (n_layers + 1, source): the last step is the final norm.
    """
    before = stages[:-1]
    least = torch.finfo(stages.dtype).tiny
    return (stages[1:] - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=least)


def mean_cosine(similarity: Tensor) -> float:
    """Return the mean cosine of all pairs of different tokens; 1 where there is one token only."""
    n = len(similarity)
    if n == 1:
        return 1.0
    return float((similarity.sum() - similarity.diagonal().sum()) / (n * (n - 1)))


class Across(NamedTuple):
    """How often the nearest word of the translation is a true one, for words that have one.

    `before` the first layer and `after` the last, by cosine; `chance` is that of any word.
    """

    before: float
    after: float
    chance: float
    n_words: int

    @property
    def gain(self) -> float:
        """What reading the sentence did for it."""
        return self.after - self.before


def across_languages(
    model: Model,
    n_layers: int,
    pairs: Sequence[Pair],
    tokenizer: SentenceTokenizer,
    device: torch.device | str = "cpu",
) -> Across:
    """Whether words that stand for each other meet in an encoder that reads both languages."""
    read = [
        _read(model, n_layers, [pair.words(language) for pair in pairs], tokenizer, device)
        for language in (Language.ENGLISH, Language.CHINESE)
    ]
    right, chances = [0, 0], 0.0
    n_words = 0
    for i, pair in enumerate(pairs):
        n_english, n_chinese = len(pair.english), len(pair.chinese)
        linked = torch.zeros(n_english, n_chinese, dtype=torch.bool)
        linked[tuple(zip(*pair.links, strict=True))] = True
        has_one = linked.any(dim=1)
        n_words += int(has_one.sum())
        chances += float(linked.float().mean(dim=1)[has_one].sum())
        for stage in range(2):
            english, chinese = (each[stage, i] for each in read)
            nearest = (english[:n_english] @ chinese[:n_chinese].mT).argmax(dim=1)
            found = linked[torch.arange(n_english), nearest]
            right[stage] += int(found[has_one].sum())
    return Across(right[0] / n_words, right[1] / n_words, chances / n_words, n_words)


def _read(
    model: Model,
    n_layers: int,
    sentences: Sequence[Sequence[str]],
    tokenizer: SentenceTokenizer,
    device: torch.device | str,
) -> Tensor:
    """Directions before and after the encoder: (2, batch, longest, d_model), each of length 1."""
    marks, ids = marks_of(tokenizer), [tokenizer.ids(words) for words in sentences]
    start = torch.full((len(ids), 1), marks.start, device=device)
    mask = source_target_mask(is_filled(ids).to(device), torch.ones_like(start, dtype=torch.bool))
    texts = SourceTarget(padded(ids, marks.padding).to(device), start)
    seen = record(model, texts, mask=mask, keep={"resid_pre", "resid_post", "final_norm"})
    before = seen.tensor("resid_pre", 0, stack="encoder")
    last = seen.tensor("resid_post", n_layers - 1, stack="encoder")
    both = torch.stack([before, seen.tensors.get("encoder.final_norm", last)])
    return torch.nn.functional.normalize(both.float(), dim=-1).cpu()
