"""Two models counted side by side: what each costs, and which part makes the difference."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from blocks.cost.breakdown import count_kinds
from blocks.cost.passes import Operation, operations, reading_pass
from blocks.cost.setup import StoredWeights
from blocks.cost.summary import Summary, summarise
from blocks.model.config import ModelConfig

SAME_WITHIN = 0.005
MOST = 0.5  # of a change: what does less stands for it together with the rest of its group


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The numbers of A and B for texts of `n` tokens; bytes in `weight_format`.

    `kinds`: parameters of each kind that either has; a row each: name, a, b. `operations`: FLOPs of
    each operation per token read, with its group.
    """

    n: int
    weight_format: str
    a: Summary
    b: Summary
    kinds: pd.DataFrame
    operations: pd.DataFrame

    @property
    def parameter_change(self) -> tuple[str, float]:
        """The kind that does most towards the change of all parameters, and its own change."""
        return _largest_change(self.kinds)

    @property
    def flops_change(self) -> tuple[tuple[str, ...], float]:
        """The operations that do most towards the change of all FLOPs, and their own change.

        Several where they change alike: keys and values, or the matrices of a feed-forward layer.
        """
        table, (_most, change) = self.operations, _largest_change(self.operations)
        is_alike = ((table["b"] - table["a"]) / change - 1).abs() < SAME_WITHIN
        names = table["name"][is_alike]
        return tuple(names), change * len(names)

    @property
    def flops_group_change(self) -> tuple[str, float] | None:
        """The group of operations that does most, where no operation alone does half of it all."""
        table, (_names, change) = self.operations, self.flops_change
        if abs(change) >= MOST * abs((table["b"] - table["a"]).sum()):
            return None
        groups = table.groupby("group", sort=False)[["a", "b"]].sum()
        return _largest_change(groups.rename_axis("name").reset_index())

    @property
    def flops_ratio(self) -> float:
        """FLOPs of B per token read, for one of A."""
        return float(self.operations["b"].sum() / self.operations["a"].sum())

    @property
    def same_flops(self) -> bool:
        """Whether both need about as many FLOPs per token read."""
        return abs(self.flops_ratio - 1) < SAME_WITHIN


def pair_counts(
    a: ModelConfig,
    b: ModelConfig,
    *,
    n: int,
    weight_format: str,
    stored: tuple[StoredWeights | None, StoredWeights | None] = (None, None),
) -> PairCounts:
    """Count both; nothing is built. `stored`: what their weights take where files have them."""
    kinds = ({str(kind): size for kind, size in count_kinds(each).items()} for each in (a, b))
    return PairCounts(
        n,
        weight_format,
        a=summarise(a, n=n, dtype=weight_format, stored=stored[0]),
        b=summarise(b, n=n, dtype=weight_format, stored=stored[1]),
        kinds=_joined(*kinds),
        operations=operations_of_both(a, b, n),
    )


def operations_of_both(a: ModelConfig, b: ModelConfig, n: int) -> pd.DataFrame:
    """FLOPs of each operation, for one token of a text of n that is read: name, a, b, group."""
    of_a, of_b = _reading(a, n), _reading(b, n)
    found = _joined(*({each.name: each.flops / n for each in read} for read in (of_a, of_b)))
    groups = {each.name: each.group for each in (*of_a, *of_b)}
    return found.assign(group=found["name"].map(groups))


def _reading(config: ModelConfig, n: int) -> tuple[Operation, ...]:
    return operations(config, reading_pass(config), n=n)


def _joined(a: Mapping[str, float], b: Mapping[str, float]) -> pd.DataFrame:
    """Join two tables in the order of the longer one; what one lacks is 0."""
    order = [*dict.fromkeys((*b, *a) if len(b) > len(a) else (*a, *b))]
    rows = [(name, a.get(name, 0), b.get(name, 0)) for name in order]
    return pd.DataFrame(rows, columns=["name", "a", "b"])


def _largest_change(table: pd.DataFrame) -> tuple[str, float]:
    """The row that does most towards the change of the total."""
    change = table["b"] - table["a"]
    i = (change if change.sum() > 0 else -change).argmax()
    return str(table["name"].iloc[i]), float(change.iloc[i])
