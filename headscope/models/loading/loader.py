"""Loads a model from a specimen's name, a local folder or the hub: safetensors only, never any code or pickle."""

from __future__ import annotations

import json
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
import transformers
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.models.devices import is_out_of_memory, pick_device, pick_dtype
from headscope.models.discovery import missed_modules
from headscope.models.head_model import HeadModel
from headscope.models.loading.checks import (
    Shapes,
    check_files,
    check_layers,
    check_room,
    check_size,
    elements,
    first_misfit,
    left_over,
    outline,
    weight_shapes,
)
from headscope.models.loading.known_models import SPECIMENS_FOLDER, specimen_names
from headscope.models.loading.placement import layout
from headscope.models.loading.side_files import check_text_files
from headscope.models.loading.tokenizer_growth import grows_without_bound
from headscope.models.loading.tokenizer_trial import passes
from headscope.models.shrink import shrunk
from headscope.models.sites import Site
from headscope.models.text import is_panic, shown

Progress = Callable[[str], None]
OWN_ARCHITECTURES: dict[str, type[PreTrainedModel]] = {"AllAttentionForCausalLM": AllAttentionForCausalLM}
HUB_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
HUB_TIMEOUT_SECONDS = 4.0
OWN_ATTENTION = ("eager", "sdpa")
"""Ways to compute attention that are part of transformers and torch."""

LARGEST_CONFIG = 2**22
MADE_UP = 1000
"""Tokens that a tokenizer without any words has at most; all of them are special or marks."""

# Here and not where it is defined: an exported copy of the architecture must not take the place of its smaller shape.
AutoConfig.register(AllAttentionConfig.model_type, AllAttentionConfig)
AutoModelForCausalLM.register(AllAttentionConfig, AllAttentionForCausalLM)


def load(
    name_or_folder: str | Path, device: str = "auto", dtype: str = "auto", progress: Progress = lambda _: None
) -> HeadModel:
    """The model behind a specimen's name, a folder or a hub id such as `openai-community/gpt2`."""
    target = pick_device(device)
    folder = find_folder(name_or_folder, progress)
    progress("reading the configuration")
    check_files(folder)
    check_text_files(folder)
    config = read_config(folder)
    shapes = check_weights(folder)
    wanted = pick_dtype(dtype, target)
    outlined = _outlined(folder, config, shapes)
    n_bytes = elements(shapes) * _item_size(wanted, config)
    spread = layout(n_bytes, target)
    if spread is None:
        check_room(n_bytes, target)
    progress("reading the weights")
    model: Any = _build(folder, config, wanted, first_misfit(outlined, shapes), spread)
    model = (model if spread else model.to(target)).eval()
    progress("finding the heads")
    tokenizer = _tokenizer(folder, model)
    try:
        return _with_heads(model, config, tokenizer, str(name_or_folder))
    except (TypeError, LookupError, AttributeError, RuntimeError) as error:
        raise ValueError(f"no heads can be found in {folder}: {_first_line(error)}") from error


def find_folder(name_or_folder: str | Path, progress: Progress = lambda _: None) -> Path:
    """The local folder of a model, downloaded first where it is a hub id."""
    name = str(name_or_folder).strip()
    if not name:
        raise ValueError(f"no model named; give a folder, a hub id or one of: {_known()}")
    if name in specimen_names():
        return SPECIMENS_FOLDER / name
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder.resolve()
        if folder.is_file():
            raise ValueError(
                f"{shown(name, 200)} is a file; give the folder that holds config.json and model.safetensors"
            )
    except (OSError, RuntimeError, UnicodeError) as error:
        raise ValueError(f"{shown(name)!r} is no name of a folder: {_first_line(error)[:100]}") from error
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        raise ValueError(
            f"no folder {shown(name, 200)}; give a folder with config.json, a hub id or one of: {_known()}"
        )
    return _from_hub(name, progress)


def read_config(folder: Path) -> PreTrainedConfig:
    """The configuration of a local model, checked before anything is built."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"no config.json in {folder}; give the folder of a transformers model")
    if path.stat().st_size > LARGEST_CONFIG:
        raise ValueError(f"{path} has more than {LARGEST_CONFIG // 2**20} MB, which is the most that is read")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid JSON: {_first_line(error)}") from error
    kind = record.get("model_type") if isinstance(record, dict) else None
    if not isinstance(kind, str) or kind not in transformers.CONFIG_MAPPING:
        asks_for_code = isinstance(record, dict) and "auto_map" in record
        reason = "it asks to run its own code, which is refused" if asks_for_code else "transformers does not know it"
        named = shown(repr(kind))
        raise ValueError(f"{path} names the model type {named}: {reason}; allowed are the types of transformers")
    if isinstance(record.get("backbone"), str):  # which transformers would fetch from the hub
        raise ValueError(
            f"{path} names {shown(record['backbone'])!r} as its backbone; allowed are models whose weights are all in "
            "their own folder"
        )
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:
        raise ValueError(f"{path} is not a valid configuration: {_first_line(error)}") from error
    config.__dict__.pop("auto_map", None)  # names code, which is never run
    return _with_own_attention(config)


def _with_own_attention(config: PreTrainedConfig) -> PreTrainedConfig:
    """The configuration without attention of a name that transformers would look up as code on the hub."""
    named = getattr(config, "_attn_implementation", None)
    if named is not None and named not in OWN_ATTENTION:
        config._attn_implementation = None
    return config


def check_weights(folder: Path) -> Shapes:
    """The shapes of the folder's tensors if its safetensors are whole; pickled weights are refused."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in {".bin", ".pt", ".pth", ".ckpt"})
        if pickled:
            raise ValueError(
                f"{folder} has only pickled weights ({pickled[0]}), which can run code and are refused; convert them "
                "where you trust them: AutoModel.from_pretrained(folder).save_pretrained(new_folder)"
            )
        raise ValueError(f"no model.safetensors in {folder}; give the folder of a transformers model")
    _check_index(folder, {path.name for path in files})
    return weight_shapes(folder)


def _check_index(folder: Path, known: set[str]) -> None:
    """A list of shards may name safetensors of this folder and nothing else."""
    for path in folder.glob("*.index.json"):
        try:
            shards = set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path} is not a valid list of weight files") from error
        strange = sorted(str(shard) for shard in shards if shard not in known)
        if strange:
            raise ValueError(f"{path} names {shown(strange[0])!r}; allowed are the safetensors files of its own folder")


def model_class(config: PreTrainedConfig) -> Any:
    """The class that the configuration names, from transformers or from our own architectures."""
    named = config.architectures if isinstance(config.architectures, list) else []
    for name in map(str, named):
        found = OWN_ARCHITECTURES.get(name) or getattr(transformers, name, None)
        if isinstance(found, type) and issubclass(found, PreTrainedModel):
            return found
    return transformers.MODEL_MAPPING.get(type(config), AutoModel)


def _built_class(config: PreTrainedConfig) -> Any:
    cls: Any = model_class(config)
    return shrunk(cls) if hasattr(config, "head_plan") else cls


def _outlined(folder: Path, config: PreTrainedConfig, shapes: Shapes) -> nn.Module:
    """The model without numbers, once its configuration is known to be about that of the weights."""
    cls = _built_class(config)
    try:
        check_layers(config, shapes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tensors of no size, for one
            model = outline(cls, config)
        check_size(model, shapes)
    except Exception as error:
        reason = _first_line(error)
        raise ValueError(f"the weights in {folder} do not fit {cls.__name__}: {reason}") from error
    return model


def _item_size(dtype: torch.dtype | str, config: PreTrainedConfig) -> int:
    """Bytes of a number in memory; `auto` leaves that to the configuration."""
    chosen = dtype if isinstance(dtype, torch.dtype) else getattr(config, "dtype", None)
    return chosen.itemsize if isinstance(chosen, torch.dtype) else torch.float32.itemsize


def _with_heads(model: Any, config: PreTrainedConfig, tokenizer: Any, name: str) -> HeadModel:
    if not hasattr(config, "head_plan"):
        return HeadModel.of(model, tokenizer, name)
    sites = tuple(Site.from_json(record) for record in config.head_plan["sites"])
    return HeadModel(model, tokenizer, sites, missed_modules(model, sites), name)


def _build(folder: Path, config: PreTrainedConfig, dtype: Any, misfit: str, spread: Any) -> Any:
    cls = _built_class(config)
    try:
        model, report = cls.from_pretrained(
            folder, config=config, dtype=dtype, device_map=spread, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:
        if is_out_of_memory(error):
            raise ValueError(f"not enough memory for {folder}; take a smaller model or a lower precision") from error
        raise ValueError(
            f"the weights in {folder} do not fit {cls.__name__}: {misfit or _first_line(error)}"
        ) from error
    missing: list[str] = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"{folder} lacks {len(missing)} weights of {cls.__name__}, the first is {missing[0]}")
    surplus = left_over(model, report["unexpected_keys"])
    if surplus:
        raise ValueError(f"the weights in {folder} do not fit {cls.__name__}: {surplus}")
    return model


def _tokenizer(folder: Path, model: PreTrainedModel) -> Any:
    """What turns text, images or sound into inputs, or None where the folder has nothing that works."""
    auto: Any = {
        "input_ids": transformers.AutoTokenizer,
        "pixel_values": transformers.AutoImageProcessor,
        "input_features": transformers.AutoProcessor,
    }[model.main_input_name]
    if auto is not transformers.AutoImageProcessor and (grows_without_bound(folder) or not passes(folder)):
        return None
    try:
        found = auto.from_pretrained(folder, trust_remote_code=False)
        _try_reading(getattr(found, "tokenizer", found))
        if not _knows_words(getattr(found, "tokenizer", found)):
            return None
    except BaseException as error:  # a model without a tokenizer is still a model; tasks that need one say so
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return None
    return found


def _knows_words(tokenizer: Any) -> bool:
    """Whether there is more than special tokens: transformers makes an empty one up for a folder without its files."""
    if not hasattr(tokenizer, "all_special_tokens") or len(tokenizer) > MADE_UP:
        return True
    special = set(tokenizer.all_special_tokens)
    return any(any(map(str.isalnum, word)) for word in tokenizer.get_vocab() if word not in special)


def _try_reading(tokenizer: Any) -> None:
    """Lets a broken tokenizer give up now and not in the middle of something; one may refuse a text without context."""
    if hasattr(tokenizer, "batch_decode"):
        with suppress(Exception):
            tokenizer("One text.")


def _from_hub(name: str, progress: Progress) -> Path:
    def snapshot(local: bool) -> Path:
        found = huggingface_hub.snapshot_download(
            name, allow_patterns=list(HUB_FILES), ignore_patterns=["*/*"], local_files_only=local
        )
        return Path(found)

    try:
        return snapshot(local=True)
    except HFValidationError as error:
        raise ValueError(
            f"no model {shown(name)!r}; give a folder, a hub id such as owner/name, or: {_known()}"
        ) from error
    except LocalEntryNotFoundError:
        progress(f"asking the hub for {name}")
    if not _hub_answers():
        raise ValueError(
            f"no model {shown(name)!r} on this machine, and the model hub cannot be reached; known: {_known()}"
        )
    try:
        return snapshot(local=False)
    except HfHubHTTPError as error:
        raise ValueError(f"the hub has no model {name!r} that may be read: {_first_line(error)}") from error
    except OSError as error:
        raise ValueError(f"could not download {name!r}: {_first_line(error)}") from error


def _hub_answers() -> bool:
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        return False
    host = huggingface_hub.constants.ENDPOINT.split("//")[-1].split("/")[0].split(":")[0]
    try:
        socket.create_connection((host, 443), HUB_TIMEOUT_SECONDS).close()
    except OSError:
        return False
    return True


def _known() -> str:
    return ", ".join(specimen_names()) or "no specimens are here"


def _first_line(error: Exception) -> str:
    """The first line of a message, and the second where the first only announces it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return shown(" ".join(lines[:2]) if lines[0].endswith(":") else lines[0], 300)
