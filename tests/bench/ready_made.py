"""The other side of the measurement: the Block page's figures, ready-made, on an empty page."""

import json
import sys
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st


class Ready(go.Figure):
    """A figure whose dictionaries are made already."""

    def __init__(self, sent: str):
        super().__init__()
        self._sent = json.loads(sent)

    def to_dict(self) -> dict:
        """As it was sent."""
        return self._sent


@st.cache_resource(max_entries=1)
def states(path: str) -> list[dict[str, Ready]]:
    """All figures of each state, by key."""
    saved = json.loads(Path(path).read_text())
    return [{key: Ready(sent) for key, sent in state.items()} for state in saved]


st.set_page_config(layout="wide")
found = states(sys.argv[1])
shown = st.select_slider("state", range(len(found)), key="state")
columns = st.columns(2)
for i, (key, figure) in enumerate(found[shown].items()):
    columns[i % 2].plotly_chart(figure, key=key)
