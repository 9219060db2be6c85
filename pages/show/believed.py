"""How often a picture of this kind was right on models whose answer is known: one line below it."""

from collections.abc import Sequence

import streamlit as st

from blocks.known.cells import INSTRUMENTS as INSTRUMENTS_OF
from blocks.known.cells import right_in
from blocks.known.words import INSTRUMENTS, QUESTIONS
from pages.stage import link, present, progress
from pages.words.language import _, bracketed, enumeration, sentences

CHART = "pages/instruments.py"


def line(instruments: Sequence[str]) -> None:
    """The score of these instruments, a way to the chart; not in a lesson or before a class."""
    if not instruments or progress.now() or present.is_on():
        return
    lang = {"lang": link.value("lang")} if link.value("lang") else {}
    query = {**lang, "panel": "chart", "instrument": instruments[0]}
    said, icon = says_believed(instruments), ":material/fact_check:"
    st.page_link(CHART, label=said, icon=icon, query_params=query)


def says_believed(instruments: Sequence[str]) -> str:
    """What is asked of the picture, and in how many models of known answer each was right."""
    asked = _(QUESTIONS[INSTRUMENTS_OF[instruments[0]]])
    counts = enumeration(map(_counted, instruments))
    return sentences(asked, _("Right when tested: {counts}").format(counts=counts))


def _counted(instrument: str) -> str:
    n_right, n = right_in(instrument)
    count = _("{n_right} of {n}").format(n_right=n_right, n=n)
    return bracketed(_(INSTRUMENTS[instrument]), count)
