"""The figures of docs/reliability.md: how many broken inputs a test run has, and what refusing them costs.

Run as `python -m benchmarks.reliability`; it takes about a minute and exits with 1 where an input is not answered by a
result or one sentence, or where there are fewer than 10,000 different cases. Seconds are of CPU time, so that other
work on the machine hardly counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import psutil

from headscope.models.loading.loader import load
from headscope.tasks.readers import FORMATS, Source
from tests.bad_input.mutations import broken_files, check_sentence, sentence_of
from tests.bad_input.test_masks_and_links import cases
from tests.bad_input.test_uploads import READERS
from tests.families import family

OTHER_SEED = 12
MB = 2**20
Row = tuple[str, str]


def counted() -> Row:
    """How many cases the seeded tests have, and how many of them are different."""
    found = list(cases())
    different = len(set(found))
    if different < 10_000:
        raise AssertionError(f"{different} different cases; 10,000 are promised")
    return "seeded cases of a test run, and how many are different", f"{len(found):,} and {different:,}"


def read_others(n: int) -> Row:
    """Reads files that are broken in other ways than those of the tests, by every reader."""
    started, refused = time.process_time(), 0
    for suffix in FORMATS:
        for name, content in broken_files(suffix, OTHER_SEED, n):
            source = Source(name, content)
            refused += sum(bool(sentence_of(lambda read=read, source=source: read(source))) for read in READERS)
    took, calls = time.process_time() - started, n * len(FORMATS) * len(READERS)
    name = f"{n * len(FORMATS):,} files of another seed, {len(READERS)} readers each"
    return name, f"{refused:,} of {calls:,} refused in one sentence, the rest read; {took:.1f} s"


def refuse_absurd() -> Row:
    """Refuses a folder whose configuration asks for a million key/value heads."""
    with tempfile.TemporaryDirectory() as folder:
        family("llama").model.save_pretrained(folder)
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {"num_key_value_heads": 10**6}))
        before, started = psutil.Process().memory_info().rss, time.process_time()
        try:
            load(folder, device="cpu")
        except ValueError as error:
            check_sentence(str(error))
        else:
            raise AssertionError("a model with a million key/value heads was loaded")
        took, more = time.process_time() - started, psutil.Process().memory_info().rss - before
    return "a configuration of a million key/value heads", f"refused after {took:.2f} s with {more / MB:.0f} MB more"


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("--files", type=int, default=1000, help="files of each kind with another seed")
    given = parser.parse_args()
    try:
        rows = [counted(), read_others(given.files), refuse_absurd()]
    except AssertionError as error:
        print(f"reliability: {error}", file=sys.stderr)
        sys.exit(1)
    print("\n".join(["| what | figure |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]))


if __name__ == "__main__":
    main()
