"""How pages are run without a browser."""

from collections.abc import Iterator

import pytest
from streamlit import config


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
