"""Runs the command line: `python -m exporter` is the same as the command `ssd-exporter`."""

import sys

from exporter.cli import main

if __name__ == "__main__":
    sys.exit(main())
