"""A whole encoder on the page: trained or random, hidden words, layers and heads."""

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings

ENCODER = "pages/encoder.py"
SENTENCE = " Once there was a shy owl called Nora. She had a pink bell."


def column(at, name: str) -> list:
    """The values of a column, whichever table has it."""
    return next(list(t.value[name]) for t in at.dataframe if name in t.value)


def guesses(at) -> list[str]:
    return column(at, "most probable token")


def test_the_first_view_guesses_a_hidden_word():
    at = opened(ENCODER, preset=None, text=SENTENCE, token=13)
    assert_works(at)
    tokens = column(at, "input token")
    assert tokens[13] == "[MASK]" and tokens.count("[MASK]") == 1
    assert "The input there is [MASK]; the masked word is" in said(at)
    assert "on unseen data" in said(at)


def test_a_model_may_guess_tokens_that_the_tokenizer_does_not_know():
    at = opened(ENCODER, preset="bert-base", d_model=32, n_heads=4, n_layers=2, vocab_size=2000)
    assert_works(at)
    assert any(guess.startswith("⟨") for guess in guesses(at))


def test_a_trained_model_copies_what_it_reads_and_a_random_one_does_not():
    at = opened(ENCODER, preset=None, text=SENTENCE, hide_token=False)
    tokens = column(at, "input token")
    agree = [a == b for a, b in zip(tokens, guesses(at), strict=True)]
    assert sum(agree) > 0.8 * len(agree)
    move(at, "weights", "random")
    assert settings(at)["weights"] == "random"
    assert "these predictions mean nothing yet" in said(at)


def test_the_sorting_model_sorts():
    at = opened(ENCODER, preset="sort", text="transformers")
    assert_works(at)
    assert "".join(guesses(at)) == "".join(sorted("transformers"))


def test_a_sign_the_model_has_no_token_for_is_named():
    at = opened(ENCODER, preset="sort", text="SORT me")
    assert_works(at)
    assert "vocabulary and were left out" in said(at) and "`S`" in said(at)
    assert "`␣`" in said(at)


def test_a_control_that_leaves_the_trained_model_says_so_and_has_a_way_back():
    at = opened(ENCODER, preset="sort", text="hello")
    before = guesses(at)
    move(at, "d_model", 128)
    assert "the trained weights do not fit the changed d_model" in said(at)
    assert said(at).lower().count("trained weights do not fit") == 1
    press(at, "retrieve_weights")
    assert_works(at)
    assert guesses(at) == before
    assert settings(at) == {"preset": "sort", "text": "hello"}


def test_a_trained_gpt_is_no_encoder_and_the_page_says_so():
    at = opened(ENCODER, preset="stories-en-zh")
    assert_works(at)
    assert "The trained model's architecture (GPT)" in said(at)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_every_layer_has_its_row_and_every_head_its_tile(n_layers: int):
    at = opened(ENCODER, preset="bert-base", n_layers=n_layers, d_model=64, n_heads=4)
    assert_works(at)
    after = column(at, "stage")
    layers = (f"layer {i + 1}" for i in range(n_layers))
    assert after == ["embedding", "embedding norm", *layers]  # post: no final
    tiles = figure(at, "head_tiles")["data"][1]["customdata"]
    assert len({row[0] for row in tiles}) == 4 * n_layers


def test_layer_and_head_of_the_link_are_shown():
    at = opened(ENCODER, preset="sort", text="hello", layer=1, head=2)
    assert control(at, "layer").value == 1 and control(at, "head").value == 2
    assert control(at, "layer").options == ["1", "2"]  # counted from 1, as everywhere on the page
    other = opened(ENCODER, preset="sort", text="hello", layer=99, head=99)
    assert_works(other)
    assert control(other, "layer").value == 1 and control(other, "head").value == 3


@pytest.mark.parametrize("text", ["", "a", "🤖", "שלום", "\x00", "<b>x</b>", "你" * 3000])
@pytest.mark.thinned
def test_any_text_is_read(text: str):
    at = opened(ENCODER, preset=None, text=text)
    assert_works(at, warnings=None)


@pytest.mark.parametrize("mask_kind", ["causal", "padding", "causal_padding", "prefix"])
@pytest.mark.thinned
def test_every_mask_runs(mask_kind: str):
    at = opened(ENCODER, preset=None, mask_kind=mask_kind, padding_side="left", n_padding=3)
    assert_works(at)


def test_a_vocabulary_that_is_too_small_is_mended():
    at = opened(ENCODER, preset="bert-base", n_layers=1, d_model=64, n_heads=4, vocab_size=300)
    assert "vocab_size is 300" in at.error[0].value
    press(at, "mend_0")
    assert_works(at)
