"""Changes of parts as data: what a held pass puts in their place lies in tensors that stay."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.observe.interventions import Intervention, InterventionKind, Part, patched_from
from blocks.observe.recording import Recording

PARTS = {*Part}
ALL = slice(None)


def kinds_of(changes: Collection[Intervention]) -> frozenset[InterventionKind]:
    """What a pass must be able to do for them."""
    return frozenset(change.kind for change in changes)


def are_data(changes: Sequence[Intervention]) -> bool:
    """Whether they can be made at the same time, by one choice for each number.

    A mean is of what a part wrote itself, not of what another change made of it.
    """
    places = {(change.path, change.head) for change in changes}
    return len(places) == len(changes) or InterventionKind.MEAN not in kinds_of(changes)


@dataclass(frozen=True, eq=False)
class _Places:
    """Of one part: which values are replaced, (rows, [heads,] seq, 1), and by what."""

    new: Tensor
    is_new: Tensor
    is_mean: Tensor


class Edits:
    """Changes of these kinds, in a pass of fixed shapes; none at first.

    `n_others`: rows of what patches bring, as many as there are texts, or one that all share.
    """

    def __init__(self, kinds: Collection[InterventionKind], n_others: int = 1):
        self.kinds, self.n_others = kinds, n_others
        self._places: dict[str, _Places] = {}
        self._written: list[Tensor] = []

    @property
    def paths(self) -> set[str]:
        """The probes that parts of the pass have."""
        return {*self._places}

    def made(self, path: str, x: Tensor, is_text: Tensor | None) -> Tensor:
        """What passes on in the place of (rows, [heads,] seq, features)."""
        if not self.kinds or path.rpartition(".")[2] not in PARTS:
            return x
        if path not in self._places:
            shape = (self.n_others, *x.shape[1:]) if InterventionKind.PATCH in self.kinds else ()
            one, other = (torch.zeros_like(x[..., :1], dtype=torch.bool) for _ in range(2))
            self._places[path] = _Places(x.new_zeros(shape), one, other)
        places = self._places[path]
        if InterventionKind.MEAN in self.kinds:
            x = torch.where(places.is_mean, _mean(x, is_text), x)
        return torch.where(places.is_new, places.new, x)

    def write(self, changes: Sequence[Intervention], n: int, other: Recording | None) -> None:
        """Make these changes, and no others, in all rows; `n`: tokens of a text filled up, or 0."""
        self._take_back()
        for change in changes:
            self._write(change, ALL, n, other)

    def write_each(self, changes: Sequence[Intervention], other: Recording | None) -> None:
        """Make the first change in the first row alone, the second in the second, and so on."""
        self._take_back()
        for row, change in enumerate(changes):
            self._write(change, slice(row, row + 1), 0, other)

    def _take_back(self) -> None:
        for each in self._written:
            each.zero_()
        self._written = []

    def _write(self, change: Intervention, rows: slice, n: int, other: Recording | None) -> None:
        places = self._places[change.path]
        is_patch = change.kind is InterventionKind.PATCH
        source = patched_from(change, other)[: self.n_others] if is_patch else places.is_new
        is_here = places.is_mean if change.kind is InterventionKind.MEAN else places.is_new
        place = change.place(is_here, source, n)
        here = is_here[(rows, *place[1:])]
        here.fill_(True)
        self._written.append(here)
        if is_patch:
            places.new[place] = source[place]
        elif places.new.dim() > 0:
            places.new[place] = 0


def _mean(x: Tensor, is_text: Tensor | None) -> Tensor:
    """Over the tokens of the text: (rows, [heads,] 1, features)."""
    if is_text is None:
        return x.mean(dim=-2, keepdim=True)
    counted = torch.where(is_text[:, None], x, 0).sum(dim=-2, keepdim=True)
    return counted / is_text.sum()
