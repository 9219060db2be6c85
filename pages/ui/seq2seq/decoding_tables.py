"""What a beam ends with, as a table."""

import math

import pandas as pd
import streamlit as st

from pages.ui.language import _
from pages.ui.numbers import percent
from pages.ui.seq2seq import decoding
from pages.ui.seq2seq.decoding import Standing
from pages.ui.seq2seq.decoding_words import nats


def results(here: Standing) -> None:
    """The best targets of a beam with what they are judged by, the best first."""
    found = decoding.results(here)
    if len(found) < 2:
        return
    table = decoding.nodes(here)
    rows = [
        (
            decoding.text(each),
            each.step,
            nats(table["log_prob"].loc[each.place]),
            percent(math.exp(table["log_prob"].loc[each.place])),
            nats(table["score"].loc[each.place]),
        )
        for each in found
    ]
    columns = [_("target"), _("tokens"), _("log-probability"), _("probability"), _("beam score")]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, key="beam_results")
