"""The sweeps of this server: what all readers have trained, and where it is trained."""

from typing import Any

from blocks.model import devices
from blocks.model.faults import ConfigError
from blocks.sweep import LocalEngine, Store
from blocks.sweep.engine import Engine
from blocks.sweep.ray_engine import RayEngine, connected
from blocks.sweep.store import OF_APP
from blocks.sweep.sweeps import Sweeps
from pages.server import machine, settings
from pages.server.once import once

MOST_FINISHED = 20_000  # files of some 10 kB


@once
def store() -> Store:
    """What is finished."""
    return Store(machine.folder() / OF_APP, most=MOST_FINISHED)


@once
def sweeps() -> Sweeps:
    """The registry that all sessions share."""
    return Sweeps(store(), engine, most_points=settings.sweep_points())


def engine(device: str) -> Engine:
    """On the cluster where the operator has one; else half of the cores, one training on each."""
    if settings.ray_address():
        return RayEngine(settings.ray_address(), store().unfinished, device)
    n = max(1, devices.available_cpus() // 2) if device == "cpu" else 1
    return LocalEngine(store().unfinished, machine.folder(), n_at_once=n, queue=machine.queue())


def cluster() -> Any:
    """Ray, where the operator has a cluster that can be reached; else None."""
    if not settings.ray_address():
        return None
    try:
        return connected(settings.ray_address())
    except ConfigError:
        return None
