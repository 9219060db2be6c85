"""Tokens of a reader's text: whose they are, what hides one, what is called how."""

import pytest

from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.text.bpe import MASK
from blocks.text.tokenizer import Piece
from blocks.weights.pocket import pocket, pocket_names
from pages.server import starts
from pages.show import inputs
from pages.stage import link, tokens
from pages.state.fields import CHAT


def set_link(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    monkeypatch.setattr(link, "value", lambda name: link.value_in(values, name))
    monkeypatch.setattr(link, "config", lambda: starts.start(values["preset"]).config)


def test_a_text_is_cut_to_what_the_model_reads_at_once(monkeypatch: pytest.MonkeyPatch):
    set_link(monkeypatch, preset="sort", text="abcdefghijklmnop", n_padding=2)
    pieces, total, left_out = tokens.reading()
    assert [piece.label for piece in pieces] == list("abcdefghij")  # 12, less the padding
    assert total == 16 and left_out == ()


def test_of_an_empty_text_one_token_stands_for_it(monkeypatch: pytest.MonkeyPatch):
    set_link(monkeypatch, preset="sort", text="")
    pieces, total, _ = tokens.reading()
    assert [piece.label for piece in pieces] == [tokens.EMPTY] and total == 0


@pytest.mark.parametrize(("token", "hidden"), [(None, 2), (0, 0), (99, 3)])
def test_the_pinned_token_is_hidden_or_one_in_the_middle(token, hidden, monkeypatch):
    set_link(monkeypatch, preset="masked-words", text=" a kind fox.", token=token)
    pieces = tokens.reading().pieces
    assert len(pieces) == 4 and tokens.can_hide()
    shown = tokens.hide(pieces)
    assert [piece.label == MASK for piece in shown] == [i == hidden for i in range(4)]
    assert (shown[hidden].start, shown[hidden].end) == (pieces[hidden].start, pieces[hidden].end)


def test_letters_have_nothing_to_hide_behind(monkeypatch: pytest.MonkeyPatch):
    set_link(monkeypatch, preset="sort", text="abc")
    assert not tokens.can_hide()


def test_a_model_may_know_more_tokens_than_its_tokenizer():
    config = starts.start("gpt2-small").config
    run = Run(config=config, input=Input(tokens=("a",), token_ids=(5,)), mask=MaskConfig())
    assert tokens.label(run, 3_021) == "⟨3021⟩"
    assert tokens.label(run, 100) == tokens.tokenizer_of("").label(100)


@pytest.mark.parametrize("name", pocket_names())
def test_each_pocket_model_reads_its_own_samples(name: str):
    model = pocket(name)
    assert model.card.samples.keys() == {"en", "zh"}
    for text in model.card.samples.values():
        assert model.tokenizer.left_out(text) == ()
        assert 1 < len(model.tokenizer.encode(text)) <= model.config.max_seq_len


def test_a_mask_that_the_reader_wrote_is_a_mask(monkeypatch: pytest.MonkeyPatch):
    text = " a [MASK] fox[MASK]"
    set_link(monkeypatch, preset="masked-words", text=text, token=0)
    pieces = tokens.reading().pieces
    masks = [piece for piece in pieces if piece.label == MASK]
    assert [text[piece.start : piece.end] for piece in masks] == [MASK, MASK]
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
    assert tokens.hide(pieces) == pieces  # one hole at a time is the reader's to choose


def test_to_a_gpt_it_is_text_like_any_other(monkeypatch: pytest.MonkeyPatch):
    set_link(monkeypatch, preset="stories-en-zh", text=" a [MASK]")
    assert MASK not in [piece.label for piece in tokens.reading().pieces]


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(("seq_len", "left"), [(8, "abc"), (7, "ab"), (6, "a"), (5, ""), (2, "")])
def test_a_question_is_shortened_by_as_much_as_its_template_leaves(
    seq_len: int, left: str, monkeypatch: pytest.MonkeyPatch
):
    places = [(0, 0)] * 3 + [(0, 1), (1, 2), (2, 3)] + [(3, 3)] * 2
    pieces = tuple(Piece(i, *place, "") for i, place in enumerate(places))
    monkeypatch.setattr(tokens, "prompt", lambda: CHAT)
    monkeypatch.setattr(tokens, "_asked", lambda _text, _reader: pieces)
    link.become({"preset": "sort", "text": "abc"})
    inputs.shorten(seq_len)
    assert link.value("text") == left


@pytest.mark.usefixtures("session")
def test_a_text_is_shortened_to_so_many_tokens():
    link.become({"preset": "sort", "text": "abcdef"})
    inputs.shorten(4)
    assert link.value("text") == "abcd"
