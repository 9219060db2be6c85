"""Check lessons: `python -m pages.lessons check FILE …`."""

import logging
import os
import sys
import warnings
from pathlib import Path


def main(words: list[str]) -> int:
    """Say of each file what is wrong with it; 1 where anything is."""
    if len(words) < 2 or words[0] != "check":
        print(__doc__)
        return 2
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from pages.lessons.check import checked  # after that, since importing it warns, too

    n_faults = 0
    for name in words[1:]:
        os.environ["BLOCKSCOPE_LESSONS"] = str(Path(name).absolute().parent)  # it may lie anywhere
        print(f"{name}:", flush=True)
        n_here = 0
        for fault in checked(Path(name)):
            print(f"  {fault}", flush=True)
            n_here += 1
        print(f"  {n_here} faults" if n_here else "  all is well", flush=True)
        n_faults += n_here
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
