"""Real models on the front page: which are here, and what is said of them."""

from pathlib import Path

import pytest
from said_in import in_both
from streamlit.testing.v1 import AppTest

from blocks import PRESETS
from blocks.cost import total_parameters
from blocks.weights.known import MODELS
from pages.page import opening
from pages.panels import real_models
from pages.panels.gallery import CLAIMS, Claim, says_claim
from pages.server import brought
from pages.stage import link

BY_NAME = {"SmolLM2 135M Instruct": "smollm2-135m", "GPT-2 small": "gpt2-small"}
BY_NAME |= {"Qwen3 0.6B": "qwen3-0.6b"}


@pytest.mark.parametrize(("title", "preset"), BY_NAME.items())
def test_counts_are_those_of_the_presets(title: str, preset: str):
    (model,) = (each for each in MODELS if each.title == title)
    assert model.n_parameters == total_parameters(PRESETS[preset])


def test_a_package_goes_before_the_cache_and_the_cache_before_a_fetch(
    monkeypatch: pytest.MonkeyPatch,
):
    model = MODELS[0]
    held = {model.name: f"hub:{model.name}/toy.gguf"}
    monkeypatch.setattr(brought, "from_the_hub", lambda name: held.get(name, ""))
    monkeypatch.setattr(brought, "is_here", lambda name: name == model.file)
    assert opening.here(model) == model.file
    monkeypatch.setattr(brought, "is_here", lambda name: False)
    assert opening.here(model) == held[model.name]
    assert opening.here(MODELS[1]) == ""


def _page() -> None:
    from pages.panels.real_models import real_models
    from pages.stage import link

    real_models(link.now())


def _shown() -> AppTest:
    page = AppTest.from_function(_page).run()
    assert not page.exception
    return page


def test_a_class_is_offered_no_fetching(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCKSCOPE_HUB", "0")
    monkeypatch.setattr(brought, "is_here", lambda name: False)
    page = _shown()
    assert not page.text_input and "make model" in page.markdown[0].value


def test_one_person_fetches_any_model_by_its_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCKSCOPE_HUB", "1")
    monkeypatch.setattr(brought, "is_here", lambda name: False)
    monkeypatch.setattr(brought, "on_this_machine", lambda: 1 / 0)  # listed where it is asked for
    monkeypatch.setattr(brought, "from_the_hub", lambda name: "")
    page = _shown()
    assert page.text_input(key="home_hub_name")
    assert page.caption[0].value == real_models.says_where(is_alone=True)
    assert "until it needs the space" in real_models.says_where(is_alone=False)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_opens_a_panel_and_fills_in_its_numbers(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
):
    root = Path(__file__).parents[2]
    declared = (root / "pages/panels" / Path(claim.page).stem).glob("*.py")
    source = "".join(path.read_text() for path in (root / claim.page, *declared))
    panel = claim.query["panel"]
    assert f'"{panel}"' in source or f"{panel}(" in source
    assert link.read(claim.query).faults == ()
    said = in_both(monkeypatch, says_claim, claim)
    assert not {"{", "}"} & {*"".join(said.values())}
