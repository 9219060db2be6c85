"""LayerNorm, RMSNorm and BatchNorm on the same values: what comes out, and what it depends on."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pandas as pd
import torch
from torch import Tensor

from blocks.model.dropout import training_mode
from blocks.model.kinds import NormKind
from blocks.model.masks import MaskConfig
from blocks.model.model_input import PADDING
from blocks.model.models import Model
from blocks.model.normalization import BatchNorm, LayerNorm, Norm, RMSNorm, at_least_float32
from blocks.model.probe import Probe
from blocks.model.randomness import generator
from blocks.observe.recording import Recording, record
from blocks.observe.run import Run
from blocks.observe.wiring import PartKind, wiring

NORMS: Mapping[NormKind, type[Norm]] = {
    NormKind.LAYER_NORM: LayerNorm,
    NormKind.RMS_NORM: RMSNorm,
    NormKind.BATCH_NORM: BatchNorm,
}
INPUT, TRAINING, EVALUATION = "input", "batchnorm_training", "batchnorm_evaluation"
CHANGES = ("batch", "padding", "mode")
UPDATES = (0, 1, 10, 100)
N_PADDING = 4


@dataclass(frozen=True)
class NormInput:
    """The tensor that a norm reads: (batch, seq, d_model), each sequence with the same padding."""

    batch: int
    labels: tuple[str, ...]
    d_model: int
    padding_per_sequence: int

    @property
    def seq_len(self) -> int:
        """Tokens of a sequence, padding included."""
        return len(self.labels)

    @property
    def n_tokens(self) -> int:
        """Tokens of all sequences."""
        return self.batch * self.seq_len

    @property
    def n_padding(self) -> int:
        """How many of them are padding."""
        return self.batch * self.padding_per_sequence


def norm_input(run: Run) -> NormInput:
    """What the norms of a run read."""
    batch, _seq_len = run.input.shape
    return NormInput(batch, run.input.labels, run.config.d_model, run.input.n_padding)


def norm_stages(run: Run, layer: int) -> tuple[str, ...]:
    """The stages that the norms of a layer read; without a norm, the streams one could read."""
    steps = wiring(run.config, layer)
    read = (step.reads[0] for step in steps if step.part is PartKind.NORM)
    streams = (step.stage for step in steps if step.stage in ("resid_pre", "resid_mid"))
    return tuple(dict.fromkeys(read)) or tuple(streams)


@dataclass(frozen=True, eq=False)
class NormFacts:
    """The three norms on what one norm of a run reads; frames as the functions here make them.

    `has_others`, `has_padding`: whether the run has other sequences, and padding, of its own.
    """

    labels: tuple[str, ...]
    per_token: pd.DataFrame
    per_feature: pd.DataFrame
    dependence: pd.DataFrame
    running: pd.DataFrame
    has_others: bool
    has_padding: bool

    def token_stds(self, norm: str) -> tuple[float, float]:
        """The least and the largest standard deviation of a token that leaves this norm."""
        return _ends(self.per_token, norm)

    def feature_stds(self, norm: str) -> tuple[float, float]:
        """The same of a feature, over all tokens."""
        return _ends(self.per_feature, norm)

    def largest_mean(self, norm: str) -> float:
        """The largest |mean| of a token that leaves this norm."""
        found = self.per_token
        return float(found["mean"][found["norm"] == norm].abs().max())

    @property
    def change_per_token(self) -> float:
        """How far other tokens move a token that leaves LayerNorm or RMSNorm."""
        kinds = self.dependence["norm"].isin([NormKind.LAYER_NORM, NormKind.RMS_NORM])
        return float(self.dependence.loc[kinds, list(CHANGES)].to_numpy().max())

    @property
    def change_in_batch(self) -> Mapping[str, float]:
        """How far each of CHANGES moves what leaves BatchNorm in training mode."""
        found = self.dependence[self.dependence["norm"] == TRAINING]
        return {change: float(found[change].iloc[0]) for change in CHANGES}


def _ends(table: pd.DataFrame, norm: str) -> tuple[float, float]:
    found = table["std"][table["norm"] == norm]
    return float(found.min()), float(found.max())


def norm_facts(run: Run, model: Model, seen: Recording, layer: int, stage: str) -> NormFacts:
    """What each norm makes of a stage of this run, and what that depends on."""
    x, eps = seen.tensor(stage, layer), run.config.norm.norm_eps
    around = surroundings(run, model, x, f"layers.{layer}.{stage}")
    left = outputs(x, eps)
    has_others, has_padding = around.is_own
    return NormFacts(
        run.input.labels,
        per_token(left),
        per_feature(left),
        dependence(around, eps),
        running(around.x, eps),
        has_others,
        has_padding,
    )


def plain_norm(kind: NormKind, d_model: int, eps: float, device: torch.device) -> Norm:
    """A norm without learned scale and shift; running statistics as they begin, 0 and 1."""
    norm = NORMS[kind](d_model, eps, Probe("out"), affine=False).to(device)
    for name, buffer in norm.named_buffers():
        buffer.fill_(1.0 if name == "running_var" else 0.0)
    return norm


def normalised(norm: Norm, x: Tensor, *, training: bool, updates: bool = False) -> Tensor:
    """What leaves the norm, in training or in evaluation: (batch, seq, d_model) to the same."""
    mode = training_mode(generator(0, "norm"), updates_statistics=updates)
    with torch.no_grad(), mode if training else nullcontext():
        return norm(x)


def outputs(x: Tensor, eps: float) -> dict[str, Tensor]:
    """The input, and what each norm makes of it; BatchNorm in training and in evaluation."""
    norms = {kind: plain_norm(kind, x.shape[-1], eps, x.device) for kind in NORMS}
    return {
        INPUT: x,
        str(NormKind.LAYER_NORM): normalised(norms[NormKind.LAYER_NORM], x, training=False),
        str(NormKind.RMS_NORM): normalised(norms[NormKind.RMS_NORM], x, training=False),
        TRAINING: normalised(norms[NormKind.BATCH_NORM], x, training=True),
        EVALUATION: normalised(norms[NormKind.BATCH_NORM], x, training=False),
    }


def statistics(x: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """Mean, standard deviation and RMS over `dim`: (3, …)."""
    exact = at_least_float32(x)
    var, mean = torch.var_mean(exact, dim=dim, correction=0)
    return torch.stack((mean, var.sqrt(), exact.square().mean(dim=dim).sqrt()))


def per_token(seen: Mapping[str, Tensor]) -> pd.DataFrame:
    """Over the features of each token of the first sequence: norm, token, mean, std, rms."""
    return _frame({name: statistics(x[0], -1) for name, x in seen.items()}, "token")


def per_feature(seen: Mapping[str, Tensor]) -> pd.DataFrame:
    """Over all tokens of all sequences, for each feature: norm, feature, mean, std, rms."""
    return _frame({name: statistics(x, (0, 1)) for name, x in seen.items()}, "feature")


def _frame(found: Mapping[str, Tensor], what: str) -> pd.DataFrame:
    numbers = torch.stack(list(found.values())).cpu().numpy()  # (norm, 3, n)
    tables = [
        pd.DataFrame({"norm": name, what: range(rows.shape[1]), **_columns(rows)})
        for name, rows in zip(found, numbers, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def _columns(rows: Tensor) -> dict[str, Tensor]:
    return dict(zip(("mean", "std", "rms"), rows, strict=True))


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A sequence as a norm reads it, and what else may be in its batch.

    `x`: its tokens, without padding, (1, seq, d_model); `others`: more sequences of that shape;
    `padding`: (1, n_padding, d_model). `is_own`: whether others, and padding, are of the run.
    """

    x: Tensor
    others: Tensor
    padding: Tensor
    is_own: tuple[bool, bool]


def surroundings(run: Run, model: Model, seen: Tensor, path: str) -> Surroundings:
    """The first sequence of `seen`, which passed the probe `path` in this run, and its company.

    Where the run has no other sequence, the model runs on the second half of its tokens, twice;
    where it has no padding, on padding alone.
    """
    is_token = run.input.is_token()[0]
    others, padding = seen[1:, is_token], seen[:1, ~is_token]
    is_own = len(others) > 0, padding.shape[1] > 0
    if not is_own[0]:
        mask = run.build_mask()
        others = record(model, _second_half(run, is_token), mask=mask, keep={path}).tensor(path)
        others = others[:, is_token]
    if not is_own[1]:
        alone = _padding_alone(run)
        mask = alone.build_mask()
        padding = record(model, alone.values(), mask=mask, keep={path}).tensor(path)
    return Surroundings(seen[:1, is_token], others, padding, is_own)


def _second_half(run: Run, is_token: Tensor) -> Tensor:
    """What goes into the model, each token replaced by one of the second half."""
    values, tokens = run.values(), is_token.nonzero()[:, 0]
    half = tokens[len(tokens) // 2 :]
    other = values.clone()
    other[:, tokens] = values[:, half.repeat(2)[: len(tokens)]]
    return other


def _padding_alone(run: Run) -> Run:
    n = min(N_PADDING, run.config.max_seq_len)
    ids = (run.input.padding_id,) * n
    return replace(
        run, input=replace(run.input, tokens=(PADDING,) * n, token_ids=ids), mask=MaskConfig()
    )


def dependence(around: Surroundings, eps: float) -> pd.DataFrame:
    """How far the output of one sequence moves when only what surrounds it changes.

    One row a norm: norm, and the largest change of any value when the sequence is in a `batch`
    with others, when it has `padding`, and in the other `mode` (training, evaluation).
    """
    rows, x, others, padding = [], around.x, around.others, around.padding
    for kind in NORMS:
        for training in (True, False) if kind is NormKind.BATCH_NORM else (True,):
            norm = plain_norm(kind, x.shape[-1], eps, x.device)
            alone = normalised(norm, x, training=training)
            in_batch = normalised(norm, torch.cat((x, others)), training=training)[:1]
            padded = normalised(norm, torch.cat((x, padding), 1), training=training)
            other_mode = normalised(norm, x, training=not training)
            changed = (in_batch, padded[:, : x.shape[1]], other_mode)
            rows.append(torch.stack([_largest_change(alone, other) for other in changed]))
    numbers = torch.stack(rows).cpu().numpy()
    names = [str(NormKind.LAYER_NORM), str(NormKind.RMS_NORM), TRAINING, EVALUATION]
    return pd.DataFrame(numbers, columns=list(CHANGES)).assign(norm=names)


def _largest_change(one: Tensor, other: Tensor) -> Tensor:
    return (at_least_float32(one) - at_least_float32(other)).abs().amax()


def running(x: Tensor, eps: float) -> pd.DataFrame:
    """How far BatchNorm in evaluation is from training, after n passes over this batch.

    Columns: updates, change (the largest of any value). It does not end at 0, since the running
    variance is that of a sample, n/(n−1) larger.
    """
    norm = plain_norm(NormKind.BATCH_NORM, x.shape[-1], eps, x.device)
    in_training = normalised(norm, x, training=True)
    found = []
    for n_before, n in zip((0, *UPDATES), UPDATES, strict=False):
        for _ in range(n - n_before):
            normalised(norm, x, training=True, updates=True)
        found.append(_largest_change(in_training, normalised(norm, x, training=False)))
    return pd.DataFrame({"updates": UPDATES, "change": torch.stack(found).cpu().numpy()})
