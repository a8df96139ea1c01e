"""The smaller shape with a modelling file of its own: transformers loads it where Headscope is not installed."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import transformers
from transformers import PreTrainedModel
from transformers.dynamic_module_utils import get_cached_module_file, get_class_from_dynamic_module
from transformers.utils.hub import HF_MODULES_CACHE

from headscope.models import shrink
from headscope.models.example_inputs import main_output
from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import model_class, read_config
from headscope.pruning.export.proof import Reference, attending, attention_implementations

MODELLING_FILE = "modeling_headscope.py"
AUTO_CLASSES = (
    "AutoModelForSequenceClassification",
    "AutoModelForSeq2SeqLM",
    "AutoModelForCausalLM",
    "AutoModelForMaskedLM",
    "AutoModelForTokenClassification",
    "AutoModelForQuestionAnswering",
    "AutoModelForImageClassification",
    "AutoModelForSpeechSeq2Seq",
)


def add_modelling_file(cls: type[PreTrainedModel], folder: Path) -> None:
    """Puts the code beside the weights and names it in config.json."""
    base = _base_class(cls)
    for name, code in _code(base).items():
        (folder / name).write_text(code, encoding="utf-8")
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"auto_map": _auto_map(base)}, indent=1), encoding="utf-8")


def _code(base: type[PreTrainedModel]) -> dict[str, str]:
    """The files that an export of this architecture carries."""
    files = {}
    if base.__module__.startswith("transformers."):
        origin = f"from transformers import {base.__name__} as Base"
    else:
        own = Path(str(inspect.getfile(base)))
        files[own.name] = own.read_text(encoding="utf-8")
        origin = f"from .{own.stem} import {base.__name__} as Base"
    files[MODELLING_FILE] = f"{inspect.getsource(shrink)}\n\n{origin}\n\n{base.__name__} = shrunk(Base)\n"
    return files


def _auto_map(base: type[PreTrainedModel]) -> dict[str, str]:
    names = {auto_class(base): f"{Path(MODELLING_FILE).stem}.{base.__name__}"}
    if not base.__module__.startswith("transformers."):
        config: Any = base.config_class
        names["AutoConfig"] = f"{Path(inspect.getfile(base)).stem}.{config.__name__}"
    return names


def _check_code(folder: Path, auto_map: object) -> None:
    """Only code that Headscope itself writes is run."""
    base = model_class(read_config(folder))
    expected = _code(base)
    found = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in folder.glob("*.py")}
    if found != expected or auto_map != _auto_map(base):
        raise ValueError(f"the Python files in {folder} are not those that this Headscope writes, so they are not run")


def run(folder: Path, reference: Reference) -> tuple[list[Any], int]:
    """Loads the folder as a user would, by its own code, and runs it under eager and sdpa."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    _check_code(folder, config.get("auto_map"))
    name = next(name for auto, name in config["auto_map"].items() if auto != "AutoConfig")
    cls: Any = get_class_from_dynamic_module(name, str(folder))  # never an architecture of this process
    try:
        model = cls.from_pretrained(folder, dtype=reference.expected.dtype).eval().to(reference.expected.device)
    finally:
        _forget_copy(folder)
    loaded = HeadModel(model, None, ())
    outputs = []
    for implementation in attention_implementations(model):
        with attending(model, implementation):
            outputs.append(main_output(loaded, reference.inputs))
    return outputs, loaded.n_parameters


def _forget_copy(folder: Path) -> None:
    """Removes the copy of the code that transformers made in its cache, under the name of a folder soon gone."""
    package, name, *_ = Path(get_cached_module_file(str(folder), MODELLING_FILE)).parts
    shutil.rmtree(Path(HF_MODULES_CACHE, package, name), ignore_errors=True)


def snippet(head_model: HeadModel) -> str:
    """How to load it without Headscope."""
    auto = auto_class(_base_class(type(head_model.model)))
    return f"from transformers import {auto}\n\nmodel = {auto}.from_pretrained(folder, trust_remote_code=True)"


def auto_class(cls: type[PreTrainedModel]) -> str:
    """The name of the auto class that builds this model class."""
    for name in AUTO_CLASSES:
        if cls in getattr(transformers, name)._model_mapping.values():
            return name
    return "AutoModel"


def _base_class(cls: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The class as its architecture file defines it, not the one that is built smaller."""
    found = getattr(sys.modules[cls.__module__], cls.__name__)
    return found if isinstance(found, type) else cls
