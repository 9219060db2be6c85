"""Which answers a smaller model loses, where its task has questions that are right or wrong."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.efficiency import answer_facts as facts_of
from blocks.efficiency.answer_facts import AnswerFacts
from blocks.observe.run import Run
from pages.panels.efficiency import score_text
from pages.server import starts
from pages.show.export import download
from pages.show.fold import fold
from pages.show.said import say
from pages.show.tables import show_whole
from pages.state.values import State
from pages.words.language import _, ngettext, sentences


@lru_cache(maxsize=32)
def answer_facts(weights: str) -> AnswerFacts:
    """What a variant answers otherwise; `weights` names it, and by that the model it is made of."""
    model = starts.calibrated(starts.measured_on(starts.original(weights)))
    return facts_of.answer_facts(model, starts.variant_file(weights))


def says_answers(facts: AnswerFacts) -> str:
    """How many answers are lost, and how many are gained: the score is but their difference."""
    said = _(
        "Question by question: of {n} held-out questions, the original gets {before} exactly "
        "right and this model {now}."
    ).format(n=facts.n, before=facts.n_right_before, now=facts.n_right)
    if not facts.n_lost:
        return sentences(said, _("**No answer is lost.**"))
    lost = ngettext("**{n} answer is lost**", "**{n} answers are lost**", facts.n_lost)
    text = _("{lost}, {gained} gained.")
    return sentences(said, text.format(lost=lost.format(n=facts.n_lost), gained=facts.n_gained))


def question_by_question(run: Run, best: str, state: State) -> None:
    """What the variant that is shown loses, and its file; of the original what `best` would lose.

    That is found out when its fold is opened.
    """
    whole = starts.original(run.weights)
    if run.weights != whole:
        _answers_and_file(run.weights, state)
    elif best:
        label = _("Answers and file for {name}").format(name=best)
        with (proof := fold(label, key="best_answers", takes_long=True)):
            if proof.open:
                _answers_and_file(starts.variant_of(whole, best), state)


def _answers_and_file(weights: str, state: State) -> None:
    """What it answers otherwise, where its task asks questions, and the file to keep."""
    file = st.container()
    measured = score_text.measured_weights(starts.original(weights), state)
    if facts_of.is_asked_whole(starts.calibrated(measured)):
        with file, st.spinner(_("Asking both models the same questions …")):
            say(says_answers, weights, facts=answer_facts)
        if found := answer_facts(weights).lost:
            st.caption(_("Lost answers"))
            show_whole(_table(found))
    with file:
        download(
            f"{starts.start(weights).recipe}.safetensors",
            lambda: starts.variant_file(weights).to_bytes(),
            "application/octet-stream",
        )


def _table(found: tuple[facts_of.Lost, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            _("question"): [each.asked for each in found],
            _("correct answer (the original's)"): [each.right for each in found],
            _("most probable answer now, token by token"): [each.said for each in found],
        }
    )
