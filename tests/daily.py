"""Of a long list of cases: which run every day, and which only where all do."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_daily(cases: Iterable[Any], *, daily: Collection[Any]) -> list[Any]:
    """The same cases for `pytest.mark.parametrize`: those in `daily` run in `make test`, and the
    others, marked `exhaustive`, in `make test-all`. One that is daily must be among the cases;
    a tuple has a value for each argument."""
    cases = list(cases)
    missing = [case for case in daily if case not in cases]
    assert not missing, f"no such cases: {missing}"
    return [case if case in daily else _exhaustive(case) for case in cases]


def _exhaustive(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)
