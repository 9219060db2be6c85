"""How pages are run without a browser."""

from collections.abc import Iterator

import pytest
from streamlit import config
from streamlit.components.v2.component_manager import BidiComponentManager

from pages.ui import link

pytest.register_assert_rewrite("opened")


@pytest.fixture(scope="session", autouse=True)
def no_components() -> Iterator[None]:
    """Each run of AppTest looks through all that is installed for components; we have none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BidiComponentManager, "discover_and_register_components", lambda *_, **__: None
        )
        yield


@pytest.fixture(autouse=True)
def whole_errors() -> Iterator[None]:
    """Errors with all details; and AppTest keeps functions of its own in the session state."""
    options = {"client.showErrorDetails": "full", "runner.enforceSerializableSessionState": False}
    before = {name: config.get_option(name) for name in options}
    for name, value in options.items():
        config.set_option(name, value)
    yield
    for name, value in before.items():
        config.set_option(name, value)


@pytest.fixture(autouse=True)
def in_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test opens one link after the other faster than any reader goes back."""
    monkeypatch.setattr(link, "A_MOMENT", 0.0)
