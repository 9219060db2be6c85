"""The files that ship with Blockscope, in a clone and where it is installed."""

from pathlib import Path

PARENT = Path(__file__).parents[2]
CLONE, INSTALLED = PARENT / "assets", PARENT / "blocks_assets"


def shipped(*names: str) -> Path:
    """The path of a file or folder below `assets/`."""
    return (INSTALLED if INSTALLED.is_dir() else CLONE).joinpath(*names)
