"""The same sweep on a real cluster of two nodes on this machine; where Ray is installed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_sweep import RATES, Here, outcomes, same
from training_toy import toy_spec

from blocks.sweep import Store, Sweep, trained
from blocks.sweep.engine import Began, Retried
from blocks.sweep.file import read_sweep
from blocks.sweep.job import Done, Saved
from blocks.sweep.ray_engine import RayEngine, nodes
from blocks.training.events import Evaluation

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(240),
]
ray = pytest.importorskip("ray", reason="pip install blockscope[ray]")
NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
LONG = Sweep(base=toy_spec(n_steps=300, eval_every=10), fields=(RATES,), seeds=(0, 1))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    found = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    found.add_node(**NODE)
    yield found
    ray.shutdown()
    found.shutdown()


@pytest.fixture
def engine(cluster: Any, tmp_path: Path) -> RayEngine:
    store = Store(tmp_path)
    return RayEngine(cluster.address, store.unfinished, "cpu", seconds_between=0)


def assert_as_here(found: dict[str, Any], sweep: Sweep, folder: Path) -> None:
    store = Store(folder)
    alone = outcomes(trained(sweep, Here(store), store))
    assert found.keys() == alone.keys()
    assert all(same(found[key], alone[key]) for key in alone)


def test_on_two_nodes_it_comes_to_the_same_numbers(engine: RayEngine, tmp_path: Path):
    sweep = Sweep(base=toy_spec(), fields=(RATES,), seeds=(0, 1))
    told = [*trained(sweep, engine, Store(tmp_path))]
    assert_as_here(outcomes(iter(told)), sweep, tmp_path / "here")
    places = {each.event.place for each in told if isinstance(each.event, Began)}
    assert engine.n_at_once == 2 and len(places) == 2 == len(nodes(ray))


def test_a_killed_worker_and_a_lost_node_go_on_from_what_was_saved(
    engine: RayEngine, cluster: Any, tmp_path: Path
):
    store, broken = Store(tmp_path), list[str]()
    heard = []
    for told in trained(LONG, engine, store):
        heard.append(told)
        if not isinstance(told.event, Evaluation) or told.event.step < 40:
            continue
        if not broken:
            os.kill(_workers()[0], signal.SIGKILL)
            broken.append("worker")
        elif len(broken) == 1 and any(isinstance(each.event, Retried) for each in heard):
            cluster.remove_node(cluster.list_all_nodes()[1])
            broken.append("node")
    assert broken == ["worker", "node"]
    n_retried = sum(isinstance(each.event, Retried) for each in heard)
    firsts = [
        after.event.step
        for before, after in pairwise(heard)
        if isinstance(before.event, Retried) and isinstance(after.event, Evaluation)
    ]
    assert n_retried >= 2 and all(step > 0 for step in firsts)
    assert_as_here(outcomes(iter(heard)), LONG, tmp_path / "here")
    cluster.add_node(**NODE)


def test_where_the_driver_leaves_what_is_finished_and_saved_stays(
    engine: RayEngine, tmp_path: Path
):
    store, finished, n_saved = Store(tmp_path), set[str](), 0
    told = trained(LONG, engine, store)
    for each in told:
        n_saved += isinstance(each.event, Saved)
        if isinstance(each.event, Done):
            finished.add(each.point.key)
            break
    told.close()
    assert finished and n_saved
    here = Here(store)
    found = outcomes(trained(LONG, here, store))
    assert not finished & here.begun.keys()
    assert_as_here(found, LONG, tmp_path / "here")


def test_a_lost_head_node_says_the_mend_and_what_is_finished_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In another process: Ray used to end the one that had lost its head, without a word."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the nodes: blocks, and Ray
    file, store = tmp_path / "sweep.toml", Store(tmp_path / "out")
    file.write_text(OF_FILE, "utf-8")
    cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    cluster.add_node(**NODE)
    words = ["sweep", file, "--out", store.folder, "--engine", "ray", "--address", cluster.address]
    command = [sys.executable, "-m", "blocks", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("1 of 4"):
                break
        cluster.remove_node(cluster.head_node, allow_graceful=False)
        said = process.stderr.read()
    cluster.shutdown()
    assert process.returncode == 1 and "start it with ray start --head" in said
    sweep = read_sweep(OF_FILE)
    finished = {point.key for point in sweep.planned() if store.get(point)}
    here = Here(store)
    outcomes(trained(sweep, here, store))
    assert finished and len(here.begun) == 4 - len(finished) and not finished & here.begun.keys()


OF_FILE = """
seeds = [0, 1]
[base]
task = "sort"
n_steps = 600
n_layers = 1
d_model = 16
n_heads = 2
[fields]
learning_rate = [1e-3, 1e-2]
"""


def _workers() -> list[int]:
    """Processes that train now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::train_streaming"):
            found.append(int(folder.name))
    return found
