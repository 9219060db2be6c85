"""What is said of positions, tested: each claim with a measured number and its limit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.other_positions import (
    first_layer,
    first_vectors,
    in_float32,
    learned_table,
    with_position,
)
from blocks.inspection.position_tables import place_codes
from blocks.model.attention import attention_scores
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.models import Model
from blocks.model.positions import Rope, alibi_slopes, rope_of, rotate_pairs
from blocks.model.randomness import generator
from blocks.observe.recording import record

LEAST_DISTANCE = 1e-6
MOST_VALUE = 1 + 1e-6
SHIFT_ERROR = 1e-4
SCORE_ERROR = 1e-4  # of the largest |query| · |key| / √d_head
OUTPUT_ERROR = 1e-4  # of the largest output
LEAST_TO_FIT = 4
MOST_FEATURES = 32  # of the matrix that moves positions on
LONG = 512  # tokens: two such texts are read one after the other


class Claim(StrEnum):
    """A claim about positional encodings that can be tested."""

    UNIQUE = "unique"
    BOUNDED = "bounded"
    SHIFT = "linear_shift"
    DISTANCE = "distance_only"
    PERMUTATION = "permutation"


@dataclass(frozen=True)
class Verdict:
    """A claim, measured: it holds where `measured` is above, or not above, the `limit`.

    `measured` is None where the claim says nothing about this kind, and no number where what is
    measured overflows. `extra`: a second number, see the claim's own function.
    """

    claim: Claim
    measured: float | None
    limit: float
    must_exceed: bool = False
    extra: float | None = None

    @property
    def overflows(self) -> bool:
        """Whether what is measured is no number."""
        numbers = (self.measured, self.extra)
        return not all(math.isfinite(each) for each in numbers if each is not None)

    @property
    def holds(self) -> bool | None:
        """Whether the claim is true here; None where it says nothing, or cannot be measured."""
        if self.measured is None or self.overflows:
            return None
        return (self.measured > self.limit) == self.must_exceed


@dataclass(frozen=True, eq=False)
class ClaimsFacts:
    """The verdicts on each kind that was measured, in the order of Claim; none where it cannot be.

    Measured over `n` positions, moved on by `shift`; `token` stood at every position.
    """

    n: int
    shift: int
    token: str
    verdicts: Mapping[PositionKind, tuple[Verdict, ...]]

    def of(self, kind: PositionKind, claim: Claim) -> Verdict | None:
        """One verdict; None where the kind was not measured."""
        return next((each for each in self.verdicts.get(kind, ()) if each.claim is claim), None)

    @property
    def relative(self) -> tuple[PositionKind, ...]:
        """The kinds with which order matters, and scores depend on distance alone."""
        return tuple(
            kind
            for kind, found in self.verdicts.items()
            if {Claim.DISTANCE: True, Claim.PERMUTATION: False}.items()
            <= {each.claim: each.holds for each in found}.items()
        )

    @property
    def permuted(self) -> pd.DataFrame:
        """How much permuted tokens change the output: kind, free (no mask), causal."""
        found = [(kind, self.of(kind, Claim.PERMUTATION)) for kind in self.verdicts]
        rows = [(kind, v.measured, v.extra) for kind, v in found if v and v.holds is not None]
        return pd.DataFrame(rows, columns=["kind", "free", "causal"])

    @property
    def mask_tells_order(self) -> bool:
        """Whether without positions a causal mask makes order matter."""
        row = self.permuted[self.permuted["kind"] == PositionKind.NONE].iloc[0]
        return bool(row["causal"] > 10 * row["free"])


@dataclass(frozen=True, eq=False)
class ShiftFacts:
    """The matrix that moves positions on by `shift`, and what it does to one position's features.

    `matrix`: its first features, of `n_features`; `is_fitted`: by least squares, not by formula.
    """

    shift: int
    matrix: NDArray[np.float32]
    n_features: int
    is_fitted: bool

    @property
    def largest(self) -> float:
        """The largest entry by size."""
        return float(np.abs(self.matrix).max())


def shift_facts(
    config: ModelConfig, kind: PositionKind, learned: Tensor, shift: int
) -> ShiftFacts | None:
    """M_k of a kind; None where it has none, or `learned` has too few rows to fit it."""
    waves = waves_of(config, kind)
    if waves:
        matrix = shift_matrix(waves, shift)
    elif kind is PositionKind.LEARNED and len(learned) - shift >= LEAST_TO_FIT:
        matrix, _errors = fitted_shift(learned, shift)
    else:
        return None
    shown = matrix[:MOST_FEATURES, :MOST_FEATURES].float().numpy()
    return ShiftFacts(shift, shown, len(matrix), is_fitted=waves is None)


def verdicts(
    model: Model,
    config: ModelConfig,
    kind: PositionKind,
    values: Tensor,
    *,
    n: int,
    shift: int,
    token: int,
    seed: int,
) -> tuple[Verdict, ...]:
    """Every claim for the weights of `model` with positions of this kind, `n` of them.

    `values`: the input of the run, (batch, seq, …); `token`: which of its tokens stands at every
    position where scores are compared. Raises `ConfigError` where the kind does not fit.
    """
    learned = learned_table(model, config, seed).float().cpu()
    told = place_codes(config, kind, n, learned)
    return (
        unique(told),
        bounded(config, kind, n, learned),
        linear_shift(config, kind, told, shift),
        distance_only(model, config, kind, values, n=n, token=token, seed=seed),
        permutation(model, config, kind, values, seed=seed),
    )


def unique(told: Tensor) -> Verdict:
    """No two positions are told alike: the smallest distance between two rows."""
    if len(told) < 2:
        return Verdict(Claim.UNIQUE, None, LEAST_DISTANCE, must_exceed=True)
    least = torch.pdist(told.double()).min().item()
    return Verdict(Claim.UNIQUE, least, LEAST_DISTANCE, must_exceed=True)


def bounded(config: ModelConfig, kind: PositionKind, n: int, learned: Tensor) -> Verdict:
    """Every value lies in [−1, 1]: the largest |value|; of ALiBi, the largest bias of all heads."""
    if kind is PositionKind.NONE:
        return Verdict(Claim.BOUNDED, None, MOST_VALUE)
    told = place_codes(config, kind, n, learned)
    most = told.abs().max().item()
    if kind is PositionKind.ALIBI:
        most = max(alibi_slopes(config.n_heads)) * (n - 1)
    return Verdict(Claim.BOUNDED, most, MOST_VALUE)


def shift_matrix(waves: Rope, shift: int, n: int = 0) -> Tensor:
    """M with PE(position + shift) = M · PE(position), in a text of n: (width, width), float64.

    A turn by shift · speed in each pair (sin, cos) of features. Of an odd width the last sine has
    no cosine beside it, so no M is exact. Vaswani et al. 2017, section 3.5.
    """
    angles, width = waves.speeds(n, dtype=torch.float64) * shift, waves.width
    turns = torch.stack((angles.cos(), angles.sin(), -angles.sin(), angles.cos()), dim=1)
    return torch.block_diag(*turns.view(-1, 2, 2))[:width, :width]


def fitted_shift(rows: Tensor, shift: int) -> tuple[Tensor, Tensor]:
    """The best M by least squares, and its errors where it was not fitted.

    Fitted to every other position, measured at those between: with as many features as positions
    an M that has seen them all is always exact, and says nothing. (width, width), (n, width).
    """
    before, after = rows[:-shift].double(), rows[shift:].double()
    matrix = torch.linalg.lstsq(before[::2], after[::2], driver="gelsd").solution.T
    return matrix, before[1::2] @ matrix.T - after[1::2]


def waves_of(config: ModelConfig, kind: PositionKind) -> Rope | None:
    """The waves of a kind; None where it is not made of waves."""
    match kind:
        case PositionKind.SINUSOIDAL:
            return Rope(config.d_model)
        case PositionKind.ROPE:
            return rope_of(config)
        case _:
            return None


def linear_shift(config: ModelConfig, kind: PositionKind, told: Tensor, shift: int) -> Verdict:
    """PE(position + shift) is linear in PE(position): max |M·PE(position) − PE(position + shift)|.

    M is the matrix of turns, or for a learned table the best fit; `extra`: the error as a share
    of the table's RMS. Of none and ALiBi, which give no position a vector, it says nothing.
    """
    waves = waves_of(config, kind)
    is_short = len(told) - shift < (1 if waves else LEAST_TO_FIT)
    if is_short or kind in (PositionKind.NONE, PositionKind.ALIBI):
        return Verdict(Claim.SHIFT, None, SHIFT_ERROR)
    rows = told.double()
    if waves:
        error = rows[:-shift] @ shift_matrix(waves, shift, len(rows)).T - rows[shift:]
    else:
        _matrix, error = fitted_shift(rows, shift)
    rms = rows.square().mean().sqrt().clamp(min=torch.finfo(torch.float64).tiny)
    share = error.square().mean().sqrt() / rms
    return Verdict(Claim.SHIFT, error.abs().max().item(), SHIFT_ERROR, extra=share.item())


def distance_only(
    model: Model,
    config: ModelConfig,
    kind: PositionKind,
    values: Tensor,
    *,
    n: int,
    token: int,
    seed: int,
) -> Verdict:
    """The score of two tokens depends on their distance only.

    One token stands at all `n` positions, the first layer runs: how much the scores of equal
    distance differ, as a share of the largest |query| · |key| / √d_head. In float32; `extra` is
    the same in float64, for RoPE with angles in float64 too.
    """
    one = first_vectors(model, values)[:1, token : token + 1]
    if kind is PositionKind.LEARNED:
        n = min(n, len(learned_table(model, config, seed)))
    single, double = (
        _uneven(_first_scores(model, config, kind, one.expand(-1, n, -1), dtype, seed))
        for dtype in (torch.float32, torch.float64)
    )
    return Verdict(Claim.DISTANCE, single, SCORE_ERROR, extra=double)


def _first_scores(
    model: Model, config: ModelConfig, kind: PositionKind, x: Tensor, dtype: torch.dtype, seed: int
) -> tuple[Tensor, float]:
    """Scores of the first layer, and the largest that queries and keys of their lengths could have.

    In float64 RoPE's angles are float64 as well; the model itself computes them in float32.
    """
    is_exact_turn = kind is PositionKind.ROPE and dtype is torch.float64
    block = first_layer(
        model, config, PositionKind.NONE if is_exact_turn else kind, dtype, seed=seed
    )
    seen = record(block, x.to(dtype), keep={"layers.0.q", "layers.0.k", "layers.0.scores"})
    q, k, scores = (seen.tensor(name) for name in ("q", "k", "scores"))
    if is_exact_turn:
        rope = rope_of(config)
        angles = rope.angles(x.shape[1], device=x.device, dtype=torch.float64)
        first = config.d_head if config.is_latent else 0  # where what is turned begins
        q_turned, k_turned = (
            torch.cat(
                (each[..., :first], rotate_pairs(each[..., first:], angles, rope.size)), dim=-1
            )
            for each in (q, k)
        )
        scores = attention_scores(q_turned, k_turned)
    most = q.norm(dim=-1).max() * k.norm(dim=-1).max() * q.shape[-1] ** -0.5
    return scores, most.item()


def _uneven(found: tuple[Tensor, float]) -> float:
    """How much the scores of equal distance differ, as a share of the largest there could be.

    What a window hides has no score.
    """
    scores, most = found
    n = scores.shape[-1]
    diagonals = (scores.diagonal(i, dim1=-2, dim2=-1) for i in range(1 - n, n))
    seen = (each for each in diagonals if each.isfinite().all())
    widths = [(d.amax(dim=-1) - d.amin(dim=-1)).max() for d in seen]
    return torch.stack(widths).max().item() / max(most, torch.finfo(torch.float32).tiny)


def permutation(
    model: Model, config: ModelConfig, kind: PositionKind, values: Tensor, *, seed: int
) -> Verdict:
    """Without a mask, permuted tokens give permuted outputs and nothing else changes.

    Max |f(permuted) − permuted f| of the whole model as a share of the largest |f|, in float32,
    evaluation mode. `extra`: the same under a causal mask.
    """
    n = values.shape[1]
    if n < 2:
        return Verdict(Claim.PERMUTATION, None, OUTPUT_ERROR)
    whole = in_float32(with_position(model, config, kind, seed=seed, n_rows=n))
    if kind is PositionKind.LEARNED and len(whole.state_dict()["position.weight"]) < n:
        return Verdict(Claim.PERMUTATION, None, OUTPUT_ERROR)
    x = values.float() if values.is_floating_point() else values
    everyone, order = torch.ones(n, n, dtype=torch.bool, device=x.device), new_order(n, seed)
    rows = torch.cat((x, x[:, order.to(x.device)]))
    # Together, unless one would leave the other less room.
    some = rows.split(1 if config.experts.expert_capacity or n > LONG else 2)
    free, causal = (_moved(whole, some, mask, order) for mask in (everyone, everyone.tril()))
    return Verdict(Claim.PERMUTATION, free, OUTPUT_ERROR, extra=causal)


def new_order(n: int, seed: int) -> Tensor:
    """A random order of n tokens that is not the old one: (n,)."""
    order = torch.randperm(n, generator=generator(seed, "permutation"))
    return order.roll(1) if torch.equal(order, torch.arange(n)) else order


def _moved(model: Model, some: Sequence[Tensor], mask: Tensor, order: Tensor) -> float:
    """How far what comes out of tokens in another order is from what came out, in that order."""
    with torch.no_grad():
        before, after = (row for rows in some for row in model(rows, mask))
    most = before.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    return ((after - before[order.to(before.device)]).abs().max() / most).item()
