"""Many processes behind a proxy: what the script that starts them says to them."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
START = ROOT / "assets/serve/start.sh"
SAYS_ALL = (
    "#!/bin/sh\nprintenv UPSTREAMS OMP_NUM_THREADS COOKIE_SECRET STREAMLIT_SERVER_COOKIE_SECRET\n"
)


def started(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    instead_of_python = folder / "says_all"
    instead_of_python.write_text(SAYS_ALL)
    instead_of_python.chmod(0o755)
    ours = {"PYTHON": str(instead_of_python), "DATA": str(folder / "data"), **environment}
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"} | ours
    return subprocess.run([START], env=environment, capture_output=True, text=True)


def test_each_process_has_a_port_and_all_share_one_secret(tmp_path: Path):
    upstreams, threads, secret, streamlits = started(tmp_path, PROCESSES="3").stdout.splitlines()
    assert upstreams == "127.0.0.1:8600 127.0.0.1:8601 127.0.0.1:8602"
    assert 1 <= int(threads) <= (os.cpu_count() or 1)
    assert secret == streamlits and re.fullmatch("[0-9a-f]{64}", secret)
    assert (tmp_path / "data").is_dir()


@pytest.mark.parametrize("wrong", ["0", "11", "-1"])
def test_a_wrong_number_of_processes_is_refused(tmp_path: Path, wrong: str):
    done = started(tmp_path, PROCESSES=wrong)
    assert done.returncode == 2 and "1 to 10" in done.stderr


def test_the_proxy_lets_through_what_the_app_takes():
    app = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    proxy = (ROOT / "assets/serve/Caddyfile").read_text()
    largest = int(re.search(r"max_size (\d+)MB", proxy)[1])
    assert largest > app["server"]["maxUploadSize"]


def test_the_container_asks_for_the_torch_that_the_app_needs():
    torch = next(
        line for line in (ROOT / "requirements.txt").read_text().split() if "torch" in line
    )
    assert f'"{torch}"' in (ROOT / "Dockerfile").read_text()
