"""What nobody hopes for: nasty text, impossible links, too little memory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
import torch
from opened import (
    BLOCK,
    HOME,
    assert_works,
    control,
    figure,
    opened,
    press,
    run,
    said,
    settings,
    visit,
    words_in_pictures,
)

from blocks.model.attention import Attention
from blocks.text.words import words
from pages.server.settings import MAX_CHARACTERS, MAX_TOKENS, TYPED_CHARACTERS

MARKUP = "<script>alert(1)</script> **x** $y$ [a](javascript:x) :material/home: `b` <b>c</b>"
TEXTS = {
    "empty": "",
    "white": " \t\n ",
    "one token": "a",
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "right to left": "مرحبا بالعالم שלום",
    "nul": "a\x00b\x1b[31m\ufeff\u202e",
    "markup": MARKUP,
    "one long word": "x" * MAX_CHARACTERS,
    "many tokens": "好" * MAX_CHARACTERS,
    "quotes": "'\"\\{}%{y}&amp;",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.thinned
def test_any_text_runs_and_its_link_keeps_it(text: str):
    at = opened(text=text, d_model=32)
    assert_works(at)
    tokens, _ = words(text, at_most=MAX_TOKENS)
    assert len(control(at, "token").options) == max(1, len(tokens))
    assert settings(at)["text"] == text


def test_a_text_of_100_000_characters_is_cut_and_said():
    at = opened(text="a " * 50_000)
    assert_works(at, warnings=1)
    assert len(at.session_state["values"]["text"]) == TYPED_CHARACTERS
    assert len(at.query_params["text"]) == MAX_CHARACTERS
    assert f"first {MAX_TOKENS} are used" in said(at)
    assert "Only the first 40,000 of 100,000 characters are kept. The link carries" in said(at)


def test_a_text_of_100_000_characters_in_the_field_is_cut():
    at = opened()
    at.text_area(key="text").set_value("a " * 50_000)
    run(at)
    assert_works(at, warnings=None)
    assert f"first {MAX_TOKENS} are used" in said(at)
    assert len(at.session_state["values"]["text"]) == TYPED_CHARACTERS
    assert "Only the first 40,000 of 100,000 characters are kept" in said(at)
    assert "These characters make 20,000 tokens, of which the first" in said(at)


def test_a_text_too_long_for_a_link_stays_whole_in_the_session():
    text = "a b c " * 500
    at = opened(text=text)
    assert_works(at)
    assert at.query_params["text"] == text[:MAX_CHARACTERS]
    assert at.session_state["values"]["text"] == text
    assert "The link carries only the first 2,000 characters" in said(at)
    at.query_params["layer"] = "0"  # a link of this session: it goes on with the whole
    run(at)
    assert at.session_state["values"]["text"] == text


def test_markup_in_a_token_is_text_in_every_picture():
    at = opened(text=MARKUP, token=0)
    shown = words_in_pictures(at)
    ticks = figure(at, "head_map")["layout"]["yaxis"]["ticktext"]
    assert ticks[:3] == ["&lt;₁", "script₁", "&gt;₁"]
    assert "<script" not in shown and "<b>c" not in shown


def test_a_token_in_a_sentence_is_code():
    assert "pinned token is `ˋ`" in said(opened(text="a `", token=1))


def test_what_is_adjusted_says_what_is_used():
    at = opened(n_heads=7)
    assert_works(at, warnings=1)
    assert at.warning[0].value.endswith(f"→ n_heads = {settings(at).get('n_heads', 8)}")


RUN_NAMES = ("d_model", "n_heads", "dropout", "mask_kind", "seed")
MARKED = ("**bold**", ":material/home:", "$x^2$", "[a](javascript:x)", "<b>x</b>")


def test_markup_in_a_link_is_no_markup_in_a_warning():
    names, values = dict.fromkeys(MARKED, "1"), dict(zip(RUN_NAMES, MARKED, strict=True))
    at = opened(**names, **values)
    assert_works(at, warnings=2 * len(MARKED))
    interpreted = "".join(without_code(warning.value) for warning in at.warning)
    assert [markup for markup in MARKED if markup in interpreted] == []


def without_code(markdown: str) -> str:
    """What markdown interprets: the rest between `…` is shown as it is."""
    return "".join(markdown.split("`")[::2])


@pytest.mark.parametrize(("lang", "says"), [("en", "does not divide"), ("zh", "整除")])
@pytest.mark.parametrize("page", [HOME, BLOCK])
@pytest.mark.thinned
def test_an_illegal_pair_is_mended_and_said(page: str, lang: str, says: str):
    at = opened(page, n_heads=6, d_model=256, lang=lang)
    assert_works(at, warnings=1)
    assert says in at.warning[0].value and "n_heads" in at.warning[0].value
    assert control(at, "n_heads").value == 4
    assert settings(at)["n_heads"] == "4"


def test_what_is_used_instead_is_said_in_words():
    at = opened(d_ff="x", n_kv_heads="x", token="x", lang="x")
    assert_works(at, warnings=4)


@pytest.mark.parametrize(
    ("page", "name", "value"),
    [
        ("cost", "utilisation", 0.01),
        ("cost", "utilisation", 0.02),
        ("block", "rotary_share", 0.01),
        ("training", "label_smoothing", 0.9),
    ],
)
@pytest.mark.thinned
def test_what_a_field_allows_its_control_shows(page: str, name: str, value: float):
    at = opened(f"pages/{page}.py", position_kind="rope", **{name: value})
    assert_works(at)
    assert control(at, name).value == value


def test_a_translator_that_lacks_words_is_not_asked_about_them():
    at = opened("pages/seq2seq.py", preset="translator", text="", vocab_size=100)
    assert_works(at)


def test_a_table_that_no_model_has_is_not_drawn_to_its_end():
    with nothing_large():
        at = opened("pages/positions.py", preset="stories-en-zh", max_seq_len=10**6)
    assert_works(at)


def test_a_number_of_parameters_beyond_64_bits_is_drawn():
    sizes = {"n_layers": 10**6, "d_model": 10**6, "d_ff": 10**6, "n_experts": 64, "n_heads": 1}
    at = opened("pages/compare.py", kept="A=preset%3Dcourse", preset="stories-en-zh", **sizes)
    assert_works(at)
    assert max(figure(at, "pair_parameters")["data"][1]["x"]) > 2**64


def test_everything_wrong_at_once_still_renders():
    at = opened(d_model="x", n_heads="-3", mask_kind="all", device="tpu", nonsense="1", seed="1e9")
    assert_works(at, warnings=None)
    assert len(at.warning) == 6
    visit(at)
    assert_works(at)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a cuda device")
@pytest.mark.parametrize(("lang", "says"), [("en", "cannot be used here"), ("zh", "无法使用")])
def test_a_device_that_is_not_here_is_said(lang: str, says: str):
    at = opened(device="cuda", lang=lang)
    assert_works(at, warnings=1)
    warning = at.warning[0].value
    assert "cuda" in warning and "cpu" in warning and says in warning


@pytest.mark.parametrize(("lang", "says"), [("en", "There is no model"), ("zh", "没有")])
def test_a_model_that_is_not_here_leads_to_the_nearest(lang: str, says: str):
    at = opened("pages/cost.py", preset="llama-2-7b", panel="memory", lang=lang)
    assert_works(at, warnings=1)
    warning = at.warning[0].value
    assert says in warning and "`llama-2-7b`" in warning and "`gpt2-small`" in warning
    press(at, "nearest_llama-7b")
    assert_works(at)
    assert settings(at)["preset"] == "llama-7b"


def test_a_name_like_none_of_ours_has_no_nearest():
    at = opened("pages/cost.py", preset="0", panel="memory")
    assert_works(at, warnings=1)
    assert "cannot be used here" in at.warning[0].value


@contextmanager
def nothing_large() -> Iterator[None]:
    """What is done here takes no more memory than any page does, where the system says it."""
    if not OWN_MOST.exists():
        yield
        return
    OWN_MOST.write_text("5")  # forget the most that was taken before
    before = most_taken()
    yield
    assert most_taken() - before < 300 * 2**20


OWN_MOST = Path("/proc/self/clear_refs")


def most_taken() -> int:
    """The most bytes that this process has held at once since it was made to forget."""
    line = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(line[1])


@pytest.mark.skipif(not OWN_MOST.exists(), reason="this system does not say")
def test_what_is_large_would_be_seen_even_after_something_larger():
    for n_bytes in (800 * 2**20, 400 * 2**20):
        with pytest.raises(AssertionError), nothing_large():
            torch.ones(n_bytes, dtype=torch.uint8)


TOO_LARGE = {
    "wide": {"d_model": 1_000_000},
    "wide, many heads": {"d_model": 1_000_000, "n_heads": 1_000_000},
    "wide inside": {"d_ff": 1_000_000, "d_model": 4096},
    "long table": {"position_kind": "learned", "max_seq_len": 1_000_000, "d_model": 4096},
    "many": {"input_kind": "random", "batch": 64, "seq_len": 256, "d_model": 4096, "n_heads": 64},
}


@pytest.mark.parametrize("link", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_what_does_not_fit_is_refused_with_numbers_and_a_way_out(
    monkeypatch: pytest.MonkeyPatch, link: dict
):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.2")
    with nothing_large():
        at = opened(**link)
    assert not at.exception
    assert re.search(r"needs about [\d,.]+ [GT]B .* 215 MB allowed", at.error[0].value)
    assert at.button(key="mend_0").label.startswith("Use ")
    assert_works(press(at, "mend_0"), warnings=None)


def test_the_home_page_refuses_too():
    with nothing_large():
        at = opened(HOME, d_model=1_000_000)
    assert not at.exception
    assert "2.15 GB allowed" in at.error[0].value


@pytest.mark.parametrize(("gib", "fits"), [("0.001", False), ("0.5", True)])
def test_the_memory_that_may_be_taken_is_set_from_outside(
    monkeypatch: pytest.MonkeyPatch, gib: str, fits: bool
):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", gib)
    at = opened()
    assert bool(at.error) != fits
    assert fits or "1.07 MB allowed" in at.error[0].value


def test_a_long_sentence_and_little_memory_has_a_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.01")
    at = opened(text="好" * 256, d_model=64)
    press(at, "mend_0")
    assert_works(at, warnings=None)


TABLE_OF_4 = {"position_kind": "learned", "max_seq_len": 4}


def test_a_sentence_longer_than_the_table_of_positions_is_said():
    at = opened(**TABLE_OF_4)
    assert not at.exception
    assert "max_seq_len (4)" in at.error[0].value


@pytest.mark.parametrize("more", [{}, {"input_kind": "random"}], ids=["sentence", "random"])
def test_a_sentence_longer_than_the_table_of_positions_has_a_way_out(more: dict):
    at = opened(**TABLE_OF_4, **more)
    press(at, "mend_0")
    assert_works(at)


def test_running_out_of_memory_is_said_and_the_next_run_works(monkeypatch: pytest.MonkeyPatch):
    at = opened()
    with monkeypatch.context() as broken:
        broken.setattr(Attention, "forward", lambda *_, **__: torch.empty(2**50))
        visit(at, seed=1001)
    assert not at.exception
    assert "ran out of memory" in at.error[0].value
    assert_works(run(at))


def test_another_error_in_the_model_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    at = opened()
    with monkeypatch.context() as broken:
        broken.setattr(Attention, "forward", lambda *_, **__: torch.ones(2) @ torch.ones(3))
        visit(at, seed=1002)
    assert at.exception
    assert_works(run(at))


def test_of_a_long_text_masks_are_drawn_around_the_pinned_token():
    at = opened("pages/masks.py", text="a b c " * 100, token=250, panel="steps", d_model=32)
    assert_works(at)
    assert "Tokens 173 to 300 of 300 are shown, around the pinned one" in said(at)
    for key in ("mask_map", "score_map", "pattern_map"):
        assert len(orjson.dumps(figure(at, key))) < 300_000
