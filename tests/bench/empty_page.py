"""What Streamlit alone takes for a rerun."""

import streamlit as st

st.title("Empty")
