"""The target as it is written: kept while it is looked at, shared by all who look at the same."""

import threading
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import cast

import pandas as pd

from blocks.inspection import predictions, search
from blocks.inspection.search import AgainstGreedy, CandidateFacts, SearchFacts
from blocks.model.models import EncoderDecoder
from blocks.observe.interventions import lasting, replacements
from blocks.observe.run import Run
from blocks.text.beam import BeamConfig, BeamSearch
from pages.server import cached, starts
from pages.server.once import once
from pages.server.shelf import Shelf, weighed
from pages.show.steps import in_steps
from pages.stage import tokens
from pages.state.link_fields.seq2seq import read_ids
from pages.state.values import State

N_CANDIDATES, MOST_WRITERS = 10, 32


@dataclass(frozen=True)
class Search:
    """How the target of a run is written; `run` has nothing but the start token yet."""

    run: Run
    how: BeamConfig
    forced: tuple[int, ...]

    @property
    def n_steps(self) -> int:
        return min(self.how.max_new_tokens, self.run.config.max_seq_len)


@dataclass(frozen=True)
class Standing:
    """What stands when a search of `n` steps has come to `step`: the hypothesis at `place`.

    That is its place in the tree, None where nothing is written yet.
    """

    search: Search
    n: int
    step: int
    place: int | None


class Writer:
    """One search; sessions that share it take turns."""

    def __init__(self, asked: Search):
        run = asked.run
        self.device, self.lock = run.device, threading.Lock()
        self.model = cast(EncoderDecoder, cached.model(run))
        self.beam = BeamSearch(
            self.model,
            run.config,
            run.input.padded_ids,
            asked.how,
            is_source=run.input.is_token()[0].tolist(),
            forced=asked.forced,
            replace=replacements(lasting(run.interventions)),
        )

    def advance_to(self, step: int) -> None:
        """Go on until there are this many steps, or the search is done."""
        while self.beam.step < step and not self.beam.is_done:
            with self.lock, cached.turn(self.device):
                if self.beam.step < step:
                    self.beam.advance()


@once
def _writers() -> Shelf[Search, Writer]:
    """Those who write for all readers. Each keeps its model alive, and that is what it weighs."""
    return weighed(Writer, lambda writer: cached.weight_of_model(writer.model), 4, MOST_WRITERS)


def writer(asked: Search) -> Writer:
    """The one who writes the target; the same for all who ask for the same."""
    return _writers().get(asked)


def current_search(run: Run, state: State) -> Search:
    """The search that the reader has set."""
    marks = tokens.marks()
    how = BeamConfig(
        start_id=marks.start,
        stop_id=marks.stop,
        never=marks.never,
        beam_width=state.beam_width,
        max_new_tokens=state.max_new_tokens,
        length_penalty=state.length_penalty,
    )
    return Search(run, how, _forced_ids(run, how, state))


def _forced_ids(run: Run, how: BeamConfig, state: State) -> tuple[int, ...]:
    """What the reader has put into the target, up to what this model cannot write."""
    found = read_ids(state.forced_ids)[: how.max_new_tokens]
    unknown = [i for i, each in enumerate(found) if each >= run.config.vocab_size]
    ends = [i + 1 for i, each in enumerate(found) if each == how.stop_id]
    return found[: min([len(found), *unknown, *ends])]


def longest(run: Run, state: State) -> Run:
    """Give the run its longest possible target, to estimate whether it fits."""
    return with_target(run, (0,) * state.max_new_tokens)


def written(asked: Search, state: State) -> Standing:
    """Write the target, in sight of the reader where it takes long; where the reader looks then.

    At a hypothesis, at a step, or at the end.
    """
    steps = [partial(_advance, asked, step) for step in range(1, asked.n_steps + 1)]
    in_steps(steps, what=asked, key="writing")
    n = writer(asked).beam.step
    nodes, node, step = tree(asked, n), state.beam_node, state.target_step
    if node is not None and node < len(nodes):
        return Standing(asked, n, int(nodes["step"].iloc[node]), node)
    step = n if step is None else min(step, n)
    return Standing(asked, n, step, search.best_at(nodes, n, step))


def _advance(asked: Search, step: int) -> None:
    writer(asked).advance_to(step)


def at_end(asked: Search) -> Standing:
    """Where the search ends."""
    _advance(asked, asked.n_steps)
    n = writer(asked).beam.step
    return Standing(asked, n, n, search.best_at(tree(asked, n), n, n))


@lru_cache(maxsize=64)
def tree(asked: Search, n: int) -> pd.DataFrame:
    """What was looked at in `n` steps, with the label of each token."""
    _advance(asked, n)
    table = search.tree(writer(asked).beam, n)
    return table.assign(label=[tokens.label(asked.run, each) for each in table["token_id"]])


@lru_cache(maxsize=64)
def search_facts(here: Standing) -> SearchFacts:
    """What was looked at, and what stands."""
    asked, nodes = here.search, tree(here.search, here.n)
    reader, stop_id = tokens.tokenizer_of(asked.run.input.vocabulary), asked.how.stop_id
    return SearchFacts(
        how=asked.how,
        nodes=nodes,
        n=here.n,
        step=here.step,
        place=here.place,
        n_steps=asked.n_steps,
        n_forced=len(asked.forced),
        start=asked.run.target_or_start.labels[0],
        text="" if here.place is None else search.written(nodes, here.place, reader, stop_id).text,
        results=search.best_written(nodes, reader, stop_id),
    )


@lru_cache(maxsize=64)
def candidate_facts(here: Standing) -> CandidateFacts:
    """What could come after what stands."""
    run = run_of(here)
    table = predictions.candidates(cached.recording(run).output[0, -1], N_CANDIDATES)
    card = starts.model(run.weights).card if run.weights else None
    recipe = card.recipe["recipe"] if card else {"label_smoothing": 0}
    return CandidateFacts(
        candidates=table.assign(label=[tokens.label(run, each) for each in table["token_id"]]),
        after=run.target_or_start.labels[-1],
        taken=search_facts(here).written_next,
        smoothing=recipe["label_smoothing"],
    )


def against_greedy(here: Standing) -> AgainstGreedy | None:
    greedy = replace(here.search, how=replace(here.search.how, beam_width=1))
    return search.against_greedy(search_facts(here), search_facts(at_end(greedy)))


def run_of(here: Standing) -> Run:
    return with_target(here.search.run, search_facts(here).unended)


def with_target(run: Run, token_ids: tuple[int, ...]) -> Run:
    return search.with_target(run, token_ids, tuple(tokens.label(run, i) for i in token_ids))
