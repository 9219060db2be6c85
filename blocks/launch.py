"""`blockscope`: opens the app in a browser, or does one of the commands of `python -m blocks`."""

import runpy
import sys
from collections.abc import Sequence

from blocks.export import command
from blocks.model.shipped import shipped

HELP = """\
usage: blockscope [--server.port 8600 ...]   open the app in a browser
       blockscope COMMAND ...                what `python -m blocks COMMAND ...` does
       blockscope lessons check FILE ...     play lessons of your own and name their faults

All options of `streamlit run` are passed on to it (streamlit run --help).
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as the arguments say; returns the exit code. Where the app ends, so does the process."""
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    app = shipped().parent
    if words[:1] in (["-h"], ["--help"]):
        print(HELP)
        words = ["--help"]
    elif words[:1] == ["lessons"]:
        sys.path.insert(0, str(app))  # where Streamlit finds the pages, too
        sys.argv = ["blockscope lessons", *words[1:]]
        runpy.run_module("pages.lessons", run_name="__main__")
    elif not words or words[0].startswith("-"):
        sys.argv = ["streamlit", "run", str(app / "app.py"), *words]
        runpy.run_module("streamlit", run_name="__main__")
    return command.main(words)
