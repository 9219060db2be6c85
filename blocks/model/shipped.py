"""The files that ship with Blockscope, in a clone and where it is installed."""

import json
from pathlib import Path
from typing import Any

PARENT = Path(__file__).parents[2]
CLONE, INSTALLED = PARENT / "assets", PARENT / "blockscope" / "assets"


def shipped(*names: str) -> Path:
    """Return the path of a file or folder below `assets/`."""
    return (INSTALLED if INSTALLED.is_dir() else CLONE).joinpath(*names)


def rows_in(file: Path) -> Any:
    """Read a shipped JSON file; an empty object where it is not made yet."""
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def write_rows(file: Path, rows: Any) -> None:
    """Put them where `rows_in` reads them."""
    file.write_text(json.dumps(rows, separators=(",", ":")) + "\n", "utf-8")
