"""Train a model from the command line: python -m blocks.training --task sort --out runs/sort."""

import sys

from blocks.training.command import main

sys.exit(main())
