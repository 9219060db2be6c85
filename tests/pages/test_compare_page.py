"""A and B on the page that compares: pairs, lists, files, trade-offs, and what cannot run."""

import re
import tomllib

import pandas as pd
import pytest
import streamlit as st
import tomli_w
from hypothesis import HealthCheck, given
from hypothesis import settings as given_settings
from hypothesis import strategies as st_
from opened import (
    assert_works,
    control,
    figure,
    move,
    opened,
    press,
    said,
    settings,
    titles,
    visit,
    words_in_pictures,
)

from blocks import ModelConfig
from pages.panels.compare import files
from pages.panels.compare.pairs import PAIRS
from pages.server import starts
from pages.stage import kept, link
from pages.state.fields import CONFIG
from pages.state.link_fields.compare import MEASURES, Kept, text_of

PAGE = "pages/compare.py"

SMALL = {"preset": "fast", "n_layers": "2", "d_model": "32", "n_heads": "4"}


def kept_text(*queries: dict[str, str], name: str = "<b>mine</b>") -> str:
    return text_of(tuple(Kept(f"{name}{i}", tuple(q.items())) for i, q in enumerate(queries)))


def charts(at) -> set[str]:
    return {chart.proto.id.rpartition("-")[2] for chart in at.get("plotly_chart")}


def test_nothing_kept_says_what_to_do_and_shows_what_was_published():
    at = opened(PAGE, preset=None)
    assert_works(at)
    assert "Keep as A" in said(at)
    assert charts(at) == {"trade_off_dots"}
    assert {button.key for button in at.button} >= {f"pair_{name}" for name in PAIRS}


@pytest.mark.parametrize("vocab_size", [1024, 1280])
def test_predictions_are_compared_where_both_choose_among_the_same_tokens(vocab_size: int):
    of_a = {**SMALL, "preset": "gpt2-small", "vocab_size": "1024"}
    at = opened(PAGE, **{**of_a, "vocab_size": vocab_size}, kept=kept_text(of_a))
    assert_works(at)
    assert ("pair_expected_bars" in charts(at)) == (vocab_size == 1024)
    names = {line["name"] for line in figure(at, "pair_parameters")["data"]}
    assert any(name.startswith("B · GPT-2 small") for name in names)


@pytest.mark.parametrize("name", ["norm_placement", "sharing", "trained"])
def test_a_ready_pair_sets_a_and_b(name: str):
    at = opened(PAGE, preset=None)
    press(at, f"pair_{name}")
    assert_works(at)
    assert "kept" in at.query_params
    assert {"pair_flow_lines", "pair_difference", "pair_expected_bars"} <= charts(at)
    assert "Settings that differ (1)" in said(at)
    b = {k: v for k, v in PAIRS[name].b.items() if k != "preset"}
    assert b.items() <= at.query_params.items()


def test_both_are_measured_in_turn():
    at = opened(PAGE, **SMALL, panel="time", kept=kept_text(SMALL | {"n_layers": "4"}))
    press(at, "measure_pair_button")
    assert_works(at)
    assert "7 alternating rounds" in said(at)
    assert "fastest round" in at.table[0].value.to_string()


@pytest.mark.parametrize("preset", ["fast", "llama-7b"])
def test_what_needs_a_run_is_asked_where_both_can_run(preset: str):
    settings = SMALL | {"preset": preset, "panel": None}
    at = opened(PAGE, **settings, kept=kept_text({"preset": preset}))
    assert ("What do they predict?" in titles(at)) == (preset == "fast")


def test_padding_is_not_pinned_and_other_masks_are_said():
    hidden = SMALL | {"mask_kind": "causal_padding"}
    at = opened(PAGE, **hidden, text="a b c", n_padding=3, kept=kept_text(SMALL))
    assert_works(at)
    assert "the mask of B" in said(at)
    assert figure(at, "pair_pattern_1")["layout"]["shapes"][0]["y0"] < 10


def test_a_and_b_alike_lie_nowhere_apart():
    at = opened(PAGE, **SMALL, kept=kept_text(SMALL))
    assert_works(at)
    assert "A and B are the same" in said(at)
    assert not any("setting" in table.value for table in at.table)
    assert "are 0.000 apart on average" in said(at)
    difference = figure(at, "pair_flow_lines")["data"][2]["y"]
    assert set(difference) == {0}


def test_the_difference_column_is_b_minus_a():
    large = kept_text({"preset": "gpt2-large"})
    at = opened(PAGE, preset="gpt2-xl", panel="differences", kept=large)
    assert_works(at)
    numbers = at.table[0].value.set_index("quantity")
    assert numbers.loc["parameters", "B − A"] == f"+{1_557_611_200 - 774_030_080:,}"
    assert numbers.loc["parameters", "B ÷ A"].split() == ["2.01", "×"]
    assert list(numbers) == ["A", "B", "B ÷ A", "B − A"]


def test_what_is_too_large_to_run_is_counted_all_the_same():
    at = opened(PAGE, preset="llama-3-8b", kept=kept_text({"preset": "mixtral-8x7b"}))
    assert_works(at)
    assert said(at).count("is not run here; only its parameters and costs are computed") == 2
    assert "GB" in said(at)
    assert charts(at) == {"pair_parameters", "pair_operations", "trade_off_dots"}
    assert "46,702,792,704" in said(at)


def test_a_text_is_asked_for_where_it_is_read():
    large = {"preset": "llama-3-8b", "kept": kept_text({"preset": "mixtral-8x7b"})}
    small = SMALL | {"kept": kept_text(SMALL | {"n_layers": "4"})}
    for query, is_read in (
        (large, False),
        (small | {"panel": "differences"}, False),
        (small | {"panel": "flow"}, True),
    ):
        at = opened(PAGE, **query)
        assert_works(at)
        assert any("pinned token" in fold.label for fold in at.expander) == is_read
        assert any(each.key.startswith("context_len") for each in at.select_slider) != is_read


@pytest.mark.parametrize(("weight_format", "each"), [("bfloat16", "131 kB"), ("float32", "262 kB")])
@pytest.mark.thinned
def test_bytes_are_counted_as_on_the_page_of_costs(weight_format: str, each: str):
    llama = {"preset": "llama-3-8b", "weight_format": weight_format}
    assert f" {each} " in said(opened("pages/cost.py", **llama, memory_use="inference"))
    at = opened(PAGE, **llama, kept=kept_text({"preset": "mixtral-8x7b"}))
    assert f"Each token takes {each} of KV cache in both models ({weight_format})" in said(at)
    label = f"KV cache, bytes per token, {weight_format}"
    assert set(at.table[0].value.set_index("quantity").loc[label][1:2]) == {each}
    title = figure(at, "trade_off_dots")["layout"]["xaxis"]["title"]["text"]
    assert title == f"{label} · lower is better"
    move(at, "weight_format", "int4")
    assert "KV cache, bytes per token, 16 bits" in words_in_pictures(at)


UNLIKE = {
    "a block and a GPT": ({"preset": "course"}, SMALL),
    "encoder–decoder and encoder": ({"preset": "translator"}, {"preset": "masked-words"}),
    "two encoder–decoders": (
        {"preset": "translator"},
        {"preset": "translator", "weights": "random"},
    ),
    "other tokens": ({"preset": "induction"}, {"preset": "stories-en-zh"}),
    "other masks": (SMALL, SMALL | {"mask_kind": "none"}),
    "no key": (SMALL, SMALL | {"mask_kind": "causal_padding", "padding_side": "left"}),
    "other numbers": (SMALL | {"dtype": "bfloat16"}, SMALL | {"norm_kind": "batchnorm"}),
    "no feed-forward, no residual": (
        SMALL | {"attention_only": "true"},
        SMALL | {"residual": "false", "n_heads": "1"},
    ),
    "no norm, other placements": (
        {"preset": "course", "norm_kind": "none"},
        {"preset": "course", "norm_placement": "sandwich"},
    ),
}


@pytest.mark.parametrize(("a", "b"), UNLIKE.values(), ids=[*UNLIKE])
@pytest.mark.thinned
def test_unlike_models_stand_beside_each_other(a: dict[str, str], b: dict[str, str]):
    at = opened(PAGE, **b, kept=kept_text(a), n_padding=2 if "padding_side" in b else 0)
    assert_works(at)
    assert "pair_pattern_1" in charts(at)
    same_tokens = (
        figure(at, "pair_pattern_0")["layout"]["xaxis"]["ticktext"]
        == (figure(at, "pair_pattern_1")["layout"]["xaxis"]["ticktext"])
    )
    assert ("pair_difference" in charts(at)) == same_tokens


def test_values_that_overflow_are_said_to():
    deep = {"preset": "course", "d_model": "32", "n_layers": "40"}
    wild = deep | {"norm_kind": "none", "dtype": "float16", "activation": "relu_squared"}
    at = opened(PAGE, **wild, initialization="xavier_uniform", kept=kept_text(deep))
    assert_works(at)
    assert "overflowed float16" in said(at)
    assert "pair_difference" not in charts(at)


def test_one_token_has_nothing_to_choose():
    at = opened(PAGE, **SMALL, text="a", kept=kept_text(SMALL | {"norm_placement": "post"}))
    assert_works(at)


def test_choices_are_clipped_to_what_both_have():
    at = opened(PAGE, **SMALL, layer=9, head=9, kept=kept_text(SMALL | {"n_heads": "2"}))
    assert_works(at)
    assert "all heads of layer 2" in words_in_pictures(at)
    assert "layer 2, head 2" in words_in_pictures(at)


def test_every_control_moves():
    at = opened(PAGE, **SMALL, kept=kept_text(SMALL | {"norm_placement": "post"}))
    move(at, "compared_stage", "feed_forward_out")
    move(at, "compared_moment", "outlier_share")
    visit(at, **settings(at) | {"panel": "trade-off"})
    move(at, "tradeoff_x", "active_parameters")
    move(at, "tradeoff_y", "parameters")
    move(at, "with_presets", False)
    move(at, "context_len", 16)
    assert settings(at)["context_len"] in ("16", ["16"])
    layout = figure(at, "trade_off_dots")["layout"]
    titles = [layout[axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
    assert titles == ["active parameters · lower is better", "parameters · lower is better"]
    for x, y in zip(MEASURES[::2], MEASURES[1::2], strict=True):
        visit(at, **SMALL, panel="trade-off", kept=kept_text(SMALL), tradeoff_x=x, tradeoff_y=y)
        assert_works(at)


def test_each_number_has_a_better_end_of_its_own():
    at = opened(PAGE, **SMALL, panel="trade-off", kept=kept_text(SMALL), tradeoff_x="n_layers")
    assert [control(at, f"tradeoff_{axis}_better").value for axis in "xy"] == ["more", "more"]
    move(at, "tradeoff_x_better", "less")
    move(at, "tradeoff_x", "parameters")
    move(at, "tradeoff_x", "d_model")
    assert control(at, "tradeoff_x_better").value == "more"


def test_axes_on_which_nothing_stands():
    alone = {"with_presets": False, "tradeoff_x": "cache_bytes", "panel": "trade-off"}
    at = opened(PAGE, preset="bert-base", n_layers=1, kept=kept_text({"preset": "course"}), **alone)
    assert_works(at)
    assert "No configuration has values for both axes" in said(at)
    assert "trade_off_dots" not in charts(at)


def names_of_kept(at) -> list[str]:
    """The list, without the numbers that are typed in the sidebar."""
    return [each.value for each in at.text_input if each.key.startswith("kept_name_")]


def test_the_list_is_renamed_and_chosen_from_and_shortened():
    two = kept_text(SMALL, SMALL | {"n_layers": "5"})
    at = opened(PAGE, **SMALL, panel="kept", kept=two)
    at.text_input(key="kept_name_1").set_value("five <layers>").run()
    assert_works(at)
    press(at, "kept_a_1")
    assert "A · five <layers>" in said(at)
    press(at, "kept_b_1")
    assert control(at, "n_layers").value == 5
    press(at, "kept_a_0")
    press(at, "keep_b")
    assert "A · <b>mine</b>0" in said(at)
    press(at, "swap_here")
    press(at, "kept_drop_0")
    assert_works(at)
    assert names_of_kept(at) == ["five <layers>", "Fast learner · n_layers 5 …"]


def test_what_is_kept_and_cannot_be_is_said_once():
    odd, gone = {"preset": "course", "n_heads": "7"}, {"preset": "nope", "d_model": "7777777"}
    at = opened(PAGE, panel="kept", kept=kept_text(odd, gone), compared_with=99)
    assert_works(at, warnings=2)
    assert at.warning[0].value.startswith("Adjusted: `<b>mine</b>0`: ")
    assert "`nope` is not known here" in at.warning[1].value
    assert names_of_kept(at) == ["<b>mine</b>0"]
    assert "nope" not in str(at.query_params)
    assert_works(at.run())


@pytest.fixture
def state():
    """A session of its own."""
    st.session_state.clear()
    yield
    st.session_state.clear()


def some_kept() -> list[Kept]:
    """One of each architecture, changed in fields of every kind, with a name to stumble over."""
    changed = {"n_kv_heads": "2", "dropout": "0.25", "norm_affine": "false", "d_head": "24"}
    return [
        Kept('a "b".c = [1]\n', (("preset", "fast"), ("n_heads", "4"), *changed.items())),
        Kept("混合", (("preset", "mixtral-8x7b"), ("dtype", "bfloat16"))),
        Kept("=1+1", (("preset", "t5-small"), ("n_decoder_layers", "2"))),
        Kept("bert", (("preset", "bert-base"), ("mask_kind", "sliding_window"))),
        Kept("block", (("preset", "course"), ("d_ff", "96"), ("weights", "random"))),
    ]


def config_of(entry: Kept) -> ModelConfig:
    with link.as_if(kept.values_with(entry)):
        return link.config()


@pytest.mark.usefixtures("state")
def test_toml_brings_back_what_was_kept():
    entries = some_kept()
    tables = tomllib.loads(files.as_toml(entries))
    for entry, table in zip(entries, tables.values(), strict=True):
        fields = {k: v for k, v in table.items() if k in CONFIG or k == "architecture"}
        assert ModelConfig.from_flat(fields) == config_of(entry)
    back = files.from_toml(files.as_toml(entries).encode())
    assert [entry.name for entry in back] == [entry.name for entry in entries]
    for entry, again in zip(entries, back, strict=True):
        assert config_of(again) == config_of(entry)
        assert kept.values_with(again) == kept.values_with(entry)


@pytest.mark.usefixtures("state")
def test_a_preset_that_is_gone_leaves_its_shape():
    entry = Kept("x", (("preset", "fast"), ("n_heads", "4")))
    text = files.as_toml([entry]).replace('preset = "fast"', 'preset = "run-gone"')
    assert config_of(files.from_toml(text.encode())[0]) == config_of(entry)


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "= 1",
        "[" * 50_000,
        "a = 1",
        "[a]\nn_heads = 'many'\narchitecture = 'gpt'",
        "[a]\narchitecture = 'gpt'\nn_heads = true",
        "[a]\narchitecture = 'gpt'\nn_heads = '4'",
        "[a]\narchitecture = 'gpt'\nn_heads = 7",
        "[a]\narchitecture = 'gpt'\nn_heads = 10000000000000000000000",
        "[a]\narchitecture = 'gpt'\ndropout = nan",
        "[a]\narchitecture = 'gpt'\n__class__ = 1",
        "[a]\narchitecture = ['gpt']",
        "[a]\narchitecture = 'robot'",
        "[a]\npreset = 'nobody'",
        "[a]\n[a.b]\nn_heads = 1",
        "['']\npreset = 'course'",
        "['  ']\npreset = 'course'",
        '["a\\u0000"]\npreset = "course"',
        f"[{'a' * 41}]\npreset = 'course'",
        f"[{'a' * 5000}]\npreset = 'course'",
        "\n".join(f"[a{i}]\npreset = 'course'" for i in range(13)),
        "[a]\npreset = 'course' #" + "x" * files.LARGEST_FILE,
    ],
    ids=range(23),
)
def test_a_file_that_cannot_be_is_refused_with_a_sentence(text: str):
    with pytest.raises(files.UnreadableFileError) as caught:
        files.from_toml(text.encode())
    fault = caught.value.fault
    assert len(fault.text.format(**fault.values)) < 300


NAMES = st_.text(max_size=45) | st_.sampled_from(["a", "b"])

KEYS = st_.sampled_from(["preset", "architecture", *CONFIG, *files.BESIDE]) | st_.text(max_size=5)

SCALARS = st_.booleans() | st_.integers() | st_.floats() | st_.text(max_size=9)

WORDS = st_.sampled_from(
    ["gpt", "block", "course", "gpt2-small", "rope", "float32", "causal", 4, 0]
)

ENTRIES = st_.dictionaries(KEYS, WORDS | SCALARS | st_.lists(SCALARS, max_size=2), max_size=5)

few = given_settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.usefixtures("state")
@few
@given(st_.dictionaries(NAMES, ENTRIES | SCALARS, max_size=3))
def test_any_list_is_read_or_refused(tables: dict[str, object]):
    assert_read_or_refused(tomli_w.dumps(tables).encode(errors="replace"))


@pytest.mark.usefixtures("state")
@few
@given(st_.binary(max_size=60), st_.integers(0, 999))
def test_any_bytes_in_a_list_are_read_or_refused(raw: bytes, place: int):
    whole = files.as_toml(some_kept()[:2]).encode()
    assert_read_or_refused(whole[:place] + raw + whole[place + len(raw) :])


def assert_read_or_refused(raw: bytes) -> None:
    try:
        entries = files.from_toml(raw)
    except files.UnreadableFileError as error:
        assert error.fault.text.format(**error.fault.values)
    else:
        assert all(config_of(entry) for entry in entries)


@pytest.mark.parametrize("text", ["[me\nx = 1", "[me]\npreset = 'course' x", "a = = 3"])
def test_where_a_file_breaks_off_is_said_to_the_column(text: str):
    with pytest.raises(files.UnreadableFileError) as caught:
        files.from_toml(text.encode())
    assert re.search(r"\(at line \d, column \d+\)$", caught.value.fault.values["why"])


@pytest.mark.usefixtures("state")
def test_csv_has_every_setting_and_every_count():
    table = pd.read_csv(pd.io.common.StringIO(files.as_csv(some_kept(), 256, "bfloat16")))
    assert list(table["name"])[2] == "'=1+1"
    assert table["parameters"][1] == 46_702_792_704
    assert table["cache_bytes"][1] == 2 * 32 * 1024 * 2  # 8 heads of 128 for keys, and values
    assert set(table["weight_format"]) == {"bfloat16"}
    assert table["d_ff"].tolist() == [512, 14336, 2048, 3072, 96]
    assert set(MEASURES) <= set(table.columns)
    assert table["n_layers"][2] == starts.start("t5-small").config.n_layers


@pytest.mark.parametrize("text", ["[mine]\npreset = 'fast'\nn_layers = 3\n", "[mine]\nd_ff = 1"])
def test_a_list_is_brought_back_or_refused(text: str):
    at = opened(PAGE, **SMALL, panel="kept")
    at.file_uploader(key="kept_file").set_value(("list.toml", text.encode(), "application/toml"))
    at.run()
    if "preset" in text:
        assert_works(at)
        assert "`A · mine`** — GPT, 3 × 128" in said(at)
    else:
        assert [error.message for error in at.exception] == []
        assert "specify a known preset or a known architecture" in at.error[0].value
