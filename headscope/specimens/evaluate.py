"""python -m headscope.specimens.evaluate NAME: metrics of a specimen, and what random halves of its heads cost."""

from __future__ import annotations

import argparse
import json
import sys

import torch

from headscope.specimens.card import card_of, readme
from headscope.specimens.recipe import recipe_of
from headscope.specimens.shipped import SHIPPED, load


def main() -> None:
    """Reads the command line, measures and prints the card."""
    parser = argparse.ArgumentParser(prog="python -m headscope.specimens.evaluate", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--write", action="store_true", help="write card.json and README.md anew")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    folder = SHIPPED / arguments.name
    old = json.loads((folder / "card.json").read_text())
    counts = {"seed": old["seed"], "step": old["steps"], "tokens": old["predictions"], "seconds": 60 * old["minutes"]}
    card = card_of(recipe_of(arguments.name), load(arguments.name), counts)
    sys.stdout.write(readme(card))
    if arguments.write:
        (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n")
        (folder / "README.md").write_text(readme(card))


if __name__ == "__main__":
    main()
