"""Writes a pruned model to a folder, proves it equal to the mask, and reads it back.

Four formats: `headscope` (for `load_pruned`), `stock` (the old shape, heads zeroed, for plain transformers),
`standalone` (the smaller shape with its own small modelling file, for transformers with trust_remote_code) and `onnx`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.pruning.export import onnx_format, standalone_format, stock_format
from headscope.pruning.export.proof import CHECK_FILE, Proof, Reference, folder_size
from headscope.pruning.export.saving import run_loaded, save_model
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads

RECORD_FILE = "headscope.json"


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a pruned model: what writes it, what runs it again, and how a user loads it."""

    title: str
    write: Callable[[HeadModel, HeadMask, Path, Reference], dict[str, str]]
    run: Callable[[Path, Reference], tuple[list[Any], int]]
    snippet: Callable[[HeadModel], str]


def export(head_model: HeadModel, mask: HeadMask, folder: str | Path, form: str = "headscope") -> Proof:
    """Writes the model without the masked heads, verified; nothing is left behind if it is not equal to the mask."""
    if form not in FORMATS:
        raise ValueError(f"no format {form!r}; allowed are {', '.join(FORMATS)}")
    target = Path(folder)
    reference = Reference.of(head_model, mask)
    with _new_folder(target) as draft:
        try:
            notes = FORMATS[form].write(head_model, mask, draft, reference)
            reference.save(draft)
            proof = _prove(draft, form, reference)
        except (RuntimeError, AttributeError, IndexError, TypeError) as error:  # shapes that a forward pass rejects
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            name = type(head_model.model).__name__
            raise ValueError(f"heads of {name} can be switched off but not removed here: {reason}") from error
        if not proof.equal:
            raise ValueError(
                f"the {form} export differs from the mask by {proof.max_difference:.2g} of its largest output; "
                "nothing was written"
            )
        record = {
            "format": form,
            "source": head_model.name,
            "removed": str(mask | HeadMask(mask.grid, head_model.removed)).split(),
            "proof": proof.to_json(),
            "snippet": FORMATS[form].snippet(head_model),
        }
        (draft / RECORD_FILE).write_text(json.dumps(record | notes, indent=1), encoding="utf-8")
    return proof


def verify(folder: str | Path) -> Proof:
    """Loads an exported model and compares it again with what the masked model gave when it was written."""
    folder = Path(folder)
    record = read_record(folder)
    dense = int(record["proof"]["parameters_dense"])
    try:
        reference = Reference.read(folder, dense)
    except Exception as error:
        raise ValueError(f"no readable {CHECK_FILE} in {folder}; export the model again") from error
    return _prove(folder, record["format"], reference)


def read_record(folder: str | Path) -> dict[str, Any]:
    """What was written beside an exported model: format, source, removed heads, proof and load snippet."""
    path = Path(folder) / RECORD_FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        known = record["format"] in FORMATS
        int(record["proof"]["parameters_dense"])
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ValueError(f"no readable {RECORD_FILE} in {folder}; give a folder that Headscope exported") from error
    if not known:
        raise ValueError(f"{path} names the format {record['format']!r}; allowed are {', '.join(FORMATS)}")
    return dict(record)


def save_pruned(head_model: HeadModel, folder: str | Path) -> None:
    """Writes a model whose heads were removed, for `load_pruned`."""
    with _new_folder(Path(folder)) as draft:
        save_model(head_model, draft, old_names=False)


def load_pruned(folder: str | Path, device: str = "auto", dtype: str = "auto") -> HeadModel:
    """Reads what `save_pruned` or an export in the formats headscope or standalone wrote."""
    head_model = load(Path(folder), device, dtype)
    if not hasattr(head_model.model.config, "head_plan"):
        raise ValueError(f"{folder} holds no pruned model: its config.json has no head_plan; use load instead")
    return head_model


def _prove(folder: Path, form: str, reference: Reference) -> Proof:
    outputs, parameters = FORMATS[form].run(folder, reference)
    return reference.compare(outputs, parameters, folder_size(folder))


def _write_headscope(head_model: HeadModel, mask: HeadMask, folder: Path, reference: Reference) -> dict[str, str]:
    del reference
    save_model(without_heads(head_model, mask), folder, old_names=False)
    return {}


def _headscope_snippet(head_model: HeadModel) -> str:
    del head_model
    return "from headscope.pruning.export.exporter import load_pruned\n\nmodel = load_pruned(folder).model"


def _write_standalone(head_model: HeadModel, mask: HeadMask, folder: Path, reference: Reference) -> dict[str, str]:
    notes = _write_headscope(head_model, mask, folder, reference)
    standalone_format.add_modelling_file(type(head_model.model), folder)
    return notes


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A draft beside the target that takes its place only when all went well."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(f"{target} is there already; give a new or an empty folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        draft.chmod(0o755)
    except OSError as error:
        raise ValueError(f"could not write {target}: {error.strerror}") from error
    try:
        yield draft
        if target.exists():
            target.rmdir()
        draft.rename(target)
    except OSError as error:
        raise ValueError(f"could not write {target}: {error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


FORMATS = {
    "headscope": Format("smaller, for Headscope", _write_headscope, run_loaded, _headscope_snippet),
    "stock": Format("old shape, heads zeroed", stock_format.write, run_loaded, stock_format.snippet),
    "standalone": Format(
        "smaller, own model code", _write_standalone, standalone_format.run, standalone_format.snippet
    ),
    "onnx": Format("ONNX", onnx_format.write, onnx_format.run, onnx_format.snippet),
}
