"""Model folders that are broken, mislabelled, absurd or hostile: one sentence each, soon, and nothing is run."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file, save_file

from headscope.cli.main import main
from headscope.models.devices import pick_device
from headscope.models.loading import checks
from headscope.models.loading.checks import check_room, free_memory
from headscope.models.loading.fingerprint import fingerprint
from headscope.models.loading.known_models import specimen_folder
from headscope.models.loading.loader import load
from headscope.runs.client import run_here
from headscope.runs.kinds.attention import AttentionQuery
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.run import FAILED
from headscope.runs.store import Store
from tests.bad_input.mutations import check_sentence
from tests.families import family

SLOWEST_SECONDS = 20.0


@cache
def saved(name: str, folder: Path) -> Path:
    family(name).model.save_pretrained(folder / name)
    return folder / name


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def folder(shelf: Path, tmp_path: Path) -> Path:
    """A copy of a whole model, to be broken."""
    return Path(shutil.copytree(saved("bert", shelf), tmp_path / "model"))


def refused(folder: Path | str) -> str:
    """What a folder that must not load is refused with."""
    started = time.process_time()
    with pytest.raises(ValueError) as caught:
        load(folder, device="cpu")
    assert time.process_time() - started < SLOWEST_SECONDS
    assert type(caught.value) is ValueError
    check_sentence(caught.value.args[0])
    return str(caught.value)


def configure(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


# weights


def remove_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def pickle_weights(folder: Path) -> None:
    remove_weights(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": 1}))


def name_a_pickle_safetensors(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(pickle.dumps(os.system))


def empty_weights(folder: Path) -> None:
    save_file({}, folder / "model.safetensors", {"format": "pt"})


def transpose_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = "bert.embeddings.word_embeddings.weight"
    save_file(weights | {name: weights[name].T.contiguous()}, folder / "model.safetensors", {"format": "pt"})


def drop_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["bert.encoder.layer.1.attention.self.query.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def rename_all_weights(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({f"other.{name}": one for name, one in weights.items()}, folder / "model.safetensors", {"format": "pt"})


def claim_an_endless_header(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((2**60).to_bytes(8, "little") + b"{}")


def nest_the_header(folder: Path) -> None:
    header = b"[" * 100_000
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)


def name_the_weights_a_folder(folder: Path) -> None:
    remove_weights(folder)
    (folder / "model.safetensors").mkdir()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (remove_weights, r"no model\.safetensors in"),
        (pickle_weights, r"only pickled weights \(pytorch_model\.bin\), which can run code and are refused"),
        (name_a_pickle_safetensors, "is broken or cut short"),
        (empty_weights, "lacks .* weights of BertForSequenceClassification"),
        (transpose_a_weight, r"word_embeddings\.weight is 32 x 60 and config\.json asks for 60 x 32"),
        (drop_a_weight, r"lacks 1 weights of .*, the first is bert\.encoder\.layer\.1\.attention\.self\.query\.weight"),
        (rename_all_weights, "lacks .* weights"),
        (claim_an_endless_header, "is broken or cut short"),
        (nest_the_header, "is broken or cut short"),
        (name_the_weights_a_folder, "is broken or cut short|no model"),
    ],
)
def test_weights_that_are_not_those_of_the_model_are_refused(
    spoil: Callable[[Path], None], reason: str, folder: Path
) -> None:
    spoil(folder)
    with pytest.raises(ValueError, match=reason):
        load(folder)
    refused(folder)


def test_weights_cut_or_changed_anywhere_are_refused_or_still_a_model(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    for cut in range(0, len(whole), len(whole) // 12):
        (folder / "model.safetensors").write_bytes(whole[:cut])
        assert "broken or cut short" in refused(folder)
    for place in range(0, 2000, 97):  # in the header; a changed number of a tensor is a number
        changed = whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :]
        (folder / "model.safetensors").write_bytes(changed)
        try:
            load(folder)
        except ValueError as error:
            check_sentence(error.args[0])


# configurations


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not valid JSON"),
        (b"[1, 2]", "names the model type None"),
        (b"\xff\xfe{}", "is not valid JSON"),
        (b"[" * 200_000, "is not valid JSON"),
        (b" " * 2**22 + b"{}", "has more than 4 MB"),
        (b'{"model_type": ["bert"]}', r"names the model type \['bert'\]"),
        (b'{"model_type": {"a": 1}}', "names the model type"),
        (b'{"model_type": "' + b"x" * 100_000 + b'"}', "names the model type 'xxx"),
        (b'{"model_type": "\\u001b[31m\\n"}', "names the model type"),
        (
            b'{"model_type": "own", "auto_map": {"AutoModel": "code.Model"}}',
            "asks to run its own code, which is refused",
        ),
    ],
)
def test_a_configuration_that_is_none_is_refused(content: bytes, reason: str, folder: Path) -> None:
    (folder / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=reason):
        load(folder)
    refused(folder)


ABSURD = (0, -1, 10**6, 10**9, 10**30, "many", None, [1], True, 1.5, {"a": 1}, float("nan"))
FIELDS = {
    "bert": ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    "llama": ("num_hidden_layers", "num_key_value_heads", "head_dim"),
    "vit": ("patch_size",),
    "marian": ("encoder_layers", "d_model"),
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in FIELDS.items() for field in fields])
def test_an_absurd_size_is_refused_before_anything_is_built(name: str, field: str, shelf: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved(name, shelf), tmp_path / "model"))
    before = psutil.Process().memory_info().rss
    for value in ABSURD:
        if (field, value) == ("head_dim", None):  # then it follows from the others
            continue
        configure(folder, **{field: value})
        refused(folder)
    assert psutil.Process().memory_info().rss - before < 300 * 2**20


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("bert", {"num_hidden_layers": 2}, r"they hold bert\.encoder\.layer\.2 and config\.json asks for 2"),
        ("bert", {"num_hidden_layers": 4}, "lacks 16 weights"),
        ("bert", {"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000; from 0 to 64 are allowed with the"),
        (
            "bert",
            {"intermediate_size": 10**6},
            "describes a model of .* parameters and the weights have|config.json asks",
        ),
        ("bert", {"architectures": ["LlamaForCausalLM"]}, "do not fit LlamaForCausalLM"),
        ("llama", {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel"),
        ("bert", {"head_plan": {}}, "do not fit|no heads can be found"),
        ("bert", {"head_plan": {"sites": [{"core": "../../etc"}]}}, "do not fit|no heads can be found"),
        ("bert", {"head_plan": 7}, "do not fit|no heads can be found"),
    ],
)
def test_a_configuration_of_another_model_is_refused(
    name: str, values: dict[str, Any], reason: str, shelf: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(saved(name, shelf), tmp_path / "model"))
    configure(folder, **values)
    with pytest.raises(ValueError, match=reason):
        load(folder)
    refused(folder)


@pytest.mark.parametrize("named", [["Trainer", "no such", 7], 7, None, "BertModel"])
def test_architectures_that_nobody_knows_leave_the_bare_model(named: object, folder: Path) -> None:
    configure(folder, architectures=named)
    assert type(load(folder).model).__name__ == "BertModel"


def test_code_in_the_folder_of_a_known_model_is_never_run(folder: Path, tmp_path: Path) -> None:
    trace = tmp_path / "was here"
    (folder / "code.py").write_text(f"open({str(trace)!r}, 'w').write('x')\nclass Model: ...\n")
    asked = {"AutoConfig": "code.Model", "AutoModel": "code.Model", "AutoModelForSequenceClassification": "code.Model"}
    configure(folder, auto_map=asked)
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": {"AutoTokenizer": ["code.Model", None]}}))
    assert len(load(folder).grid) == 12
    assert not trace.exists()


@pytest.mark.parametrize("field", ["attn_implementation", "_attn_implementation"])
def test_attention_that_would_come_from_the_hub_is_not_asked_for(field: str, folder: Path) -> None:
    configure(folder, **{field: "somebody/kernel"})
    assert load(folder).model.config._attn_implementation in ("eager", "sdpa")


def test_a_backbone_that_would_come_from_the_hub_is_refused(folder: Path) -> None:
    configure(folder, model_type="detr", backbone="somebody/backbone", use_timm_backbone=False)
    assert "names 'somebody/backbone' as its backbone; allowed are models whose weights are all in" in refused(folder)


# files that are none


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_not(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.safetensors"
    (folder / "model.safetensors").rename(outside)
    (folder / "model.safetensors").symlink_to(outside)
    assert "is a link out of its folder, which is refused" in refused(folder)
    (folder / "model.safetensors").unlink()
    outside.rename(folder / "weights")
    (folder / "model.safetensors").symlink_to("weights")
    assert len(load(folder).grid) == 12


def test_the_links_of_the_hub_cache_are_followed(folder: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "1f", tmp_path / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in folder.iterdir():
        path.rename(blobs / path.name)
        (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
    assert len(load(snapshot).grid) == 12


def lead_nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def lead_in_a_circle(path: Path) -> None:
    path.symlink_to(path.name)


def be_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json", "notes.txt"])
@pytest.mark.parametrize("put", [lead_nowhere, lead_in_a_circle, be_endless, os.mkfifo])
def test_what_is_no_plain_file_is_refused_and_never_read(put: Callable[[Path], None], file: str, folder: Path) -> None:
    (folder / file).unlink(missing_ok=True)
    put(folder / file)
    assert fingerprint(str(folder))
    assert any(words in refused(folder) for words in ("is a link", "is no plain file"))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xff", b"[" * 100_000, b'{"version": "1.0", "model": {"type": "BPE"}}']
)
def test_a_broken_tokenizer_leaves_a_model_that_says_so_when_it_is_to_read(content: bytes, tmp_path: Path) -> None:
    from headscope.analysis.attention.example import Example
    from headscope.analysis.attention.example_run import see

    folder = Path(shutil.copytree(specimen_folder("reader"), tmp_path / "reader"))
    (folder / "tokenizer.json").write_bytes(content)
    try:
        reader = load(folder)
    except ValueError as error:
        check_sentence(error.args[0])
        return
    with pytest.raises(ValueError) as caught:
        see(reader, Example("The old key is on the table."))
    check_sentence(caught.value.args[0])


GIVES_UP = {
    "when it is read": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}},
    "on any text": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "on a special token": {
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[NO]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {},
        }
    },
    "on one text": {
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": False}
    },
}
"""Tokenizers that parse, and whose library panics instead of raising an error."""


@pytest.mark.parametrize("when", GIVES_UP)
def test_a_tokenizer_that_gives_up_is_one_sentence_in_the_shell_and_in_a_run(
    when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(specimen_folder("reader"), tmp_path / "reader"))
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | GIVES_UP[when]))
    assert (load(folder).tokenizer is None) == (when != "on one text")
    text = "a" * 40 + "b"
    assert main(["attention", str(folder), text]) == 2
    check_sentence(capsys.readouterr().err.strip().splitlines()[-1])
    run = run_here(Store(tmp_path / "home"), AttentionQuery(str(folder), text=text))
    assert run.state == FAILED
    check_sentence(run.message)


# memory


def test_a_model_that_cannot_fit_is_refused_with_the_sizes_before_it_is_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = 4 * sum(one.numel() for one in load_file(folder / "model.safetensors").values())
    monkeypatch.setattr(checks, "free_memory", lambda _: {"this machine": needed - 1})
    told: list[str] = []
    with pytest.raises(ValueError, match="the weights need 0 MB and this machine has 0 MB free; take a smaller model"):
        load(folder, progress=told.append)
    assert "reading the weights" not in told
    monkeypatch.setattr(checks, "free_memory", lambda _: {"this machine": needed})
    load(folder)
    monkeypatch.setattr(checks, "free_memory", lambda _: {"this machine": needed - 1})
    load(folder, dtype="bfloat16")  # half of it


def test_sizes_are_told_in_units_that_people_use() -> None:
    with pytest.raises(ValueError, match=r"the weights need 1048576\.0 GB and this machine has \d+\.\d GB free"):
        check_room(2**50, pick_device("cpu"))


def test_free_memory_is_that_of_the_machine_the_container_and_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "CGROUP", tmp_path)
    machine = free_memory(torch.device("cpu"))["this machine"]
    assert 0 < machine <= psutil.virtual_memory().total
    for name, text in (("memory.max", "5000\n"), ("memory.current", "3000\n"), ("memory.stat", "inactive_file 700\n")):
        (tmp_path / name).write_text(text)
    assert free_memory(torch.device("cpu")) == {"this machine": 2700}
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(torch.device("cpu"))["this machine"] > 2700
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (77, 100))
    assert free_memory(torch.device("cuda:0"))["cuda:0"] == 77


def test_a_load_that_runs_out_of_memory_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.\nx"
        )

    monkeypatch.setattr("transformers.PreTrainedModel.from_pretrained", fail)
    assert "not enough memory for" in refused(folder)


# both faces


def test_a_bad_folder_is_one_sentence_in_the_shell_and_in_a_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(folder, num_hidden_layers=10**6)
    assert main(["heads", str(folder)]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "num_hidden_layers is 1000000" in told
    check_sentence(told)
    run = run_here(Store(tmp_path / "home"), FactsQuery(str(folder)))
    assert run.state == FAILED
    assert "num_hidden_layers is 1000000" in run.message
    check_sentence(run.message)
