"""What a search for a target looked at, what stands, and what could come next."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import pandas as pd

from blocks.observe.run import Run
from blocks.text.beam import BeamConfig, BeamSearch, Fate
from blocks.text.tokenizer import Tokenizer

STEPS_DRAWN = 24
SURE = math.log(0.99)


class Written(NamedTuple):
    """A target as one writes it, and what it is judged by."""

    text: str
    n_tokens: int
    log_prob: float
    score: float

    @property
    def probability(self) -> float:
        """The probability of all its tokens together."""
        return math.exp(self.log_prob)


class Choice(NamedTuple):
    """A token of the target; `is_overruled`: the reader put it where another was likelier."""

    label: str
    step: int
    log_prob: float
    is_overruled: bool

    @property
    def probability(self) -> float:
        """The probability of this token after those before it."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, eq=False)
class SearchFacts:
    """A search of `n` steps, and the hypothesis at `place` that stands at `step`.

    `nodes`: all that was looked at, as `tree` has it; `place` is None where nothing is written
    yet; `n_steps`: as many as there may be; `n_forced`: of the first tokens, put there by the
    reader; `start`: the label of the start token; `text`: what stands, as one writes it;
    `results`: the best targets, the best score first.
    """

    how: BeamConfig
    nodes: pd.DataFrame
    n: int
    step: int
    place: int | None
    n_steps: int
    n_forced: int
    start: str
    text: str
    results: tuple[Written, ...]

    @property
    def path(self) -> tuple[int, ...]:
        """The places of what stands, the first token first."""
        return path(self.nodes, self.place)

    @property
    def path_to_result(self) -> tuple[int, ...]:
        """The path of the best hypothesis so far; at the end, of the result."""
        return path(self.nodes, best_at(self.nodes, self.n, self.n))

    @property
    def is_on_path(self) -> bool:
        """Whether what stands is the result or its beginning."""
        return self.place is None or self.place in self.path_to_result

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The token ids of the current hypothesis, with its stop token."""
        return self._ids(self.path)

    @property
    def unended(self) -> tuple[int, ...]:
        """The tokens that stand, without the stop token."""
        return tuple(each for each in self.token_ids if each != self.how.stop_id)

    @property
    def is_ended(self) -> bool:
        """Whether the stop token stands at the end."""
        return self.token_ids[-1:] == (self.how.stop_id,)

    @property
    def written_next(self) -> int | None:
        """The token after what stands, on the path to the result."""
        ids, before = self._ids(self.path_to_result), self.unended
        goes_on = len(ids) > len(before) and ids[: len(before)] == before
        return ids[len(before)] if goes_on else None

    @property
    def limit(self) -> str:
        """The setting for want of which the target ended too early; nothing where it did not."""
        if self.is_ended or not self.step == self.n == self.n_steps:
            return ""
        return "max_seq_len" if self.n_steps < self.how.max_new_tokens else "max_new_tokens"

    @property
    def fate(self) -> Fate | None:
        """What became of the hypothesis that stands."""
        return None if self.place is None else Fate(self.nodes["fate"].iloc[self.place])

    @property
    def log_prob(self) -> float:
        """The log-probability of the current hypothesis, in nats."""
        return 0.0 if self.place is None else float(self.nodes["log_prob"].iloc[self.place])

    @property
    def probability(self) -> float:
        """The same as a share."""
        return math.exp(self.log_prob)

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The tokens that stand."""
        return tuple(map(self._choice, self.path))

    @property
    def to_come(self) -> tuple[str, ...]:
        """What the result goes on with, where what stands is its beginning."""
        here, whole = self.path, self.path_to_result
        rest = whole[len(here) :] if whole[: len(here)] == here else ()
        return tuple(self.nodes["label"].iloc[place] for place in rest)

    @property
    def is_own(self) -> bool:
        """Whether the reader has overruled nothing of what stands."""
        return not any(each.is_overruled for each in self.choices)

    @property
    def least_sure(self) -> Choice | None:
        """The token of which the model was least sure, of those that it chose itself."""
        own = [each for each in self.choices if not each.is_overruled]
        return min(own, key=lambda each: each.log_prob, default=None)

    @property
    def is_sure(self) -> bool:
        """Whether it was sure of all that it chose itself."""
        least = self.least_sure
        return least is not None and least.log_prob > SURE

    @property
    def steps_drawn(self) -> tuple[int, int]:
        """The first and the last step: of a long target those around the chosen one."""
        first = max(1, min(self.step - STEPS_DRAWN // 2, self.n - STEPS_DRAWN + 1))
        return first, min(self.n, first + STEPS_DRAWN - 1)

    def count(self, fate: Fate) -> int:
        """How many hypotheses came to this."""
        return int((self.nodes["fate"] == str(fate)).sum())

    def _ids(self, places: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(self.nodes["token_id"].iloc[place]) for place in places)

    def _choice(self, place: int) -> Choice:
        row, parents = self.nodes.iloc[place], self.nodes["parent"]
        is_first = pd.isna(row["parent"])
        siblings = parents.isna() if is_first else parents.eq(row["parent"]).fillna(False)
        likeliest = self.nodes.loc[siblings, "token_log_prob"].max()
        is_forced = row["step"] <= self.n_forced
        is_overruled = bool(is_forced and row["token_log_prob"] < likeliest)
        return Choice(row["label"], int(row["step"]), float(row["token_log_prob"]), is_overruled)


@dataclass(frozen=True, eq=False)
class CandidateFacts:
    """What could come next: token_id, label, probability, the likeliest first.

    `after`: the label of the last token that stands; `taken`: the token that was written there;
    `smoothing`: the label smoothing of the model's training.
    """

    candidates: pd.DataFrame
    after: str
    taken: int | None
    smoothing: float

    @property
    def most(self) -> float:
        """The probability of a right token that the training aimed at."""
        return 1 - self.smoothing


class AgainstGreedy(NamedTuple):
    """Log-probabilities of a beam's result and of greedy search's, and whether they are one."""

    ours: float
    greedy: float
    is_same: bool


def tree(search: BeamSearch, n: int) -> pd.DataFrame:
    """What was looked at in `n` steps, as `BeamSearch.frame`.

    What was kept to the last step and is no result has lost.
    """
    table = search.frame()
    table = table[table["step"] <= n]
    if search.is_done:
        is_lost = (table["step"] == n) & (table["fate"] == str(Fate.KEPT)) & table["rank"].isna()
        table.loc[is_lost, "fate"] = str(Fate.DROPPED)
    return table


def best_at(nodes: pd.DataFrame, n: int, step: int) -> int | None:
    """The best hypothesis when the search has come to this step of `n`; at the end its result."""
    results = nodes[nodes["rank"] == 1]
    if step == n and len(results):
        return int(results.index[0])
    alive = nodes[(nodes["step"] == step) & (nodes["fate"] != str(Fate.DROPPED))]
    if len(alive):
        scores = alive["log_prob"].fillna(-math.inf)  # those that have overflowed are no better
        return int(alive.index[int(scores.argmax())])
    return best_at(nodes, n, step - 1) if step > 1 else None


def path(nodes: pd.DataFrame, place: int | None) -> tuple[int, ...]:
    """The places of a hypothesis and of all that it continues, the first token first."""
    found = []
    while place is not None:
        found.append(place)
        parent = nodes["parent"].iloc[place]
        place = None if pd.isna(parent) else int(parent)
    return tuple(found[::-1])


def written(nodes: pd.DataFrame, place: int, reader: Tokenizer, stop_id: int) -> Written:
    """A hypothesis as one writes it: without its stop token, and what the reader does not know."""
    ids = (int(nodes["token_id"].iloc[each]) for each in path(nodes, place))
    text = reader.decode([each for each in ids if each < reader.vocab_size and each != stop_id])
    row = nodes.iloc[place]
    return Written(text, int(row["step"]), float(row["log_prob"]), float(row["score"]))


def best_written(nodes: pd.DataFrame, reader: Tokenizer, stop_id: int) -> tuple[Written, ...]:
    """The best targets of a search, the best score first."""
    ranks = nodes["rank"].dropna().sort_values()
    return tuple(written(nodes, place, reader, stop_id) for place in ranks.index.tolist())


def with_target(run: Run, token_ids: tuple[int, ...], labels: tuple[str, ...]) -> Run:
    """The run with a target of its start token and these, as far as its positions reach."""
    start, most = run.target_or_start, run.config.max_seq_len - 1
    target = replace(
        start,
        tokens=(start.labels[0], *labels[:most]),
        token_ids=(start.token_ids[0], *token_ids[:most]),
    )
    return replace(run, target=target)


def against_greedy(ours: SearchFacts, greedy: SearchFacts) -> AgainstGreedy | None:
    """Compare the results of two searches of one source; None where one has none."""
    places = [best_at(each.nodes, each.n, each.n) for each in (ours, greedy)]
    if None in places:
        return None
    same = [tuple(each.nodes["token_id"].iloc[[*each.path_to_result]]) for each in (ours, greedy)]
    a, b = (
        float(each.nodes["log_prob"].iloc[place])
        for each, place in zip((ours, greedy), places, strict=True)
        if place is not None
    )
    return AgainstGreedy(a, b, same[0] == same[1])
