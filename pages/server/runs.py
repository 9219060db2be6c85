"""The trainings of this server, and which of them a reader has started or opened."""

import secrets

from blocks.model import devices
from blocks.training.limits import Limits
from blocks.training.runs import Runs
from blocks.training.training_run import TrainingRun
from pages.server import machine, settings
from pages.server.once import once
from pages.session.slot import Slot

PREFIX = "run:"
OWNER, MINE = Slot("owner", ""), Slot[tuple[str, ...]]("my_runs", ())


@once
def runs() -> Runs:
    """The registry that all sessions share; a run is found by its id alone."""
    on = {device: _limits(device) for device in devices.available_devices()}
    return Runs(
        on["cpu"],
        on=on,
        folder=machine.folder() if settings.work_in_processes() else None,
        queue=machine.queue(),
    )


def _limits(device: str) -> Limits:
    return Limits(
        max_seconds=settings.training_seconds(),
        max_steps=settings.training_steps(device),
        max_parameters=settings.training_parameters(device),
        max_bytes=settings.training_bytes(device),
    )


def owner() -> str:
    """A name for this session, so that nobody fills the queue alone."""
    OWNER.keep(OWNER.get() or secrets.token_urlsafe(8))
    return OWNER.get()


def mine() -> tuple[str, ...]:
    """Ids of the runs that this session has started or opened by a link, the newest first."""
    known = {run.id for run in runs().kept}
    return tuple(run_id for run_id in MINE.get() if run_id in known)


def remember(run_id: str) -> None:
    others = tuple(each for each in MINE.get() if each != run_id)
    MINE.keep((run_id, *others)[:20])


def find(run_id: str) -> TrainingRun | None:
    """A run by its id; None where it is not kept any more."""
    return next((run for run in runs().kept if run.id == run_id), None)


def is_busy(device: str) -> bool:
    """Whether a training has the device, so that nothing else could be timed there."""
    return any(run.state.is_active and run.spec.device == device for run in runs().kept)


def preset_of(run_id: str) -> str:
    return f"{PREFIX}{run_id}"
