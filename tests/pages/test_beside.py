"""Keep as A, change something: A stands beside B (on every page: see `test_walk`)."""

import pytest
from opened import assert_works, figure, opened, press, run, visit

from pages.state.link_fields.compare import Kept, text_of

pytestmark = pytest.mark.usefixtures("shallow")

# Other heads, so that a picture of B's last head cannot be drawn of A.
OTHER = {"preset": "course", "n_heads": "2", "norm_placement": "post", "norm_kind": "rmsnorm"}
A = text_of((Kept("<b>mine</b>", tuple(OTHER.items())),))

SAID_OF_BOTH = [
    ("pages/block.py", "flow"),
    ("pages/attention.py", "pattern"),
    ("pages/attention.py", "contribution"),
]


@pytest.mark.parametrize(("page", "panel"), SAID_OF_BOTH)
def test_the_first_sentence_of_a_panel_speaks_of_both(page: str, panel: str):
    at = opened(page, kept=A, panel=panel)
    assert_works(at)
    assert at.info[0].value.startswith(("**A** · `<b>mine</b>`: ", "Same for A and B: "))


def keys(at) -> set[str]:
    return {chart.proto.id.rpartition("-")[2] for chart in at.get("plotly_chart")}


def test_the_sentence_beside_a_picture_speaks_of_both():
    at = opened("pages/block.py", kept=A)
    both = [info.value for info in at.info if info.value.startswith("**A** · `<b>mine</b>`: ")]
    assert both and all("\n\n**B**: " in said for said in both)


def changed(**query: object) -> str:
    """The sentence that says what differs."""
    at = opened("pages/block.py", kept="A=preset%3Dcourse", panel="stage", **query)
    (line,) = (each.value for each in at.caption if "  \nB: " in each.value)
    return line.splitlines()[-1]


def test_one_sentence_says_what_differs_and_that_nothing_else_does():
    line = changed(n_heads=4)
    assert line.startswith("B has n_heads 4 instead of 8; ") and "d_head 64 instead of 32" in line
    assert line.endswith("; all else is equal.")
    assert changed(mask_kind="none") == "B has mask_kind none instead of causal; all else is equal."
    assert "number" not in changed(dtype="bfloat16") and "dtype bfloat16" in changed(
        dtype="bfloat16"
    )


def test_who_changes_much_at_once_is_told():
    few = {"n_heads": 4, "norm_placement": "post", "norm_kind": "rmsnorm"}
    assert "at once" not in changed(**few)
    said = changed(**few, mask_kind="none")
    assert "B differs in 6 ways at once, and 2 of these differences follow from" in said


def test_the_differences_that_are_not_named_count_too():
    said = changed(preset="gpt2-small")
    listed, rest = said.partition(", among other differences (")[::2]
    n_named = listed.count(" instead of ")
    n_more = int(rest.partition(" more)")[0])
    assert n_named == 8 and f"B differs in {n_named + n_more} ways at once" in said


def test_the_switch_in_the_closed_menu_is_told_its_value_in_every_run():
    at = run(opened(kept=A, panel="flow"))
    proto = at.toggle(key="beside").proto
    assert proto.set_value and proto.value


@pytest.mark.parametrize("page", ["pages/block.py", "pages/encoder.py"])
def test_a_has_no_setting_before(page: str):
    key = "bands" if page == "pages/block.py" else "layer_bands"
    at = opened(page, d_model=64)
    visit(at, d_model=64, kept=A, n_heads=4)
    n_a, n_b = (len(figure(at, name)["data"]) for name in (f"{key}_a", key))
    assert n_a == n_b - 1


def test_both_are_drawn_on_one_scale():
    at = opened(kept=A)
    ours, theirs = figure(at, "bands"), figure(at, "bands_a")
    assert ours["layout"]["xaxis"]["range"] == theirs["layout"]["xaxis"]["range"]
    assert ours["data"] != theirs["data"]


def test_what_both_have_in_common_is_drawn_once():
    at = opened(kept=A)
    assert "mask" in keys(at) and "mask_a" not in keys(at)
    assert any("`<b>mine</b>`: same picture as for B." in caption.value for caption in at.caption)


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("encoder", {"preset": None, "kept": "A="}),
        ("block", {"mask_kind": "none", "kept": "A=preset%3Dcourse%26mask_kind%3Dnone"}),
        ("block", {"preset": None, "text": "a", "kept": "A="}),
        ("block", {"text": "", "kept": "A=preset%3Dcourse"}),
        ("block", {"preset": None, "text": "0", "prefix_len": 0, "kept": "0"}),
    ],
)
@pytest.mark.thinned
def test_pictures_that_hold_nothing_are_compared_too(page: str, link: dict):
    at = opened(f"pages/{page}.py", dropout=0.3, **link)
    assert_works(at, warnings=None)
    assert any("same picture as for B" in caption.value for caption in at.caption)


def test_what_was_learned_of_b_alone_is_left_to_b():
    kept = text_of((Kept("A", (("preset", "stories-en-zh"), ("d_ff", "64"))),))
    at = opened("pages/positions.py", preset="stories-en-zh", kept=kept, panel="loss")
    assert_works(at)
    assert "loss_far" in keys(at) and "loss_far_a" not in keys(at)


def test_a_picture_that_a_has_not_is_left_to_b():
    at = opened(kept=A, head=7)
    assert any("lacks this layer, head or token" in caption.value for caption in at.caption)


def test_a_that_never_learned_to_translate_stands_beside_a_translator():
    at = opened("pages/seq2seq.py", preset=None, kept=A)
    assert_works(at)
    assert any("no picture" in caption.value for caption in at.caption)


def test_keep_swap_and_drop():
    at = opened(n_heads=4, panel=None)
    press(at, "keep_a")
    assert "kept" in at.query_params
    visit(at, kept=at.query_params["kept"], n_heads=16, panel=None)
    press(at, "swap_a_b")
    assert at.query_params["n_heads"] == ["4"] or at.query_params["n_heads"] == "4"
    press(at, "drop_a")
    assert "kept" not in at.query_params
    assert_works(at)


@pytest.mark.parametrize(
    "text", ["%", "a=b&a=b", "=&=&=", "x=preset%3Dnobody", "\x00=\x00", "a" * 20_000]
)
@pytest.mark.thinned
def test_any_text_kept_in_a_link_is_survived(text: str):
    assert_works(opened(kept=text), warnings=None)


def said_of_layers(**query: object) -> str:
    """What the panel of a trained model's own layers says first."""
    return opened("pages/normalization.py", panel="layers", **query).info[0].value


def test_a_is_measured_on_its_own_answers_where_its_task_is_another():
    alone = said_of_layers(preset="sort", text="hello")
    kept = text_of((Kept("sorter", (("preset", "sort"),)),))
    both = said_of_layers(preset="stories-en-zh", text="hello", kept=kept)
    assert (
        alone.startswith("The loss on this text is") and "**B**: The loss on this text is" in both
    )
    assert both.startswith(f"**A** · `sorter`: {alone}")
