"""What all tests share."""

import gc
import logging
import os
from collections.abc import Iterator
from itertools import groupby

import pytest
import torch
from hypothesis import settings
from sessions import leave
from streamlit.testing.v1 import local_script_runner
from xdist.scheduler import LoadGroupScheduling, Scheduling

from blocks.model import devices

gc.disable()  # what is imported and collected stays (see `pytest_collection_finish`)

os.environ.setdefault("BLOCKSCOPE_MEMORY_GIB", "2")  # whatever the machine has
os.environ.setdefault("BLOCKSCOPE_HUB", "0")  # and whatever other programs keep there
os.environ.setdefault("BLOCKSCOPE_HOME", "none")  # and whichever real model is there

# The same examples everywhere and every time, so that red is red for all; and other work shares
# the machine, so that one slow example says nothing. Fewer daily than in `make test-all`.
settings.register_profile("shared", deadline=None, derandomize=True, database=None)
settings.register_profile("daily", settings.get_profile("shared"), max_examples=30)
settings.load_profile("shared" if os.environ.get("BLOCKSCOPE_SEEDS") else "daily")

# Modules of the rooms of `pages` are called without a running app, which is no news here.
for state in ("scriptrunner_utils.script_run_context", "state.session_state_proxy"):
    logging.getLogger(f"streamlit.runtime.{state}").disabled = True


def pytest_xdist_auto_num_workers() -> int:
    """A process for each core; the stories of the browser are told beside them (`make e2e`)."""
    return min(8, devices.available_cpus())


class FilesTogether(LoadGroupScheduling):
    """A file goes to one process, which makes what its tests share (a page that was drawn, a
    process that works) once; what has a group goes with it."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling | None:
    """In the order in which they are collected."""
    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return FilesTogether(config, log)


GOLDEN = (5**0.5 - 1) / 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a function marked `thinned` the first runs daily, and about a fifth of the
    others: spread by the golden ratio, so that no value of several arguments is always left out.
    Groups, which are long, come first, so that no process waits for the end of one."""
    for _, cases in groupby(items, key=lambda item: item.nodeid.partition("[")[0]):
        for i, case in enumerate(cases):
            if case.get_closest_marker("thinned") and i * GOLDEN % 1 > 1 / 5:
                case.add_marker(pytest.mark.exhaustive)
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A text of 100,000 characters is no name: each worker sends it, and each report repeats it."""
    return f"{argname} of {len(val):,}" if isinstance(val, str | bytes) and len(val) > 99 else None


def pytest_collection_finish() -> None:
    """A tenth of the time went into looking for garbage among what stays."""
    devices.settle_process()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def pages_are_waited_for() -> Iterator[None]:
    """A page opened without a browser is asked every millisecond whether it is there, by a thread
    that takes the interpreter from it each time: here it is waited for."""
    look = local_script_runner.require_widgets_deltas

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        runner._script_thread.join(max(timeout, 150))  # 3 s by itself, which a busy machine takes
        look(runner, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture(scope="session", autouse=True)
def few_threads() -> Iterator[None]:
    """One thread (or OMP_NUM_THREADS) for each of several processes; the app takes all it may."""
    n_threads = int(os.environ.get("OMP_NUM_THREADS", 1))
    torch.set_num_threads(n_threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "available_cpus", lambda: n_threads)
        yield


@pytest.fixture
def session() -> Iterator[None]:
    """A session of its own, for tests that open no page."""
    leave()
    yield
    leave()
