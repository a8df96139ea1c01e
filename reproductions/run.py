"""python -m reproductions.run --tier 1: trains what is left of the campaigns, one run at a time; see --progress."""

from __future__ import annotations

import argparse
import logging
import os
import sys

from headscope.runs.data_dir import home
from reproductions.campaigns import trials
from reproductions.progress import page
from reproductions.runner import PID, Runner, commit


def main() -> None:
    """Reads the command line, and works or tells how far the work is."""
    parser = argparse.ArgumentParser(prog="python -m reproductions.run", description=__doc__)
    parser.add_argument("--tier", type=int, default=1, help="do all up to this tier (default: 1)")
    parser.add_argument("--progress", action="store_true", help="tell how far it is, and do nothing")
    parser.add_argument("--only", default="", help="only trials whose name contains this")
    options = parser.parse_args()
    wanted = [trial for trial in trials(options.tier) if options.only in trial.name]
    if options.progress:
        sys.stdout.write(page(wanted, home()) + "\n")
        return
    import torch

    from headscope.runs.store import Store

    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%m-%d %H:%M:%S")
    (home() / PID).write_text(f"{os.getpid()}\n", encoding="utf-8")
    Runner(Store(), commit=commit()).work(wanted)
    sys.stdout.write(page(wanted, home()) + "\n")


if __name__ == "__main__":
    main()
