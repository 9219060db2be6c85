"""Where a decoder looks in its source, as the model learns."""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection import linked, two_texts
from blocks.inspection.learning import BirthFacts
from blocks.inspection.linked import linked_shares
from blocks.inspection.two_texts import AttentionKind
from blocks.observe.run import Run
from blocks.training.examples import fixed_links
from blocks.training.training_run import TrainingRun
from pages.panels.seq2seq import shared as seq2seq_shared
from pages.panels.seq2seq.attention import who_reads_whom
from pages.panels.training import births_picture, shared
from pages.panels.training.heads import open_point, step_choice
from pages.server import cached, runs, starts
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.stage import link
from pages.state.values import State
from pages.words.language import _, sentences


def own_pair(run: TrainingRun, step: int) -> Run:
    """An encoder–decoder at a kept step, with the row of its task and the right target."""
    return shared.reading(run, step, shared.own_row(run.spec.task))


@lru_cache(maxsize=32)
def linked_by_step(run_id: str, steps: tuple[int, ...]) -> pd.DataFrame:
    """One row a cross-attention head and kept step: its weight on the aligned source tokens."""
    run = runs.runs().get(run_id)
    return pd.concat([_linked(run, step) for step in steps], ignore_index=True)


@lru_cache(maxsize=512)
def _linked(run: TrainingRun, step: int) -> pd.DataFrame:
    seen, config = own_pair(run, step), run.spec.config
    links = fixed_links(starts.build_task_once(run.spec.task))
    patterns = two_texts.patterns(cached.recording(seen), AttentionKind.CROSS, config)
    shares = [share for pattern in patterns for share in linked_shares(pattern, links).tolist()]
    number = np.arange(len(shares))
    layer, head = np.divmod(number, config.n_heads)
    columns = {"layer": layer, "head": head, "step": step, "number": number, "share": shares}
    return pd.DataFrame(columns)


def link_facts(run_id: str, kept: tuple[int, ...], selected: int, now: int) -> BirthFacts:
    """The weight of every head of cross-attention on the right tokens, at every kept step."""
    return BirthFacts(linked_by_step(run_id, kept), "linked", selected, now)


def how_links_come_to_be(run: TrainingRun, state: State) -> None:
    """Cross-attention on the right tokens over all kept steps, and all heads at one of them."""
    concepts, code = ("cross_attention", "word_alignment"), (linked.linked_shares,)
    with explained(concepts, code, key="births"):
        step = step_choice(run, state)
    seen = own_pair(run, step)
    which = seq2seq_shared.chosen(seen, AttentionKind.CROSS, state)
    selected = which.layer * seen.config.n_heads + which.head
    shown = run.id, run.snapshots.steps, selected, step
    draw = births_picture.heads_over_steps
    show(draw, *shown, facts=link_facts, key="linked_births", on_click=_open_point)
    right_ones = _(
        "The correct tokens are the source tokens that determine the target token being predicted."
    )
    note(sentences(shared.says_births(link_facts(*shown)), right_ones))
    who_reads_whom(seen)


def _open_point(customdata: list[Any]) -> None:
    """A point of a line was clicked: its head of cross-attention, at its step."""
    link.change("attention_of", str(AttentionKind.CROSS))
    open_point(customdata)
