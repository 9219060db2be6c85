"""The sidebar: what the open panel answers to stands first, and all the rest is one click away."""

import ast

import pytest
from opened import OF_THE_READER, PAGES, ROOT, assert_works, control, move, opened, settings, visit
from streamlit.testing.v1 import AppTest

from blocks import ModelConfig
from blocks.model.kinds import Architecture
from pages.page import frame, sidebar
from pages.page.panel import Panel
from pages.page.sidebar import CONTROLS, Shown, drawable
from pages.server import starts
from pages.show import everything
from pages.state.fields import FIELDS

ALWAYS = {"preset", "weights"}


def panels_of(page: str) -> tuple[Panel, ...]:
    """The panels that a page declares, without opening it."""
    tree = ast.parse((ROOT / page).read_text(encoding="utf-8"))
    names: dict = {"__name__": page}
    tree.body = [node for node in tree.body if not isinstance(node, ast.Expr)]
    exec(compile(tree, page, "exec"), names)
    return names.get("PANELS", ())


def every_kind(config: ModelConfig) -> list[Shown]:
    """The model in variants that between them have every setting."""
    stretched = config.replace(position_kind="rope", rope_scaling="yarn", local_window=4)
    latent, _ = config.nearest(d_kv_latent=8, n_kv_heads=None)
    with_state, _ = config.nearest(token_mixer="gated_delta")
    kinds = [config, config.replace(n_experts=4), stretched, latent, with_state]
    return [Shown(kind) for kind in kinds]


def at_the_side(at: AppTest) -> list[str]:
    """The fields whose controls are drawn at the side, in their order."""
    keys = ((getattr(each, "key", None) or "").partition("__")[0] for each in at.sidebar)
    return [key for key in dict.fromkeys(keys) if key in CONTROLS]


@pytest.mark.parametrize("page", PAGES)
def test_every_panel_names_fields_that_the_first_model_of_its_page_has(page: str):
    for panel in panels_of(page):
        assert {*panel.fields} <= CONTROLS.keys() & FIELDS.keys(), panel.name
        kind = next((k for k in Architecture if page == f"pages/{PAGE_OF.get(k)}.py"), None)
        preset = frame.FIRST_COUNTED if page in COUNTING else frame.FIRST_SHOWN[kind]
        shown = every_kind(starts.start(preset).config)
        assert {*panel.fields} <= {name for each in shown for name in drawable(each)}, panel.name


def test_what_is_counted_of_a_width_is_counted_of_shared_keys_too():
    panels = [panel for page in COUNTING[:2] for panel in panels_of(page)]
    counted = [each.fields for each in panels if "d_model" in each.fields]
    without = [each for each in counted if "n_kv_heads" not in each]
    assert without == [("d_model", "n_heads", "d_head", "device")]  # times one head for each key


COUNTING = ("pages/parameters.py", "pages/cost.py", "pages/compare.py")
PAGE_OF = {
    Architecture.BLOCK: "block",
    Architecture.GPT: "gpt",
    Architecture.ENCODER: "encoder",
    Architecture.ENCODER_DECODER: "seq2seq",
}


@pytest.mark.parametrize("page", OF_THE_READER)
def test_every_field_of_the_model_is_reachable_on_every_page(page: str, monkeypatch):
    """In what stands first, or in the fold, which is open where all panels are."""
    asked: list[str] = []
    monkeypatch.setattr(
        sidebar, "drawable", lambda shown: asked.extend(drawable(shown)) or drawable(shown)
    )
    monkeypatch.setattr(everything, "in_turn", lambda panels: [])  # the side alone is asked
    at = opened(page, preset=None)
    only_one = {key for key in asked if f"{key} · " in captions(at)}
    assert asked and {*asked} - only_one <= {*at_the_side(at)}


def captions(at: AppTest) -> str:
    """Where there is one legal value, a line says it instead of a control."""
    return "\n".join(str(each.value) for each in at.sidebar.caption)


@pytest.mark.parametrize(
    ("page", "panel", "first"),
    [
        ("pages/feed_forward.py", "dead-units", ["activation", "d_model", "d_ff"]),
        ("pages/attention.py", "kv-heads", ["n_heads", "n_kv_heads", "d_head"]),
        ("pages/compare.py", None, ["n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"]),
    ],
)
def test_what_the_open_panel_answers_to_stands_first_and_the_rest_is_folded(page, panel, first):
    at = opened(page, preset=None, panel=panel)
    assert at_the_side(at)[: len(first)] == first
    assert len(at_the_side(at)) <= 6


def test_the_fold_says_how_many_settings_it_holds_and_how_many_are_changed():
    at = opened(panel="heads", d_model=64, norm_kind="batchnorm", dropout=0.3)
    label = fold(at)
    n_open = len(at_the_side(at))
    n = len(drawable(Shown(starts.start("course").config)))
    assert label.startswith(f"More settings · {n - n_open} · ") and "2 changed" in label
    assert "changed" not in fold(visit(at, panel="heads", d_model=64))


def fold(at: AppTest) -> str:
    labels = (each.label for each in at.sidebar.expander)
    return next(label for label in labels if label.startswith("More settings"))


def test_a_control_that_is_folded_keeps_its_value():
    at = opened(panel="flow", d_model=64)
    move(at, "norm_placement", "post")
    visit(at, panel="heads", **without_panel(at))
    assert "norm_placement" not in at_the_side(at)
    move(at, "n_heads", 4)
    assert settings(at) == {
        "d_model": "64",
        "n_heads": "4",
        "norm_placement": "post",
        "panel": "heads",
    }
    visit(at, panel="flow", **without_panel(at))
    assert control(at, "norm_placement").value == "post"


def without_panel(at: AppTest) -> dict[str, str]:
    return {name: text for name, text in settings(at).items() if name != "panel"}


def test_what_follows_is_said_where_its_own_control_is_folded():
    at = opened("pages/block.py", preset="stories-en-zh", panel="stage", d_model=192)
    assert_works(at)
    assert "d_ff follows d_model: 512 → 768" in captions(at)
    visit(at, preset="stories-en-zh", panel="flow", n_heads=8)
    assert "n_kv_heads" not in at_the_side(at)
    assert "n_kv_heads follows n_heads: 4 → 8" in captions(at)
