"""How pages are run without a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

import pytest
from streamlit import config
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.testing.v1 import app_test, local_script_runner

from blocks import Recording
from blocks.cost import timing
from blocks.efficiency import int8_passes, teaching_time
from blocks.observe.run import Run
from blocks.training import pace
from pages.server import cached
from pages.stage import link
from pages.state.fields import FIELDS

pytest.register_assert_rewrite("opened")


@pytest.fixture(scope="session", autouse=True)
def no_components() -> Iterator[None]:
    """Each run of AppTest looks through all that is installed for components; we have none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            BidiComponentManager, "discover_and_register_components", lambda *_, **__: None
        )
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_once() -> Iterator[None]:
    """Each run of AppTest compiles its page anew; a server does so once."""
    scripts = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "ScriptCache", lambda: scripts)
        yield


class PlainServer:
    """What pages ask of a server in AppTest, which mocks all of it anew at each run: nobody is
    connected to it, so a reader has sent no headers."""

    uploaded_file_mgr = None

    def __init__(self, spec: type):
        """As a mock is made; AppTest sets what it has itself."""

    def get_client(self, session_id: str) -> None:
        """The browser of a session: none."""


@pytest.fixture(scope="session", autouse=True)
def nothing_for_a_browser() -> Iterator[None]:
    """Neither a mock of a server, nor hashes of messages, of which a browser keeps some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_test, "MagicMock", PlainServer)
        patch.setattr(script_run_context, "populate_hash_if_needed", lambda message: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_processes() -> Iterator[None]:
    """Trainings in threads: each process would load torch once more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLOCKSCOPE_TRAINING_PROCESS", "0")
        yield


@pytest.fixture(autouse=True)
def little_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what takes a time: what is said of it is read, however exact it is."""
    for name, most in {"N_LEAST": 1, "N_TIMED": 1, "MOST_WORK": 1e9}.items():
        monkeypatch.setattr(pace, name, most)
    for name in ("MOST_CALLS", "WARM_UPS"):
        monkeypatch.setattr(timing, name, 1)
    monkeypatch.setitem(timing.measure_times.__kwdefaults__, "repeats", 2)
    for module in (teaching_time, int8_passes):
        monkeypatch.setattr(module, "ROUNDS", 2)


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stacks of Norms are deep where a link does not say how deep, and take a second each."""
    for name, default in {"depth": 4, "n_depth_seeds": 2}.items():
        monkeypatch.setitem(FIELDS, name, FIELDS[name]._replace(default=default))


@pytest.fixture(autouse=True)
def whole_errors() -> Iterator[None]:
    """Errors with all details, in the log without colors, which take a second each; and AppTest
    keeps functions of its own in the session state."""
    options = {
        "client.showErrorDetails": "full",
        "logger.enableRich": False,
        "runner.enforceSerializableSessionState": False,
    }
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


@pytest.fixture(autouse=True)
def no_run_within_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes its turn on the device: within the turn of its own thread it waits forever.

    (It is only made where it is not kept any more, which a test seldom meets.)
    """
    turn_of, recording_of = cached.turn, cached.recording
    holders: set[int] = set()

    @contextmanager
    def turn(device: str) -> Iterator[None]:
        with turn_of(device):
            holders.add(get_ident())
            try:
                yield
            finally:
                holders.discard(get_ident())

    def recording(run: Run) -> Recording:
        assert get_ident() not in holders, "a run is asked for within a turn"
        return recording_of(run)

    monkeypatch.setattr(cached, "turn", turn)
    monkeypatch.setattr(cached, "recording", recording)
