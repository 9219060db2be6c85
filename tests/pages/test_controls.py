"""A control is moved, and the numbers and pictures that name it change."""

from collections import Counter
from urllib.parse import parse_qsl

import pytest
from daily import some_daily
from opened import (
    BLOCK,
    HOME,
    assert_works,
    control,
    figure,
    move,
    opened,
    press,
    run,
    said,
    settings,
    visit,
)
from streamlit.testing.v1 import AppTest

from blocks import PRESETS, count_parameters
from blocks.model.presets import PRESET_TABLE
from blocks.observe.wiring import wiring
from pages.state import fields


def total(at: AppTest) -> int:
    """The parameters that the page says the block has."""
    bold = next(m.value for m in at.markdown if m.value.strip("*").replace(",", "").isdigit())
    return int(bold.strip("*").replace(",", ""))


def stages(at: AppTest) -> list[str]:
    """The stages that the drawing offers."""
    return [row[0] for row in figure(at, "strip")["data"][0]["customdata"]]


SMALL = {"d_model": 64}


def test_d_ff_changes_the_parameters():
    at = opened(**SMALL, panel="parameters")
    before = total(at)
    move(at, "d_ff", 512)
    assert total(at) - before == (512 - 256) * (2 * 64 + 1)
    assert settings(at) == {"d_model": "64", "d_ff": "512", "panel": "parameters"}


def test_a_slider_is_left_where_the_reader_moved_it():
    """To set it to what it shows would take back the keys that were pressed since."""
    at = opened(**SMALL, panel="look-inside")
    move(at, "d_model", 96)
    assert not control(at, "d_model").proto.set_value
    assert control(at, "d_ff").proto.set_value  # it follows
    visit(at, d_model=64, panel="look-inside")
    assert control(at, "d_model").value == 64


@pytest.mark.parametrize("placement", ["post", "sandwich", "parallel"])
@pytest.mark.thinned
def test_norm_placement_changes_the_stages(placement: str):
    at = move(opened(), "norm_placement", placement)
    config = PRESETS["course"].replace(norm_placement=placement)
    assert stages(at) == [step.stage for step in wiring(config)]
    assert list(at.dataframe[0].value.iloc[:, 0]) != stages(opened())


def test_the_mask_changes_the_pictures_and_the_sentence():
    at = opened(**SMALL)
    before = figure(at, "mask")["data"][0]["z"]
    sentence = said(at)
    move(at, "mask_kind", "none")
    assert figure(at, "mask")["data"][0]["z"] != before
    assert said(at) != sentence


def test_the_activation_changes_code_and_count():
    at = opened(**SMALL)
    before = total(at)
    move(at, "activation", "swiglu")
    assert total(at) - before == 64 * 256 + 256  # a third projection with its bias


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", 1), ("dtype", "bfloat16"), ("initialization", "normal"), ("residual", False)],
)
@pytest.mark.thinned
def test_what_changes_no_size_changes_the_values(key: str, value: object):
    at = opened(**SMALL)
    before, count = at.dataframe[0].value, total(at)
    move(at, key, value)
    assert total(at) == count
    assert not at.dataframe[0].value.equals(before)


def test_dropout_needs_training_mode():
    at = opened(**SMALL)
    before = at.dataframe[0].value
    assert move(at, "dropout", 0.5).dataframe[0].value.equals(before)
    assert not move(at, "training", True).dataframe[0].value.equals(before)


def test_d_ff_and_n_kv_heads_follow_until_they_are_moved():
    at = move(opened(**SMALL, panel="parameters"), "d_model", 128)
    assert control(at, "d_ff").value == 512
    move(at, "n_heads", 4)
    assert control(at, "n_kv_heads").value == 4
    move(at, "d_ff", 256)
    move(at, "n_kv_heads", 2)
    move(at, "d_model", 192)
    assert (control(at, "d_ff").value, control(at, "n_kv_heads").value) == (256, 2)


def test_a_control_stays_where_it_is_when_another_moves():
    at = opened(n_dims=30, head=1, token=2, window_size=5, mask_kind="sliding_window", **SMALL)
    move(at, "d_model", 96)
    places = {"n_dims": 30, "head": 1, "token": 2, "window_size": 5, "n_heads": 8}
    assert {key: control(at, key).value for key in places} == places


def test_a_control_stays_where_it_is_on_another_page():
    places = {"d_model": 96, "n_heads": 4, "n_kv_heads": 2, "d_ff": 192, "norm_placement": "post"}
    at = opened(**places)
    for page in (HOME, BLOCK):
        run(at.switch_page(page))
        assert {key: control(at, key).value for key in places} == places


def test_a_preset_resets_the_configuration_and_nothing_else():
    at = opened(d_model=64, norm_kind="rmsnorm", seed=3, mask_kind="none", text="a b", lang="en")
    move(at, "preset", "smollm2-135m")
    kept = {"seed": "3", "text": "a b", "lang": "en"}
    assert settings(at) == {"preset": "smollm2-135m", **kept}
    assert control(at, "mask_kind").value == PRESET_TABLE["smollm2-135m"].mask_kind
    assert total(at) == count_parameters(PRESETS["smollm2-135m"].one_block())["count"].sum()


def test_a_value_moved_back_leaves_the_link():
    at = move(opened(), "norm_placement", "post")
    assert settings(at) == {"norm_placement": "post"}
    assert settings(move(at, "norm_placement", "pre")) == {}


def test_back_to_the_start_forgets_all_but_the_language():
    at = opened(lang="zh", d_model=64, text="a", stage="resid_post", token=0, panel=None)
    press(at, "share")
    press(at, "reset")
    assert_works(at)
    assert settings(at) == {"lang": "zh"}


def test_the_language_changes_words_and_keeps_settings():
    at = opened(d_model=64, norm_placement="post", lang="en")
    numbers = total(at), stages(at)
    move(at, "lang", "zh")
    assert not at.title[0].value.isascii()
    assert (total(at), stages(at)) == numbers
    assert settings(at) == {"d_model": "64", "norm_placement": "post", "lang": "zh"}


@pytest.mark.parametrize(("locale", "lang"), [("zh-TW", "zh"), ("de-DE", "en"), ("", "en")])
def test_the_browser_chooses_the_language_where_the_reader_did_not(locale: str, lang: str):
    at = opened(locale=locale, **SMALL)
    assert at.title[0].value.isascii() == (lang == "en")
    assert at.text_area(key="text").value == fields.SAMPLES[lang]


def test_the_previous_run_stands_behind_as_a_ghost():
    at = opened(**SMALL)
    traces = len(figure(at, "bands")["data"])
    move(at, "norm_placement", "post")
    assert len(figure(at, "bands")["data"]) == traces + 1


def test_the_open_stage_head_and_token_are_shown():
    at = opened(stage="resid_mid", head=5, token=2, **SMALL)
    assert control(at, "stage").value == "resid_mid"
    assert "**Head 6**" in said(at) and "pinned token is `robot₁`" in said(at)
    assert figure(at, "head_map")["layout"]["shapes"][0]["y0"] == 1.5


def test_a_stage_head_or_token_that_is_not_there_gives_way():
    at = opened(stage="nowhere", head=1000, token=1000, n_heads=2, **SMALL)
    assert_works(at)
    assert "**Head 2**" in said(at) and "pinned token is `smiled`" in said(at)


@pytest.mark.parametrize(
    ("n_of_a_real_model", "step"), some_daily([(1, 18), (100, 1)], daily=[(1, 18)])
)
def test_every_link_on_a_page_leads_to_a_state_that_works(n_of_a_real_model: int, step: int):
    """Each, or some; of those to a real model, where one is here, so many of each page."""
    at = opened(HOME, lang="zh")
    on_both = (*at.page_link, *opened(BLOCK, lang="zh").page_link)
    opened_so_far: Counter[str] = Counter()
    links = {(link.proto.page, link.proto.query_string) for link in on_both}
    for name, query in sorted(links, reverse=True)[::step]:
        if "preset=folder" in query:
            opened_so_far[name] += 1
            if opened_so_far[name] > n_of_a_real_model:
                continue
        at.switch_page(f"pages/{name}.py" if name else HOME)
        visit(at, **{"preset": None, "panel": None, **dict(parse_qsl(query))})
        assert_works(at)


@pytest.mark.parametrize("changed", [{"n_experts": "8"}, {"kept": "mine=preset%3Dfast"}])
def test_a_changed_model_is_the_same_on_a_page_that_begins_with_another(changed: dict):
    at = opened("pages/feed_forward.py", preset=None, panel=None, **changed)
    assert settings(at) == changed | {"preset": "stories-en-zh"}
    (way,) = (each.proto for each in at.page_link if each.proto.label == "Cost")
    at.switch_page("pages/cost.py")
    visit(at, **{"preset": None, "panel": None, **dict(parse_qsl(way.query_string))})
    assert settings(at) == changed | {"preset": "stories-en-zh"}
    padded = opened("pages/feed_forward.py", preset=None, panel=None, n_padding=2)
    assert "preset" not in padded.query_params


def test_two_readers_in_turn_see_each_their_own():
    links = [
        {"d_model": 64, "n_heads": 2, "norm_placement": "post", "lang": "zh"},
        {"d_model": 96, "n_heads": 4, "norm_placement": "parallel", "lang": "en"},
    ]
    readers = [opened(**link) for link in links]
    alone = [(total(at), stages(at), at.title[0].value) for at in readers]
    for seed in range(3):
        for at, link in zip(readers, links, strict=True):
            visit(at, seed=seed, **link)
    assert [(total(at), stages(at), at.title[0].value) for at in readers] == alone
    assert [settings(at)["d_model"] for at in readers] == ["64", "96"]


def test_a_fast_second_move_takes_nothing_back_that_the_browser_repeats():
    at = opened(d_model=64)
    move(at, "norm_kind", "rmsnorm")
    control(at, "norm_kind").set_value("layernorm")
    move(at, "mask_kind", "none")
    assert settings(at) == {"d_model": "64", "norm_kind": "rmsnorm", "mask_kind": "none"}
    assert control(at, "norm_kind").value == "rmsnorm"
    move(at, "norm_kind", "layernorm")
    assert settings(at) == {"d_model": "64", "mask_kind": "none"}
