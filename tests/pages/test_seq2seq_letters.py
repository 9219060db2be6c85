"""The page of two texts with a model that copies letters: its own vocabulary names its tokens."""

from opened import assert_works, control, opened, said
from test_training_page import run_of
from test_training_pairs_page import finished, no_thread_stays  # noqa: F401

from pages.server import starts


def test_start_and_end_are_called_what_the_vocabulary_calls_them():
    run_id = run_of(finished(task="copy", learner="encoder-decoder")).id
    (stop,) = starts.model(f"run:{run_id}@3").tokenizer.encode("=")
    at = opened("pages/seq2seq.py", preset=f"run:{run_id}", text="abc", forced_ids=stop)
    assert_works(at)
    assert "The target is complete (`=`)." in said(at)
    assert control(at, "target_token").options[0] == "="
    assert "[BEGIN]" not in said(at) and "[END]" not in said(at)
