"""A page of all explanations, so that a browser can say which formula it cannot read."""

from pathlib import Path

import streamlit as st

st.title("All explanations")
for path in sorted(Path("assets/text").glob("*/*.md")):
    st.markdown(path.read_text(encoding="utf-8"))
