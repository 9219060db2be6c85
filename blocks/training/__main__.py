"""Train a model from the command line: python -m blocks.training --task sort --out runs/sort."""

import sys

from blocks.training.command import main

if __name__ == "__main__":
    sys.exit(main())
