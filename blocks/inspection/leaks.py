"""Does the mask hold? Change one token and see which outputs move.

What an output may depend on follows from the mask alone: through all layers, token i may hold
something of token j only where a chain of allowed cells leads from i to j. Everywhere else the
output must be the same to the last bit, and the gradient must be exactly 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.cost.memory import estimate_memory
from blocks.cost.parameters import count_parameters
from blocks.inspection.mask_faults import MaskFault, first_mask, of_layer, open_mask, planted
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.models import Model
from blocks.model.probe import Replacement
from blocks.model.randomness import generator
from blocks.observe.interventions import InterventionKind
from blocks.observe.recording import record
from blocks.observe.run import Run

N_PROJECTIONS = 4
MOST_BYTES, MOST_FLOPS = 2**29, 8e9  # of one step: what a small machine does in about a second
SLOW_FORMATS = ("bfloat16", "float16")  # on a CPU


class AttentionPath(StrEnum):
    """How attention is computed: step by step as recorded, or by the fused kernel."""

    EXPLICIT = "explicit"
    FUSED = "fused"


@dataclass(frozen=True, kw_only=True)
class LeakTest:
    """A test to run: this run, one way of computing it, and a planted fault or none.

    `change_seed` draws what a token is replaced by, and the projections of the gradient;
    `score_scale` multiplies QKᵀ in every layer.
    """

    run: Run
    path: AttentionPath = AttentionPath.EXPLICIT
    fault: MaskFault = MaskFault.NONE
    score_scale: float = 1.0
    change_seed: int = 0


@dataclass(frozen=True)
class Verdict:
    """What a test found in the cells that are forbidden: how many of them are not exactly 0.

    `worst` is the largest value there, at (`output`, `token`); `n_unknown` cells are not a number.
    """

    n_forbidden: int
    n_leaking: int
    n_unknown: int
    worst: float
    output: int
    token: int

    @property
    def is_clean(self) -> bool:
        """Every forbidden cell is exactly 0, and there is one."""
        return self.n_forbidden > 0 and not self.n_leaking and not self.n_unknown


@dataclass(frozen=True, eq=False)
class LeakFacts:
    """What a leak test has found as far as it has gone.

    `forbidden`: the cells that must be exactly 0 through all layers, (output, token); `n_closed`:
    the cells that the mask closes in one layer; `moved`: (output, one of the `tokens` that were
    changed); `gradient`: (one of the `outputs` that were followed back, token), None before the
    first; `mixing`: by how much one sequence of a batch moves when another one changes.
    """

    test: LeakTest
    forbidden: NDArray[np.bool_]
    n_closed: int
    tokens: tuple[int, ...]
    outputs: tuple[int, ...]
    moved: NDArray[np.float64]
    gradient: NDArray[np.float64] | None
    mixing: float

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens of the run."""
        return self.test.run.input.labels

    @property
    def n_forbidden(self) -> int:
        """How many cells must be exactly 0, tested or not."""
        return int(self.forbidden.sum())

    @property
    def is_whole(self) -> bool:
        """Whether every token was changed and every output followed."""
        return len(self.tokens) == len(self.labels) == len(self.outputs)

    @property
    def forbidden_when_changed(self) -> NDArray[np.bool_]:
        """The cells of `moved` that must be 0."""
        return self.forbidden[:, list(self.tokens)]

    @property
    def forbidden_when_followed(self) -> NDArray[np.bool_]:
        """The cells of `gradient` that must be 0."""
        return self.forbidden[list(self.outputs), :]

    @cached_property
    def by_change(self) -> Verdict:
        """What the changes say."""
        cells, outputs = self.forbidden_when_changed, range(len(self.forbidden))
        return verdict(self.moved, cells, outputs, self.tokens)

    @cached_property
    def by_gradient(self) -> Verdict | None:
        """What the gradients say."""
        if self.gradient is None:
            return None
        cells = self.forbidden_when_followed
        return verdict(self.gradient, cells, self.outputs, range(cells.shape[1]))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Both, or the first where nothing was followed yet."""
        return (self.by_change,) if self.by_gradient is None else (self.by_change, self.by_gradient)

    @property
    def leak(self) -> Verdict | None:
        """The verdict that has found a leak; that of the changes where both have."""
        return next((each for each in self.verdicts if each.n_leaking), None)

    @property
    def n_unknown(self) -> int:
        """Forbidden cells that are not a number."""
        return sum(each.n_unknown for each in self.verdicts)

    @property
    def is_clean(self) -> bool | None:
        """Whether nothing leaks; None where the test cannot say."""
        if self.leak is not None:
            return False
        return True if all(each.is_clean for each in self.verdicts) else None

    @property
    def n_allowed(self) -> int:
        """Cells of `moved` that may change."""
        return int((~self.forbidden_when_changed).sum())

    @property
    def n_moving(self) -> int:
        """How many of them do."""
        return int((self._allowed_changes > 0).sum())

    @property
    def most_moved(self) -> float:
        """The largest change of an allowed cell."""
        return float(self._allowed_changes.max(initial=0.0))

    @property
    def _allowed_changes(self) -> NDArray[np.float64]:
        return self.moved[~self.forbidden_when_changed & np.isfinite(self.moved)]

    @property
    def table(self) -> pd.DataFrame:
        """One row a pair of output and changed token: is_forbidden, moved, and gradient."""
        rows = [
            (output, self.tokens[column], bool(self.forbidden[output, self.tokens[column]]), x)
            for (output, column), x in np.ndenumerate(self.moved)
        ]
        table = pd.DataFrame(rows, columns=["output", "token", "is_forbidden", "moved"])
        if self.gradient is None:
            return table
        slopes = [
            (self.outputs[row], token, x) for (row, token), x in np.ndenumerate(self.gradient)
        ]
        gradient = pd.DataFrame(slopes, columns=["output", "token", "gradient"])
        return table.merge(gradient, how="left", on=["output", "token"])


def reachable(mask: Tensor, config: ModelConfig) -> Tensor:
    """Whose input an output may depend on through all layers: (output, token), both (seq, seq).

    The masks of all layers composed, a local layer's with its window. The residual connection lets
    every token keep its own, and so does a feed-forward layer that stands beside attention; without
    either, a token still asks the query, which matters where there are two keys to weigh.
    """
    is_parallel = config.norm.norm_placement is NormPlacement.PARALLEL
    reach = torch.eye(len(mask), device=mask.device)
    for layer in range(config.n_layers):
        own = of_layer(mask, config, layer)
        keeps_own = own.sum(dim=-1) > 1
        if config.norm.residual or is_parallel:
            keeps_own = torch.ones_like(keeps_own)
        reach = ((own | keeps_own.diag()).float() @ reach).clamp(max=1)
    return reach.bool()


def forbidden(run: Run) -> NDArray[np.bool_]:
    """The cells that must be exactly 0: (output, token)."""
    return ~reachable(open_mask(run), run.config).cpu().numpy()


def known_leaks(run: Run) -> tuple[str, ...]:
    """Parts of this run that let tokens learn of each other past any mask."""
    config, found = run.config, []
    if run.training and config.norm.norm_kind is NormKind.BATCH_NORM:
        found.append("batchnorm")
    if config.n_experts > 1 and config.experts.expert_capacity > 0:
        found.append("expert_capacity")
    if any(each.kind is InterventionKind.MEAN for each in run.interventions):
        found.append("mean")
    return tuple(found)


def moved(
    test: LeakTest, model: Model, tokens: Sequence[int], *, together: bool
) -> NDArray[np.float64]:
    """By how much each output moves when one token changes: (len(tokens), seq), max |Δ|.

    Changed and unchanged run in batches of the same shape, and the same row of both is compared:
    a kernel may treat two rows differently, but never the same row twice. `together` puts all
    changes into one batch; where sequences of a batch read each other, each must run alone.
    """
    if not together:
        return np.concatenate([_moved_alone(test, model, token) for token in tokens])
    original = test.run.values()[:1].repeat_interleave(len(tokens), dim=0)
    changed = original.clone()
    _replace_tokens(test, changed, tokens)
    difference = _output(test, model, changed) - _output(test, model, original)
    return _largest(difference)


def _moved_alone(test: LeakTest, model: Model, token: int) -> NDArray[np.float64]:
    original = test.run.values()
    changed = original.clone()
    _replace_tokens(test, changed[:1], [token])
    difference = _output(test, model, changed) - _output(test, model, original)
    return _largest(difference[:1])


def beside(test: LeakTest, model: Model) -> float:
    """By how much a sequence moves when another one in its batch changes: 0 where all is well."""
    n = test.run.input.shape[1]
    original = test.run.values()[:1].repeat_interleave(2, dim=0)
    changed = original.clone()
    for token in range(n):
        _replace_tokens(test, changed[:1], [token])
    difference = _output(test, model, changed) - _output(test, model, original)
    return float(_largest(difference[1:]).max())


def _replace_tokens(test: LeakTest, values: Tensor, tokens: Sequence[int]) -> None:
    """In row r of the batch, put another token (or vector) in the place `tokens[r]`."""
    for row, token in enumerate(tokens):
        draw = generator(test.change_seed, "leak", str(token))
        if test.run.config.architecture.reads_tokens:
            step = torch.randint(1, test.run.config.vocab_size, (), generator=draw)
            values[row, token] = (values[row, token] + step.item()) % test.run.config.vocab_size
        else:
            values[row, token] = torch.randn(values.shape[-1], generator=draw).to(values)


def _largest(difference: Tensor) -> NDArray[np.float64]:
    """Max |Δ| over the features of an output: (batch, seq, features) to (batch, seq)."""
    return difference.abs().amax(dim=-1).double().cpu().numpy()


def _output(test: LeakTest, model: Model, values: Tensor) -> Tensor:
    return _pass(test, model, values, _replacements(test, model))


def _replacements(test: LeakTest, model: Model) -> dict[str, Replacement]:
    explicit = test.path is AttentionPath.EXPLICIT
    faults = planted(test.run, test.fault, model, score_scale=test.score_scale, explicit=explicit)
    return {**test.run.replacements(model), **faults}


def _pass(
    test: LeakTest, model: Callable[..., Tensor], values: Tensor, replace: Mapping[str, Replacement]
) -> Tensor:
    """What comes out of one pass of the test's run on these values."""
    run = test.run
    return record(
        model,
        values,
        mask=first_mask(run.build_mask()),
        keep=(),
        replace=replace,
        training_seed=run.seed if run.training else None,
    ).output


def gradients(
    test: LeakTest, model: Model, outputs: Sequence[int], *, together: bool
) -> NDArray[np.float64]:
    """How strongly each output depends on each input: (len(outputs), seq).

    ‖∂output_i/∂input_j‖, estimated from `N_PROJECTIONS` random directions r of the output, each
    entry ±1: the mean of ‖rᵀJ‖² is ‖J‖² (Hutchinson 1990). Where J is 0, so is the estimate.
    `input` is the vector of a token as it enters, the embedding of a whole model.
    """
    if not together:
        return np.concatenate([_gradients(test, model, [i], alone=True) for i in outputs])
    return _gradients(test, model, outputs, alone=False)


def _gradients(
    test: LeakTest, model: Model, outputs: Sequence[int], *, alone: bool
) -> NDArray[np.float64]:
    values = test.run.values()
    if not alone:
        values = values[:1].repeat_interleave(len(outputs), dim=0)
    leaf, output = _with_gradient(test, model, values)
    rows = torch.arange(len(outputs), device=output.device)
    chosen = output[rows, torch.tensor(outputs, device=output.device)]  # (len(outputs), features)
    chosen = chosen.to(torch.promote_types(chosen.dtype, torch.float32))
    squares = torch.zeros(len(outputs), values.shape[1], dtype=torch.float64, device=values.device)
    for direction in projections(test, chosen.shape[-1]).to(chosen):
        (slope,) = torch.autograd.grad((chosen @ direction).sum(), leaf, retain_graph=True)
        squares += slope[: len(outputs)].double().square().sum(dim=-1)
    return (squares / N_PROJECTIONS).sqrt().cpu().numpy()


def projections(test: LeakTest, n_features: int) -> Tensor:
    """The random directions, each entry ±1: (N_PROJECTIONS, features)."""
    draw = generator(test.change_seed, "projection")
    return torch.randint(0, 2, (N_PROJECTIONS, n_features), generator=draw) * 2 - 1


def _with_gradient(test: LeakTest, model: Model, values: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors that go in, as a leaf, and what comes out of them."""
    leaves: list[Tensor] = []

    def leaf(x: Tensor) -> Tensor:
        leaves.append(x.detach().clone().requires_grad_())
        return leaves[0]

    def followed(x: Tensor, mask: Tensor | None) -> Tensor:
        with torch.enable_grad():  # `record` has switched it off
            return model(x if is_whole else leaf(x), mask)

    is_whole = test.run.config.architecture.reads_tokens
    replace = _replacements(test, model)
    if is_whole:
        replace["embedding"] = leaf
    output = _pass(test, followed, values, replace)
    return leaves[0], output


def verdict(
    values: NDArray[np.float64],
    forbidden: NDArray[np.bool_],
    outputs: Sequence[int],
    tokens: Sequence[int],
) -> Verdict:
    """What the forbidden cells say; both arrays are (len(outputs), len(tokens))."""
    is_unknown = forbidden & ~np.isfinite(values)
    seen = np.where(forbidden & ~is_unknown, values, 0.0)
    row, column = map(int, np.unravel_index(int(seen.argmax()), seen.shape))
    return Verdict(
        n_forbidden=int(forbidden.sum()),
        n_leaking=int((seen > 0).sum()),
        n_unknown=int(is_unknown.sum()),
        worst=float(seen.max()),
        output=outputs[row],
        token=tokens[column],
    )


def rows_at_once(run: Run) -> int:
    """How many sequences go through together in one step of a test."""
    config, seq_len = run.config, run.input.shape[1]
    dtype = devices.DTYPES[run.dtype]
    memory = estimate_memory(config, batch=1, seq_len=seq_len, dtype=dtype).activations
    parts = count_parameters(config).set_index("part")["count"]
    n_used = parts.drop(["embed", "position"], errors="ignore").sum()
    n_used += config.d_model * config.vocab_size if config.architecture.reads_tokens else 0
    attention = 2 * config.n_layers * config.d_model * seq_len
    flops = 2.0 * seq_len * (int(n_used) + attention)
    is_slow = run.device == "cpu" and run.dtype in SLOW_FORMATS
    most = MOST_FLOPS / 20 if is_slow else MOST_FLOPS
    return max(1, min(64, int(MOST_BYTES / (3 * memory)), int(most / flops)))
