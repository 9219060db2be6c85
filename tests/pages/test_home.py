"""Home: a line to type into, what moves with it, and doors that lead on."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from opened import HOME, PAGES, ROOT, assert_works, figure, opened, press, run, said
from streamlit.testing.v1 import AppTest
from test_hard_inputs import TEXTS
from test_sidebar import panels_of

from blocks.inspection.known_names import STORIES
from blocks.weights.known import CLASS, FRANCE, MODELS
from pages.page import opening
from pages.panels.gpt import growing
from pages.server import address, brought, cached
from pages.words.language import LANGUAGES

LINE = "text_live"


@pytest.fixture(autouse=True)
def no_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setattr(brought, "is_here", lambda name: False)


def home(**query: object) -> AppTest:
    at = opened(HOME, **{"preset": None, "panel": None, **query})
    assert_works(at)
    return at


def typed(at: AppTest, text: str) -> AppTest:
    at.text_input(key=LINE).set_value(text)
    run(at)
    assert_works(at, warnings=None)
    return at


def names(at: AppTest) -> list[str]:
    return figure(at, "graph")["layout"]["xaxis"]["ticktext"]


def ways(at: AppTest) -> list:
    return [link.proto for link in at.main if link.type == "page_link"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_typed_moves_the_graph_and_what_follows(lang: str):
    at = home(lang=lang)
    before = names(at), figure(at, "following")["data"][0]["x"]
    text = {"en": " Once there was a red ball", "zh": "从前有一只小猫"}[lang]
    typed(at, text)
    assert at.query_params["text"] == text
    assert "ball" in names(at)[-1] or "猫" in names(at)[-1]
    assert figure(at, "following")["data"][0]["x"] != before[1]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_three_words_are_explained_with_the_numbers_of_the_run(lang: str):
    at = home(lang=lang)
    told = next(each.value for each in at.markdown if "**Transformer**" in each.value)
    assert [*re.findall(r"\*\*(.+?)\*\*", told)][1:] == {
        "en": ["tokens", "layers"],
        "zh": ["词元", "层"],
    }[lang]
    assert [*map(int, re.findall(r" (\d+) ", told))] == [len(names(at)), 4]
    top = figure(at, "following")["layout"]["yaxis"]["ticktext"][0]
    assert f"`{top}`" in told


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_name_is_she_or_he_until_one_head_is_off(lang: str):
    def chances(at: AppTest) -> list[float]:
        return figure(at, "she_or_he_bars")["data"][-1]["x"]

    at = home(lang=lang)
    before = chances(at)
    at.toggle(key="without_head").set_value(True)
    run(at)
    assert_works(at)
    assert (before[0] > before[1]) != (chances(at)[0] > chances(at)[1])
    behind = figure(at, "she_or_he_bars")["data"][0]
    assert behind["x"] == before and behind["opacity"] < 1  # as pale in the legend
    at.toggle(key="without_head").set_value(False)
    run(at)
    story = STORIES[lang]
    told = " ".join(each.value for each in at.markdown if story.first in each.value)
    for bar in figure(at, "she_or_he_bars")["data"][-1]["text"]:
        assert bar.strip() in told and bar.strip() != "100%"
    at.text_input(key="friend_live").set_value(" Zoë <b> ")
    run(at)
    assert_works(at)
    assert sum("`Zoë <b>`" in each.value for each in at.markdown) == 1
    press(at, "known_friend")
    assert "`Zoë <b>`" not in str([each.value for each in at.markdown])
    (other,) = {*LANGUAGES} - {lang}
    at.sidebar.button_group(key="lang").set_value(other)
    run(at)
    assert_works(at)
    assert not at.toggle(key="without_head").value
    assert at.text_input(key="friend_live").value == STORIES[other].first


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.thinned
def test_any_text_can_be_typed(text: str):
    at = typed(home(), text)
    assert len(names(at)) <= 40
    assert len(figure(at, "following")["data"][0]["x"]) == 5


def test_write_on_appends_the_likeliest_word_and_follows_the_end():
    first = figure(home(), "following")["layout"]["yaxis"]["ticktext"][0]
    at = press(home(token=2), "write_on")
    assert_works(at)
    assert at.text_input(key=LINE).value.endswith(f" {first}")
    assert "token" not in at.query_params
    assert first in names(at)[-1]


@pytest.mark.parametrize("text", [" Once there was a red b", "从前有一只小"])
def test_a_word_is_read_off_recordings_and_is_the_one_that_would_be_written(text, monkeypatch):
    at = home(text=text)
    before = cached.recordings().use.n_made, len(names(at))
    press(at, "write_on")
    assert cached.recordings().use.n_made - before[0] == len(names(at)) - before[1] > 0
    monkeypatch.setattr(growing, "is_read_off", lambda _run, _n: False)
    written = press(home(text=text), "write_on")
    assert at.text_input(key=LINE).value == written.text_input(key=LINE).value != text


def test_what_follows_is_that_of_the_pinned_token():
    at = home(text=" Once there was a red ball", token=3)
    assert figure(at, "following")["layout"]["title"]["text"] == "Next token after “a”"
    assert "Click a word to replace everything after" in said(at)


@pytest.mark.parametrize(("text", "stays"), [(" Once there was a cat", True), (" a b c d", False)])
def test_a_pin_stays_where_the_same_token_stands(text: str, stays: bool):
    at = typed(home(text=" Once there was a red ball", token=2), text)
    assert ("token" in at.query_params) == stays


def test_words_that_are_not_known_are_answered_with_samples():
    samples = {"sample_en", "sample_zh"}
    for text, is_offered in ((" a ball", False), (" Xylophones", True)):
        assert (samples <= {button.key for button in home(text=text).button}) == is_offered


def test_what_a_model_has_no_tokens_for_is_counted_and_offered_to_one_that_has():
    at = home(preset="sort", text="从前有一只小猫")
    assert "lacks 7 of these 7 characters" not in said(at)  # random weights read nothing
    at = home(text="今天下午老师在教室里讲注意力机制")
    assert "lacks 11 of these 16 characters" in said(at) and "Qwen3 0.6B" in said(at)
    at = home(locale="zh", text="The capital of France is")
    assert "在含三个或更多字母的 3 个单词中，有 3 个不在模型的词表里" in said(at)


def test_write_on_ends_where_the_model_can_read_no_more():
    at = home(text=" red" * 200)
    assert at.button(key="write_on").disabled and "Click a word to append it" not in said(at)
    assert len(names(at)) == 20 and "red₁₂₈" in names(at)[-1]
    assert "the first 128 are used" in said(at) and "Tokens 89 to 128 of 128" in said(at)


@pytest.mark.parametrize("preset", ["course", "masked-words", "translator", "sort", "llama-3-8b"])
def test_other_models_are_read_as_a_gpt_with_random_weights(preset: str):
    small = {} if preset != "llama-3-8b" else {"d_model": 64, "n_layers": 2, "d_ff": 64}
    at = home(preset=preset, text=" a", vocab_size=1024 if small else None, **small)
    assert said(at).lower().count("random weights") == 1
    press(at, "write_on")
    assert_works(at, warnings=None)


def test_the_graph_of_a_token_that_is_pinned_lights_its_way():
    whole, second = (figure(home(**query), "graph") for query in ({}, {"token": 1}))
    lit = [
        sum(shape["line"]["color"] == "#D55E00" for shape in picture["layout"]["shapes"])
        for picture in (whole, second)
    ]
    assert lit[0] > 0 and lit[1] > 0
    assert "#D55E00" in second["layout"]["xaxis"]["ticktext"][1]


def test_all_pages_are_behind_the_doors_and_take_the_text_along():
    at = home(text=" a red ball")
    links = ways(at)
    assert {f"pages/{link.page}.py" for link in links} >= set(PAGES) - {HOME}
    to_gpt = next(link for link in links if link.page == "gpt" and "panel" not in link.query_string)
    assert parse_qs(to_gpt.query_string)["text"] == [" a red ball"]


def test_questions_stand_before_the_names_of_pages():
    labels = [way.label for way in ways(home())]
    assert labels.index("What comes next? A small GPT tells a story") < labels.index("One block")


def told(page: str) -> set[str]:
    """What else a page names, itself or in the files of its panels: some lists are made anew."""
    own = (ROOT / page, *ROOT.glob(f"pages/panels/{Path(page).stem}/*.py"))
    return {*re.findall(r'"([\w-]+)"', "".join(path.read_text("utf-8") for path in own))}


def test_who_asks_where_a_word_reads_from_keeps_model_and_text():
    at = home(preset="gpt2-small", text="Dogs chase small cats")
    label = "Where does a word read from? Step by step"
    (way,) = (each for each in ways(at) if each.label == label)
    asked = parse_qs(way.query_string)
    assert asked["preset"] == ["gpt2-small"] and asked["text"] == ["Dogs chase small cats"]


def test_every_question_leads_to_a_panel_that_its_page_has():
    named = [
        (f"pages/{link.page}.py", parse_qs(link.query_string)["panel"][0])
        for link in ways(home())
        if "panel=" in link.query_string
    ]
    assert len(named) > 15
    there = {page: {each.name for each in panels_of(page)} | told(page) for page, _panel in named}
    assert [each for each in named if each[1] not in there[each[0]]] == []


def test_real_models_lead_on_where_they_are_and_are_fetched_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
):
    here, *others = MODELS
    monkeypatch.setattr(brought, "is_here", lambda name: name == here.file)
    monkeypatch.setenv("BLOCKSCOPE_HUB", "1")
    at = home()
    assert at.button(key="smollm2_135m_instruct_open").label == "Open it"
    keys = {button.key for button in at.button if (button.key or "").endswith("_look_up")}
    assert len(keys) == len(others)


def bare(**query: str) -> AppTest:
    at = AppTest.from_file(ROOT / HOME, default_timeout=150)
    at.query_params = query
    return run(at)


def test_a_bare_address_opens_with_the_model_of_the_server_and_says_which(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("BLOCKSCOPE_HOME", "sort")
    assert bare().query_params["preset"] == "sort"
    assert bare(lang="zh").query_params["preset"] == "sort"
    shared = bare(text=" a red ball")  # as another server has written it, or one of old
    assert shared.query_params["preset"] == "stories-en-zh"
    monkeypatch.setenv("BLOCKSCOPE_HOME", "folder:gone.gguf")
    assert [each.value for each in bare().error] == [
        "`gone.gguf` · 'gone.gguf' is not among the folders on this server: ask the administrator"
    ]


def test_home_opens_with_the_first_real_model_that_is_sound_and_reads_the_language(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("BLOCKSCOPE_HOME")
    held = {model.name: f"hub:{model.name}" for model in MODELS if model.title != "GPT-2 small"}
    monkeypatch.setattr(brought, "is_here", lambda name: False)
    monkeypatch.setattr(brought, "from_the_hub", lambda name: held.get(name, ""))
    monkeypatch.setattr(address, "is_alone", lambda: True)
    monkeypatch.setattr(brought, "is_sound", lambda name: "SmolLM2" in name or "gemma" in name)
    english, chinese = opening.first("en"), opening.first("zh")
    assert english == {"preset": f"hub:{MODELS[0].name}", "text": FRANCE}
    assert chinese == {"preset": "hub:google/gemma-3-270m", "text": CLASS}
    monkeypatch.setattr(address, "is_alone", lambda: False)  # a class
    assert opening.first("en") == {}


def test_the_menu_leads_home_to_the_model_that_ran():
    at = home(preset="sort", text=None)
    home_link = next(link.proto for link in at.sidebar if link.type == "page_link")
    assert parse_qs(home_link.query_string)["preset"] == ["sort"]
    at = opened("pages/gpt.py", preset=None)
    home_link = next(link.proto for link in at.sidebar if link.type == "page_link")
    assert parse_qs(home_link.query_string)["preset"] == ["stories-en-zh"]


def test_a_class_is_told_what_wires_are():
    at = home(present=True)
    assert_works(at)
    wires = "Each wire shows how much of one token's vector comes from another token."
    told = next(each.value for each in at.markdown if wires in each.value)
    assert told.startswith("Orange wires are the main routes to") and "Click a token" not in told
