"""What passes through the layers of a run: the stream of one block, or of a whole model."""

from dataclasses import dataclass

import pandas as pd
from torch import Tensor

from blocks.inspection.head_facts import without_resting
from blocks.inspection.sinks import MASSIVE_TIMES, token_sizes
from blocks.model.kinds import NormPlacement
from blocks.observe.run import Run
from blocks.weights.model_file import Card

WRITERS = ("attention", "feed_forward")
RESCALED = (NormPlacement.SANDWICH, NormPlacement.RES_POST)


@dataclass(frozen=True)
class Loudest:
    """The token that outweighs all others most: its RMS after a layer, and the median token's.

    A massive activation (see `sinks`): the RMS over all tokens is then that of a few.
    """

    token: int
    rms: float
    median_before: float
    median_after: float


def loudest(before: Tensor, after: Tensor) -> Loudest | None:
    """The stream before and after a layer, (batch, seq, d_model); None where none is so loud."""
    start, end = token_sizes(before), token_sizes(after)
    median = float(end.median())
    if float(end.max()) <= MASSIVE_TIMES * median:
        return None
    token = int(end.argmax()) % end.shape[-1]
    return Loudest(token, float(end.max()), float(start.median()), median)


@dataclass(frozen=True, eq=False)
class FlowFacts:
    """The moments of every stage that is shown, a row each, in order: stage, part, rms, …

    `loudest`: the token that outweighs all others, if one does; `is_apart`: the stages leave it
    out.
    """

    run: Run
    stages: pd.DataFrame
    loudest: Loudest | None = None
    is_apart: bool = False

    @property
    def start(self) -> float:
        """The RMS of the first stage."""
        return float(self.stages["rms"].iloc[0])

    @property
    def entering(self) -> float:
        """The RMS of what enters the layer: positions that are added to the embedding included."""
        return float(self.stages.loc[self.stages["stage"] == "resid_pre", "rms"].iloc[0])

    @property
    def first(self) -> float:
        """The RMS after the first layer."""
        return float(self.stages.loc[self.stages["part"] == "stream", "rms"].iloc[0])

    @property
    def largest_write(self) -> pd.Series | None:
        """What adds most to the stream, by RMS; None where norms rescale what is added."""
        writes = [i for i, part in enumerate(self.stages["part"]) if part in WRITERS]
        if not writes or self.run.config.norm.norm_placement in RESCALED:
            return None
        return self.stages.iloc[max(writes, key=self.stages["rms"].tolist().__getitem__)]

    @property
    def end(self) -> float:
        """The RMS of the last stage."""
        return float(self.stages["rms"].iloc[-1])


@dataclass(frozen=True, eq=False)
class LayerHeads:
    """The measures of the heads of one layer of a run (see `blocks.observe.heads`), a row each.

    Two columns more say what each is called, by the head probe where `is_probed`: badge,
    badge_score.
    """

    run: Run
    layer: int
    heads: pd.DataFrame
    is_probed: bool = False

    @property
    def sharpest(self) -> pd.Series:
        """The head with the least entropy, those that rest on sinks left out."""
        heads = without_resting(self.heads)
        return heads.iloc[int(heads["entropy_bits"].argmin())]

    @property
    def n_resting(self) -> int:
        """How many heads were left out."""
        return len(self.heads) - len(without_resting(self.heads))

    @property
    def named(self) -> pd.DataFrame:
        """The heads that have a name."""
        return self.heads[self.heads["badge"] != ""]


@dataclass(frozen=True, eq=False)
class PredictionFacts:
    """What an encoder expects at a token: the likeliest first, with label and probability.

    `written`: the likeliest of all positions as a text; `hidden`: the word behind `[MASK]`, where
    one is hidden; `card`: of the model that was trained, None where weights are random.
    """

    run: Run
    token: int
    candidates: pd.DataFrame
    written: str
    hidden: str
    card: Card | None
