"""A trained model cut after its first layers keeps what these have learned."""

import pytest
import torch
from opened import assert_works, noted_runs, opened, press, said, settings

from pages.server import cached

STORY = {"preset": "stories-en-zh", "text": "Once upon a time", "panel": "next"}


def test_the_first_trained_layers_say_what_the_whole_model_has_after_them(
    monkeypatch: pytest.MonkeyPatch,
):
    runs = noted_runs(monkeypatch)
    assert_works(opened("pages/gpt.py", **STORY))
    whole, model = cached.recording(runs[-1]), cached.model(runs[-1])
    at = opened("pages/gpt.py", **STORY, n_layers=2)
    assert_works(at)
    assert "Only the first 2 of the 4 trained layers run." in said(at)
    cut = cached.recording(runs[-1])
    with torch.inference_mode():
        after_two = model.unembed_logits(model.final_norm(whole.tensor("layers.1.resid_post")))
    torch.testing.assert_close(cut.output, after_two)
    press(at, "retrieve_weights")
    assert "trained layers run" not in said(at)
    assert "n_layers" not in settings(at)


def test_more_layers_than_were_trained_are_random():
    at = opened("pages/gpt.py", **STORY, n_layers=6)
    assert_works(at)
    assert "the trained weights do not fit the changed n_layers" in said(at)
