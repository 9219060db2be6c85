"""One pass as a picture that moves: what flows where, with all numbers, small enough to send.

Of wide matrices some columns are sent, and of a deep model one layer is opened: of the
others the stream, and who reads from whom.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from blocks.inspection.scene_inside import inside
from blocks.inspection.scene_layers import CACHED, ROUTED, of_layers
from blocks.inspection.scene_matrix import Matrix, quantized
from blocks.inspection.scene_moves import CROSS, Move, MoveKind, layer_path, moves, stacks
from blocks.model.attention import ALL, Pattern, attention_scores
from blocks.model.config import ModelConfig
from blocks.model.models import Model
from blocks.observe.recording import Recording, probed, record
from blocks.observe.run import PATTERNS, Run
from blocks.observe.wiring import kept_stages

FEW_TOKENS, MOST_TOKENS = 32, 128  # of more than few, fewer columns are drawn
COLUMNS, FEWER_COLUMNS = (256, 32), (64, 24)  # of a layer that is opened, and of the others
MOST_SENT = 600_000  # bytes of a scene of many tokens
BUDGET = 240_000  # bytes of the opened layers, of about 300,000 in all
MOST_KEPT = 128 * 2**20  # bytes of one pass
INSIDE = ("q", "k", "v", "head_out", "hidden", "q_latent")
ENDS = ("embedding", "final_norm", "logits")
# These are drawn without numbers of their own: in a layer that is not opened, and at the end.
MADE_OF_OTHERS = {
    *(MoveKind.MASK, MoveKind.ATTEND, MoveKind.CARRY, MoveKind.FEED),
    *(MoveKind.LOGITS, MoveKind.CHOOSE),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """All moves of a pass with what they make, by path; `readings`: see `scene_layers`.

    `windows`: the tokens that are drawn, by stack; `seen`: the recording that all of it is of.
    """

    moves: tuple[Move, ...]
    matrices: Mapping[str, Matrix]
    readings: Mapping[str, Matrix]
    opened: frozenset[str]
    windows: Mapping[str, slice]
    seen: Recording

    @cached_property
    def n_bytes(self) -> int:
        """Of all numbers, with the step of each row."""
        each = (*self.matrices.values(), *self.readings.values())
        return sum(matrix.codes.nbytes + matrix.steps.nbytes for matrix in each)


def scene(run: Run, model: Model, opened: frozenset[str], token: int, first: int = 0) -> Scene:
    """Pass once through the model and keep what is drawn.

    `opened`: the layers whose inside is drawn (see `opened_layers`); of a long text the tokens are
    drawn that lead to `token`; of a wide matrix the columns from `first` on.
    """
    windows = token_windows(run, token)
    seen = _recorded(run, model, opened)
    found_inside = dict(inside(run, model, seen, opened))
    seen = replace(seen, tensors={**seen.tensors, **found_inside})
    making = Making(run, seen, opened, windows, first)
    every = moves(run.config, opened)
    found = {m.path: made for m in every if (made := making.matrix(m))}
    found_moves = tuple(m for m in every if m.path in found or m.kind in MADE_OF_OTHERS)
    return Scene(found_moves, found, dict(of_layers(seen, windows)), opened, windows, seen)


def most_tokens(config: ModelConfig) -> int:
    """How long a text may be of which all numbers are kept: about ten vectors a token and layer."""
    each = 10 * 4 * config.d_model * sum(stacks(config).values())
    return max(FEW_TOKENS, MOST_KEPT // each)


def opened_layers(run: Run, layer: int, stack: str = "") -> frozenset[str]:
    """How the paths of the layers begin that are opened: all, or one where all are too much."""
    config = run.config
    n_tokens = max(_length(window) for window in token_windows(run, 0).values())
    every = [layer_path(i, name) for name, n in stacks(config).items() for i in range(n)]
    if len(every) * _opened_bytes(config, n_tokens) <= BUDGET:
        return frozenset(every)
    wanted = layer_path(layer, stack)
    return frozenset([wanted if wanted in every else every[0]])


def _opened_bytes(config: ModelConfig, n_tokens: int) -> int:
    """About what one layer takes: five strips, hidden features, and of each head four matrices."""
    most, _few = columns(n_tokens)
    strips = 5 * min(config.d_model, most) + min(config.d_ff, most)
    heads = (2 * config.n_heads + 2 * config.n_kv_heads) * config.d_head
    return n_tokens * (strips + heads + 2 * config.n_heads * n_tokens)


def columns(n_tokens: int) -> tuple[int, int]:
    """How many columns of a matrix are drawn, in a layer that is opened and in the others."""
    return COLUMNS if n_tokens <= FEW_TOKENS else FEWER_COLUMNS


def most_drawn(config: ModelConfig) -> int:
    """How many tokens are drawn at once: as many as are small enough to send."""
    sizes = range(MOST_TOKENS, FEW_TOKENS, -16)
    return next((n for n in sizes if _sent_bytes(config, n) <= MOST_SENT), FEW_TOKENS)


def _sent_bytes(config: ModelConfig, n_tokens: int) -> int:
    """About what all takes with one layer opened: streams, and who reads from whom."""
    each = 3 * min(config.d_model, FEWER_COLUMNS[1]) * n_tokens + n_tokens**2
    return _opened_bytes(config, n_tokens) + sum(stacks(config).values()) * each


def token_windows(run: Run, token: int) -> dict[str, slice]:
    """Of each text the tokens that are drawn."""
    lengths = {"": run.input.shape[1]}
    if run.has_target:
        lengths = {"encoder": run.input.shape[1], "decoder": run.target_or_start.shape[1]}
    most = most_drawn(run.config)
    at = {stack: n - 1 if stack == "decoder" else token for stack, n in lengths.items()}
    return {stack: _window(n, at[stack], most) for stack, n in lengths.items()}


def _window(n: int, token: int, most: int) -> slice:
    first = max(0, min(token - most + 1, n - most))
    return slice(first, min(n, first + most))


def _length(window: slice) -> int:
    return int(window.stop - window.start)


def kept_names(run: Run, opened: Collection[str]) -> set[str]:
    """What a recording keeps for a scene."""
    names = (*INSIDE, *(f"expert_{i}.hidden" for i in range(run.config.n_experts)))
    inside = {start + cross + name for start in opened for name in names for cross in ("", CROSS)}
    ends = {f"{stack}.{name}" if stack else name for stack in stacks(run.config) for name in ENDS}
    return {*kept_stages(run.config), *inside, *ends, *CACHED, *ROUTED, "logits"}


def _recorded(run: Run, model: Model, opened: Collection[str]) -> Recording:
    """The run once more, with what happens inside the opened layers."""
    return record(
        model,
        run.values(),
        mask=run.build_mask(),
        keep=probed(model, kept_names(run, opened)),
        replace=run.replacements(model),
        training_seed=run.seed if run.training else None,
        later=PATTERNS,
    )


@dataclass(frozen=True, eq=False)
class Making:
    """What is drawn of the tensors of a recording, move by move."""

    run: Run
    seen: Recording
    opened: Collection[str]
    windows: Mapping[str, slice]
    first: int = 0  # column of a wide matrix that is drawn

    def matrix(self, move: Move) -> Matrix | None:
        """What a move makes, or None where nothing of it is drawn."""
        match move.kind:
            case MoveKind.SCORES:
                return self.scores(move)
            case MoveKind.SOFTMAX:
                return self.weights(move)
        is_drawn = self.is_opened(move) or move.is_stream or move.kind is MoveKind.FEED
        if move.path not in self.seen.tensors or move.stage == "logits" or not is_drawn:
            return None
        found = self.seen.tensors[move.path][0]
        rows = self.rows(move)
        found = found[None] if found.ndim == 2 else found
        most = columns(max(map(_length, self.windows.values())))[not self.is_opened(move)]
        first = max(0, min(self.first, found.shape[-1] - most))
        drawn = found[:, self.windows[rows], first : first + most]
        return quantized(drawn, of=found.shape[-1], rows=rows, first=first)

    def rows(self, move: Move) -> str:
        """Whose rows a matrix has: keys and values of cross-attention are the source's."""
        is_source = move.stage in (f"{CROSS}k", f"{CROSS}v")
        return "encoder" if is_source else move.stack

    def is_opened(self, move: Move) -> bool:
        """Whether the inside of its layer is drawn."""
        return move.layer is None or layer_path(move.layer, move.stack) in self.opened

    def scores(self, move: Move) -> Matrix | None:
        """Every pair, before the mask: (n_heads, query, key)."""
        made = self.seen.patterns.get(move.path.replace("scores", "pattern"))
        if made is None:  # weights that were put there have no scores
            return None
        found = pair_scores(made)[0]
        queries, keys = self.pairs(move)
        drawn = found[:, self.windows[queries], self.windows[keys]]
        return quantized(drawn, of=found.shape[-1], rows=queries, columns=keys)

    def weights(self, move: Move) -> Matrix | None:
        """What the softmax makes of them: (n_heads, query, key)."""
        layer, name = move.layer or 0, move.stage
        found = self.seen.pattern(layer, stack=move.stack, name=name)[0]
        queries, keys = self.pairs(move)
        at = self.windows[queries], self.windows[keys]
        hidden = self.hidden(move, found[:1].shape)
        drawn = found[:, at[0], at[1]]
        return quantized(drawn, hidden, of=found.shape[-1], rows=queries, columns=keys, strong=1.0)

    def hidden(self, move: Move, shape: torch.Size) -> Tensor | None:
        """Which of the pairs that are drawn the mask forbids: (1, query, key)."""
        mask = self.mask(move.layer or 0, move.stage.startswith(CROSS), move.stack)
        queries, keys = (self.windows[text] for text in self.pairs(move))
        return None if mask is None else ~mask.expand(shape)[:, queries, keys]

    def pairs(self, move: Move) -> tuple[str, str]:
        """Whose the queries are, and whose the keys."""
        return move.stack, "encoder" if move.stage.startswith(CROSS) else move.stack

    def mask(self, layer: int, is_cross: bool, stack: str) -> Tensor | None:
        """Of the first sequence, True where a query may see a key: (1, query, key)."""
        found = self.run.build_mask(layer)
        if stack:
            found = (
                found.cross if is_cross else found.source if stack == "encoder" else found.target
            )
        return None if found is None else found.reshape(-1, *found.shape[-2:])[:1]


@torch.no_grad()
def pair_scores(made: Pattern) -> Tensor:
    """QKᵀ/√d_head, capped, with what a bias adds, of every pair: (batch, n_heads, query, key)."""
    bias = None if made.bias is None else made.bias(*made.shape[2:], ALL, ALL).to(made.q)
    return attention_scores(made.q, made.k, None, bias, made.softcap)
