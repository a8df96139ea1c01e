"""What a shell, a disk or somebody else's folder may hand to a command: one sentence each, and no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from headscope.cli import main as cli
from headscope.models.loading.known_models import specimen_folder
from headscope.pruning.export.exporter import export
from headscope.pruning.fiak.layers import prior_layers
from headscope.pruning.fiak.model_folder import save_without_scores
from headscope.pruning.fiak.pruned_attention import without_scores
from headscope.pruning.fiak.selection import KeptLayer
from tests import fresh
from tests.families import family, masks

ROOT = Path(cli.__file__).parents[2]
DEEP = "[" * 100_000


def said_in_a_shell(line: str, **settings: str) -> str:
    """What a line of a shell says when it is refused."""
    run = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m headscope {line}"],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (2, ""), run
    assert run.stderr.startswith("headscope: ")
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr


def said_without_checks(*words: str) -> str:
    """What a command says that is refused, in a process of its own, where no annotation is checked."""
    run = fresh.run("headscope", *words, cwd=ROOT)
    assert (run.returncode, run.stdout) == (2, ""), run
    assert run.stderr.startswith("headscope: ")
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr


@pytest.mark.parametrize("line", ["attention reader $'a\\xffb'", "heads $'\\xff'", "sweep reader --task $'\\xff'"])
def test_an_argument_that_is_no_text_is_refused(line: str) -> None:
    assert "is not text in UTF-8" in said_in_a_shell(line)


def test_an_answer_that_cannot_be_written_is_told() -> None:
    assert "could not be written: No space left" in said_in_a_shell("specimens >/dev/full")


def test_a_password_from_nowhere_is_refused() -> None:
    assert "standard input is closed" in said_in_a_shell("password ada <&-")


def test_the_home_of_a_user_who_is_not_there_is_refused() -> None:
    assert "'~nobody-at-all/x'; allowed is a folder" in said_in_a_shell("runs", HEADSCOPE_HOME="~nobody-at-all/x")


@pytest.mark.parametrize("given", [str(10**30), str(2**32), "0" * 30 + str(10**30), "-1", "x", "", "9" * 10_000])
def test_a_seed_that_is_none_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["learn", "reader", f"--seed={given}"])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "is no seed; allowed are whole numbers from 0 to 4294967295" in said
    assert said.count("\n") == 1


COMMANDS = next(action.choices for action in cli._parser()._actions if isinstance(action.choices, dict))
NUMBERS = [
    (command, action.option_strings[0])
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if action.option_strings and action.type in (int, float)
]


@pytest.mark.parametrize(("command", "option"), NUMBERS)
def test_every_number_of_every_command_has_bounds(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in (str(2**31), str(10**30), "9" * 10_000, "1e400", "nan", "inf", "x", ""):
        with pytest.raises(SystemExit):
            cli.main([command, "reader", f"{option}={given}"])
        said = capsys.readouterr().err
        assert f"argument {option}: " in said and "is not allowed; allowed are " in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    "line", ["evaluate reader --mask=--", "importance reader --method=--", "learn reader --keep=--"]
)
def test_two_dashes_are_no_value(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(line.split())
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (2, 1)
    assert "'--' is no value" in said


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("roles reader --n 1000000", "at most 100000 are read"),
        ("sweep reader --seeds 4000", "at most 1000 are allowed"),
    ],
)
def test_what_would_never_end_is_refused(line: str, sentence: str, refused: Callable[..., str]) -> None:
    assert sentence in refused(*line.split())


@pytest.fixture
def strange_reader(tmp_path: Path) -> Path:
    return Path(shutil.copytree(specimen_folder("reader"), tmp_path / "reader"))


@pytest.mark.parametrize("asked", ["attention", "evaluate", "importance"])
def test_a_tokenizer_of_a_larger_model_is_refused(
    asked: str, strange_reader: Path, refused: Callable[..., str]
) -> None:
    path = strange_reader / "tokenizer.json"
    told = json.loads(path.read_text())
    vocabulary = told["model"]["vocab"]
    told["model"]["vocab"] = {word: number + 10_000 for word, number in vocabulary.items()}
    path.write_text(json.dumps(told))
    text = ["The old key is here."] if asked == "attention" else []
    said = refused(asked, str(strange_reader), *text)
    assert f"and the model knows {len(vocabulary)}" in said
    assert "it needs the tokenizer that it was trained with" in said


def test_a_tokenizer_that_hands_texts_on_is_none(strange_reader: Path, refused: Callable[..., str]) -> None:
    path = strange_reader / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tokenizer_class": "RagTokenizer"}))
    for part in ("question_encoder_tokenizer", "generator_tokenizer"):
        shutil.copytree(specimen_folder("reader"), strange_reader / part)
    assert "has no tokenizer" in refused("attention", str(strange_reader), "The old key is here.")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "bert"
    export(family("bert"), masks(family("bert").grid)["random"], folder, "onnx")
    return folder


@pytest.mark.parametrize(
    "record", ['{"format": "onnx", "proof": {"parameters_dense": Infinity}}', DEEP, f'{{"format": {DEEP}']
)
def test_a_record_of_hostile_numbers_or_depth_is_refused(
    record: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    (tmp_path / "headscope.json").write_text(record)
    assert "no readable headscope.json" in refused("verify", str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff" * 1000, b"\x08\x07"])
def test_a_file_that_is_no_onnx_is_refused(
    content: bytes, exported: Path, tmp_path: Path, refused: Callable[..., str]
) -> None:
    folder = Path(shutil.copytree(exported, tmp_path / "copy"))
    (folder / "model.onnx").write_bytes(content)
    assert "is no ONNX model that runs here" in refused("verify", str(folder))


@pytest.fixture
def fiak(tmp_path: Path) -> Path:
    """The folder of a model whose scores were pruned."""
    model = family("vit")
    layers = prior_layers(model)
    kept = {}
    for layer in layers:
        keys = torch.ones(len(layer.heads), layer.length, dtype=torch.bool)
        keys[:, ::2] = False
        kept[layer.name] = KeptLayer.of_keys(keys, layer.visible())
    save_without_scores(without_scores(model, layers, kept), layers, kept, "dot", tmp_path / "fiak")
    return tmp_path / "fiak"


def rewritten(
    folder: Path, about: Callable[[dict[str, str]], None], tensors: Callable[[dict[str, torch.Tensor]], None]
) -> None:
    """Changes what is told of the kept scores, or the scores themselves."""
    path = folder / "fiak.safetensors"
    with safe_open(path, framework="pt") as file:
        told, held = dict(file.metadata()), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    about(told)
    tensors(held)
    save_file(held, path, told)


def other_layer(**values: object) -> Callable[[dict[str, str]], None]:
    def change(about: dict[str, str]) -> None:
        first, *rest = json.loads(about["layers"])
        about["layers"] = json.dumps([first | values, *rest])

    return change


TOLD = {
    "layers too deep": lambda about: about.update(layers=DEEP),
    "no layers": lambda about: about.update(layers="[]"),
    "no form": lambda about: about.pop("form"),
    "a form that nobody knows": lambda about: about.update(form="cubic"),
    "another module": other_layer(core="nothing.there"),
    "more heads": other_layer(heads=[0, 1, 2, 3, 4, 5, 6, 7]),
    "a longer text": other_layer(length=10**9),
}


@pytest.mark.parametrize("fault", TOLD)
def test_what_is_told_of_kept_scores_is_checked(fault: str, fiak: Path, refused: Callable[..., str]) -> None:
    rewritten(fiak, TOLD[fault], lambda _: None)
    said = refused("heads", str(fiak))
    assert any(part in said for part in ("is broken or was not", "is not of the model beside it", "no form 'cubic'"))


@pytest.mark.parametrize("values", [{"heads": "all"}, {"core": {"a": 1}}, {"length": "long"}])
def test_a_layer_of_other_kinds_of_values_is_refused(values: dict[str, object], fiak: Path) -> None:
    """In a process of its own, for here every value is checked by its annotation, and there none is."""
    rewritten(fiak, other_layer(**values), lambda _: None)
    said = said_without_checks("heads", str(fiak))
    assert any(part in said for part in ("is broken or was not", "is not of the model beside it"))


HELD = {
    "numbers": lambda one: one.float(),
    "other sizes": lambda one: one[..., :-1].contiguous(),
    "fewer heads": lambda one: one[:-1].contiguous(),
}


@pytest.mark.parametrize(
    ("fault", "part"),
    [("numbers", "keys"), ("other sizes", "keys"), ("other sizes", "scores"), ("fewer heads", "scores")],
)
def test_kept_scores_of_another_size_or_kind_are_refused(fault: str, part: str, fiak: Path) -> None:
    """In a process of its own, too."""

    def change(tensors: dict[str, torch.Tensor]) -> None:
        name = next(name for name in tensors if name.endswith(part))
        tensors[name] = HELD[fault](tensors[name])

    rewritten(fiak, lambda _: None, change)
    assert "is broken or was not written by this program" in said_without_checks("heads", str(fiak))
