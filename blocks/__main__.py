"""Count, record, generate, train and export from the command line: python -m blocks --help."""

import sys

from blocks.export.command import main

if __name__ == "__main__":
    sys.exit(main())
