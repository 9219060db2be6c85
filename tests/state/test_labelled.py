"""What is kept ready to be drawn holds the reader's words, whoever asked first."""

import pytest
import streamlit as st

from blocks import ModelConfig
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.state import labelled

CONFIG = ModelConfig(architecture="gpt", n_layers=1, d_model=16, n_heads=2, vocab_size=8)
GIVEN = Input(tokens=("a", "b", "a"), token_ids=(1, 2, 1))
RUN = Run(config=CONFIG, input=GIVEN, mask=MaskConfig(mask_kind="causal"))


@pytest.mark.parametrize(
    "words",
    [
        lambda: labelled.heads(RUN, 0)["hover"].tolist(),
        lambda: labelled.stages(RUN, 0)["label"].tolist(),
    ],
    ids=["heads", "stages"],
)
def test_a_second_reader_finds_them_in_another_language(monkeypatch, words):
    found = {}
    for language in ("en", "zh"):
        monkeypatch.setitem(st.session_state, "language", language)
        found[language] = " ".join(words())
    assert found["en"].replace("·", "").isascii()
    assert any("一" <= each <= "鿿" for each in found["zh"])
