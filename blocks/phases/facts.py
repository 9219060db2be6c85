"""What a clock shows: when it learned, what came before, what is lost without what was found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection.head_probe import KINDS
from blocks.phases.clock import Clock, Kept
from blocks.phases.hindsight import Arrays, Hindsight
from blocks.phases.setups import MODULAR
from blocks.training.algorithms import MODULUS, all_pairs
from blocks.training.induction import TOKENS
from blocks.training.questions import QuestionTask
from blocks.training.tasks import build_task

LEARNED = 0.99
N_LAST = 5  # measurements of which the end of a run that still varies is the mean
Curve = NDArray[Any]


def falls_at(steps: Sequence[int], curve: Curve) -> int:
    """The first step after which a curve stays below the middle between its peak and its end."""
    above = np.flatnonzero(curve > (curve.max() + curve[-1]) / 2)
    return int(steps[min(int(above[-1]) + 1, len(steps) - 1)]) if len(above) else int(steps[-1])


@dataclass(frozen=True, eq=False)
class ClockFacts:
    """A whole training, and the look at it that is chosen."""

    clock: Clock
    kept: tuple[Kept, ...]
    back: Arrays
    step: int

    @property
    def is_sum(self) -> bool:
        """Whether it adds or subtracts on a clock."""
        return self.clock.kind in MODULAR

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a look: its numbers, and those curves that are known with hindsight."""
        curves = {name: each for name, each in self.back.items() if each.shape == (len(self.kept),)}
        return pd.DataFrame(self.kept).assign(**curves)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """The steps of all looks."""
        return tuple(each.step for each in self.kept)

    @cached_property
    def i(self) -> int:
        """The place of the look that is chosen: the nearest to the step."""
        return int(np.abs(np.array(self.steps) - self.step).argmin())

    @property
    def now(self) -> Kept:
        """The look that is chosen."""
        return self.kept[self.i]

    @property
    def last(self) -> Kept:
        """The last look."""
        return self.kept[-1]

    @property
    def ends(self) -> pd.Series:
        """The mean of the last looks: one alone may be off in a run that still varies."""
        return self.table.tail(N_LAST).mean()

    @property
    def apart(self) -> float:
        """The most by which the shares of right answers, seen and unseen, ever differ."""
        return float((self.table["learned_accuracy"] - self.table["accuracy"]).abs().max())

    @property
    def has_learned(self) -> bool:
        """Whether it answers in the end what it never saw."""
        return self.last.accuracy > LEARNED

    @cached_property
    def learned_at(self) -> int | None:
        """The first step with 99 % of the unseen questions right; None where it never came."""
        return next((each.step for each in self.kept if each.accuracy > LEARNED), None)

    @cached_property
    def memorized(self) -> Kept | None:
        """The first look with 99 % of what it learns from right; None where it never came."""
        return next((each for each in self.kept if each.learned_accuracy > LEARNED), None)

    def stretch(self, share: str) -> tuple[int, int, int]:
        """The first looks at which a share (`accuracy`, …) reaches 10 and 90 %, and the way."""
        curve = self.table[share].to_numpy()
        start, end = (self.steps[int((curve >= level).argmax())] for level in (0.1, 0.9))
        return start, end, end - start

    @property
    def norm_turns(self) -> tuple[Kept, Kept]:
        """Where the weight norm is lowest before the jump, and where it is highest after that."""
        before = [each for each in self.kept if each.step < self.jump]
        low = min(before, key=lambda each: each.weight_norm)
        return low, max(self.kept[self.kept.index(low) :], key=lambda each: each.weight_norm)

    @cached_property
    def jump(self) -> int:
        """The step at which the held-out loss falls to half of its peak."""
        return falls_at(self.steps, self.table["held_out_loss"].to_numpy())

    @cached_property
    def before(self) -> float:
        """The held-out loss before the jump, at its peak."""
        return float(self.table["held_out_loss"].max())


@dataclass(frozen=True, eq=False)
class SumFacts(ClockFacts):
    """Of a modular sum: the frequencies that its embedding turns in, and what they are worth."""

    @property
    def keys(self) -> tuple[int, ...]:
        """The key frequencies k, the strongest first."""
        return tuple(int(each) + 1 for each in self.back["keys"])

    @property
    def spectrum(self) -> pd.DataFrame:
        """The share of each frequency in the embedding now: k, share, is_key."""
        shares = self.back["energy"][self.i]
        k = np.arange(1, len(shares) + 1)
        return pd.DataFrame({"k": k, "share": shares, "is_key": np.isin(k, self.keys)})

    def key_share(self, i: int = -1) -> float:
        """What the key frequencies hold of the embedding's energy at a look."""
        return float(self.back["energy"][i][self.back["keys"]].sum())

    @property
    def chance_share(self) -> float:
        """What as many frequencies would hold if all held as much."""
        return len(self.keys) / self.back["energy"].shape[1]

    def circle(self, place: int) -> pd.DataFrame:
        """The numbers in the plane of a key frequency, in the order in which k·a mod p goes round.

        Columns number, x, y; the first number stands at the end again.
        """
        order = np.argsort(np.arange(MODULUS) * self.keys[place] % MODULUS)
        order = np.append(order, order[0])
        x, y = self.back["circle"][self.i][place][order].T.astype(float)
        return pd.DataFrame({"number": order, "x": x, "y": y})

    def turned(self, place: int) -> Curve:
        """By how many degrees each number is turned from 0 about the centre of its plane now."""
        points = self.back["circle"][self.i][place].astype(float)
        x, y = (points - points.mean(0)).T
        angles: Curve = np.degrees(np.arctan2(y, x))
        return (angles - angles[0]) % 360

    def wobble(self, place: int, i: int) -> float:
        """The standard deviation of the numbers' distances from their centre, by their mean.

        0 on a circle; about a half where the numbers are scattered (two normal coordinates: 0.52).
        """
        points = self.back["circle"][i][place].astype(float)
        radii = np.linalg.norm(points - points.mean(0), axis=1)
        return float(radii.std() / radii.mean())

    @cached_property
    def restricted_at(self) -> int:
        """The step at which the restricted loss falls to half."""
        return falls_at(self.steps, self.back["restricted"])

    @cached_property
    def excluded_at(self) -> int:
        """The step at which the excluded loss is lowest; from then on it rises."""
        return self.steps[int(self.back["excluded"].argmin())]

    @property
    def excluded_rise(self) -> tuple[float, float]:
        """From the excluded loss at its lowest to that at the jump."""
        excluded = self.back["excluded"]
        return float(excluded.min()), float(excluded[self.steps.index(self.jump)])

    @property
    def guess(self) -> float:
        """The loss of a blind guess."""
        return math.log(MODULUS)

    @cached_property
    def whole(self) -> Curve:
        """The loss on all pairs at each look: on those learned from and on those never seen."""
        task = build_task(self.clock.setup.task)
        assert isinstance(task, QuestionTask)
        unseen = float(task.splits(all_pairs()).double().mean())
        seen, others = (self.table[name].to_numpy() for name in ("loss", "held_out_loss"))
        found: Curve = (1 - unseen) * seen + unseen * others
        return found

    @property
    def lost(self) -> float:
        """The loss on all pairs in the end where the embedding has no key frequencies."""
        return float(self.back["without_keys"][-1])

    @property
    def kept_without_others(self) -> float:
        """The loss in the end where as many other frequencies are taken out: the control."""
        return float(self.back["without_others"][-1])


@dataclass(frozen=True, eq=False)
class InductionFacts(ClockFacts):
    """Of in-context repetition: the heads that look for what followed the same token before."""

    @property
    def n_heads(self) -> int:
        """Heads in each layer."""
        return self.clock.setup.config.n_heads

    @property
    def n_others(self) -> int:
        """Heads of layer 1 but the one that looks most at the token before."""
        return self.n_heads - 1

    @property
    def found(self) -> tuple[tuple[int, int], ...]:
        """Layer and head of the induction heads in the end, the strongest first."""
        return tuple(divmod(int(each), self.n_heads) for each in self.back["found"])

    @property
    def previous(self) -> tuple[int, int]:
        """The head that looks most at the token before."""
        return divmod(int(self.back["previous"][0]), self.n_heads)

    def score(self, kind: str, number: int) -> Curve:
        """One kind of the head probe for one head at every look."""
        found: Curve = self.back["scores"][:, number, KINDS.index(kind)]
        return found

    @cached_property
    def scores(self) -> pd.DataFrame:
        """A row a look and head: step, layer, head, number, and each kind of score."""
        n = self.back["scores"].shape[1]
        rows = [
            {"step": step, "layer": number // self.n_heads, "head": number % self.n_heads}
            | {"number": number, **dict(zip(KINDS, map(float, kinds), strict=True))}
            for step, at in zip(self.steps, self.back["scores"], strict=True)
            for number, kinds in zip(range(n), at, strict=True)
        ]
        return pd.DataFrame(rows)

    @cached_property
    def formed_at(self) -> int:
        """The first step at which a head has an induction score above one half."""
        best = self.back["scores"][:, :, KINDS.index("induction")].max(1)
        return self.steps[int(np.argmax(best > 0.5))] if (best > 0.5).any() else self.steps[-1]

    def found_scores(self, step: int) -> tuple[float, float]:
        """The least and the largest induction score of the found heads at a look."""
        at = self.back["scores"][self.steps.index(step), self.back["found"]]
        scores = at[:, KINDS.index("induction")]
        return float(scores.min()), float(scores.max())

    @property
    def row(self) -> list[str]:
        """The tokens on which the strongest head is looked at."""
        return [TOKENS.decode([int(each)]) for each in self.back["row"]]

    @property
    def removed(self) -> pd.DataFrame:
        """The loss at the end by the number n of heads removed, in three orders."""
        orders = dict(zip(("induction", "previous", "others"), self.back["removed"], strict=True))
        return pd.DataFrame({"n": range(self.n_heads + 1), **orders}).astype(float)

    def diagonal(self, circuit: str, i: int) -> float:
        """How often the diagonal is the largest of its column (ov) or row (qk)."""
        values = self.back[circuit][i].astype(float)
        best = values.argmax(0 if circuit == "ov" else 1)
        return float((best == np.arange(len(values))).mean())

    def returned(self, name: str) -> float:
        """The share of the drop of the held-out loss that comes back: without_found, …_one."""
        last = self.last.held_out_loss
        return (float(self.back[name][-1]) - last) / (self.before - last)


def clock_facts(clock: Clock, found: Sequence[Kept | Hindsight], step: int) -> ClockFacts:
    """The facts of a whole series, of the kind that its task has."""
    *kept, back = found
    assert isinstance(back, Hindsight)
    looks = tuple(each for each in kept if isinstance(each, Kept))
    kind = SumFacts if clock.kind in MODULAR else ClockFacts
    kind = InductionFacts if "scores" in back.arrays else kind
    return kind(clock, looks, back.arrays, step)
