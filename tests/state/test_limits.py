"""A field's limits are declared once: its control has them from there."""

import ast
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.server.readers import Between
from pages.state.fields import FIELDS

ROOT = Path(__file__).parents[2]
BOUNDED = {name: field.read for name, field in FIELDS.items() if isinstance(field.read, Between)}
WITH_LIMITS = {"slider", "select_slider", "number_input"}


def controls_with_limits(path: Path) -> list[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]


def test_one_module_makes_all_controls_that_have_limits():
    files = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
    made_in = {path for path in files if WITH_LIMITS & {*controls_with_limits(path)}}
    of_fields, of_lessons = ROOT / "pages/show/controls.py", ROOT / "pages/lessons/guessing.py"
    assert made_in == {of_fields, of_lessons}  # a guess is no field: its file says its limits


@pytest.mark.parametrize("end", ["least", "most"])
@pytest.mark.parametrize("make", ["slider", "enter"])
def test_every_limit_of_a_field_is_shown_by_its_control(make: str, end: str):
    def all_controls(make: str, end: str) -> None:
        from test_limits import kept_to

        from pages.show import controls

        for name, read in kept_to(make).items():
            getattr(controls, make)(name, name, getattr(read, end))

    at = AppTest.from_function(all_controls, args=(make, end)).run()
    assert [error.stack_trace for error in at.exception] == []
    found = {each.label: each.value for each in (*at.slider, *at.number_input)}
    assert found == {name: getattr(read, end) for name, read in kept_to(make).items()}


def kept_to(make: str) -> dict[str, Between]:
    """The fields that such a control is for: what is typed is whole."""
    whole = {name: read for name, read in BOUNDED.items() if isinstance(read.least, int)}
    return whole if make == "enter" else BOUNDED


@pytest.mark.parametrize("end", ["least", "most"])
def test_what_a_field_allows_beyond_what_a_control_offers_is_shown_too(end: str):
    def narrow(end: str) -> None:
        from test_limits import BOUNDED

        from pages.show import controls

        read = BOUNDED["n_dims"]
        controls.slider("n_dims", "n_dims", getattr(read, end), least=3, most=5)

    at = AppTest.from_function(narrow, args=(end,)).run()
    (slider,) = at.slider
    assert slider.value == getattr(BOUNDED["n_dims"], end)
    assert (slider.min, slider.max) == ((1, 5) if end == "least" else (3, 128))
