"""A model of one layer with one head that reads one token: every count is said of one."""

import pytest
from opened import assert_works, opened


@pytest.mark.parametrize(
    "page", [f"pages/{name}.py" for name in ("attention", "feed_forward", "gpt", "masks")]
)
@pytest.mark.thinned
def test_one_is_not_said_as_many(page: str):
    at = opened(page, n_layers=1, n_heads=1, n_experts=2, n_active_experts=1, text="a")
    assert_works(at, warnings=None)
