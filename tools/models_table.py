"""Writes docs/models.md from the results of tests/models/test_families.py."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
TESTS = "tests/models/test_families.py"
TABLE = ROOT / "docs" / "models.md"
COLUMNS = {
    "test_open_gates_leave_the_output_bit_identical": "open gates",
    "test_a_closed_gate_equals_zeroed_output_columns": "closed gate",
    "test_the_smaller_model_computes_what_the_mask_computes": "smaller = masked",
    "test_removing_in_two_steps_equals_removing_at_once": "in steps",
    "test_saving_and_loading_a_smaller_model_is_exact": "save, load",
    "test_the_smaller_model_generates_what_the_masked_one_generates": "generate",
    "test_exports_for_people_without_headscope_are_equal_to_the_mask": "stock, standalone",
    "test_the_onnx_export_is_equal_to_the_mask": "ONNX",
}
INTRODUCTION = """# Which models work

Made by `python tools/models_table.py` from tests/models/test_families.py: tiny random models of each family, in eager
and sdpa attention where the family has both.

- **open gates**: gates of one leave the output bit-identical.
- **closed gate**: a gate of zero equals zeroed columns of the output projection.
- **smaller = masked**: the model with heads really removed equals the masked one to 1e-5, for a random mask, an uneven
  one, an empty first and an empty middle layer; with the wrong heads removed it differs.
- **in steps**: removing heads from an already smaller model equals removing all at once.
- **save, load**: the saved and reloaded smaller model has bit-identical weights and the same addresses.
- **generate**: greedy and beam search with a cache give the same tokens as the masked model.
- **stock, standalone, ONNX**: each export equals the masked model to 1e-5.

"""
NOTES = """
## On purpose

- **Shared layers.** ALBERT runs one attention layer many times. It is one row of the grid, a gate acts on every pass,
  and a removed head is removed from all of them: there is only one set of weights to remove.
- **Grouped queries.** The heads of Llama, Mistral, Qwen and Gemma share keys and values in groups. A key/value head
  goes when its last query head goes; uneven groups work and keep their small cache.
- **Emptied layers.** A layer without heads keeps a phantom head without weights, so that caches and position biases of
  every family go on working; its output is the bias of its output projection.
- **Soft caps.** Gemma 2 caps its attention scores, which sdpa cannot: it runs in eager attention only.
- **DeBERTa** has its own attention code and no choice between eager and sdpa.
- **Scores.** Importance can be computed for every family in the table. A model without an output head, as clip-vision
  or a bare encoder, is scored by fidelity of its features; whisper is scored on a table of WAV files and transcripts.
  Both are told under [own data](cli.md#own-data).
"""


def main() -> int:
    """Runs the tests and writes the table; the exit code is that of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", TESTS, "-q", f"--junitxml={report}"]
        code = subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=False).returncode
        TABLE.write_text(table(ElementTree.parse(report)), encoding="utf-8")
    return code


def table(report: ElementTree.ElementTree[ElementTree.Element]) -> str:
    """The page as Markdown."""
    cases = [(*case.attrib["name"].rstrip("]").partition("[")[::2], case) for case in report.iter("testcase")]
    families = [parameters for test, parameters, _ in cases if test == next(iter(COLUMNS))]
    results: dict[str, dict[str, set[str]]] = {family: {} for family in families}
    reasons = []
    for test, parameters, case in cases:
        family = max((name for name in families if name in parameters), key=len)
        results[family].setdefault(COLUMNS[test], set()).add(_state(case))
        skipped = case.find("skipped")
        if skipped is not None:
            reasons.append(f"- {family}, {COLUMNS[test]}: {skipped.attrib.get('message', '')}.")
    header = ["family", *COLUMNS.values()]
    rows = [header, ["---"] * len(header)]
    rows += [[family, *(_cell(found.get(column)) for column in COLUMNS.values())] for family, found in results.items()]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return INTRODUCTION + "\n".join(lines) + "\n\n`–` does not apply.\n\n" + "\n".join(reasons) + "\n" + NOTES


def _state(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "no"
    return "no" if case.find("skipped") is not None else "yes"


def _cell(states: set[str] | None) -> str:
    if states is None:
        return "–"
    return "yes" if states == {"yes"} else "no"


if __name__ == "__main__":
    sys.exit(main())
