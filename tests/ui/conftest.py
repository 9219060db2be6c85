"""A session for tests that open no page."""

from collections.abc import Iterator

import pytest
from sessions import leave


@pytest.fixture
def session() -> Iterator[None]:
    """A session of its own."""
    leave()
    yield
    leave()
