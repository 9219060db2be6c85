"""A model of one layer with one head that reads one token: every count is said of one."""

import pytest
from opened import assert_one_is_one, assert_works, opened

PAGES = ("attention", "encoder", "feed_forward", "gpt", "masks", "seq2seq")
ONE = {"n_layers": 1, "n_heads": 1, "n_experts": 2, "n_active_experts": 1, "text": "a"}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.thinned
def test_one_is_not_said_as_many(page: str):
    at = opened(f"pages/{page}.py", **ONE)
    assert_works(at, warnings=None)
    assert_one_is_one(at)
