"""python -m headscope COMMAND: the command line, also from a clone that is not installed."""

import sys
from pathlib import Path

PLACE = Path(__file__).parents[1]

# `-m` puts the current folder first: there a user may have a datasets.py that transformers would import.
if not sys.flags.safe_path and Path(sys.path[0]).resolve() != PLACE.resolve():
    del sys.path[0]

from headscope.cli.main import run  # noqa: E402

run()
