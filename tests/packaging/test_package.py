"""Every way to install the project gives the one name `headscope`, and it works from any folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from headscope.cli.commands.app import variables_of
from tests.docs.blocks import blocks
from tests.packaging.conftest import ROOT, Installed, build, checkout, files

THEIRS = ("analysis", "pruning", "pages", "models", "tasks", "datasets", "runs", "specimens")
NAMES = """
import importlib, json, os, pkgutil, sys
for folder in ("analysis", "cli", "models", "pruning", "runs", "specimens", "tasks", "web"):
    package = importlib.import_module(f"headscope.{folder}")
    for found in pkgutil.walk_packages(package.__path__, f"headscope.{folder}."):
        if not found.name.startswith("headscope.web.app."):
            importlib.import_module(found.name)
files = [(name, os.path.realpath(one.__file__)) for name, one in sys.modules.items() if getattr(one, "__file__", None)]
print(json.dumps([(name, file) for name, file in files if file.startswith(sys.argv[1]) and os.path.isfile(file)]))
"""


ASKED = """
import json, os, signal
from headscope.runs.client import submit, wait
from headscope.runs.execution.workers import running_workers
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.store import Store
store = Store()
run = wait(store, submit(store, MethodsQuery("", code_mark())), 200.0)
for worker in running_workers(store).values():
    os.kill(worker.pid, signal.SIGKILL)
print(json.dumps([one["key"] for one in run.result["methods"]]))
"""
"""Asks a worker, as the pages do."""


@pytest.fixture
def folder_of_a_user(tmp_path: Path) -> Path:
    """A folder whose files have the names of our folders and of a library; importing one ends Python."""
    for name in THEIRS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the user was imported')\n")
    return tmp_path


def test_the_wheel_has_one_name_and_all_data(wheel: Path) -> None:
    names = files(wheel)
    assert {name.partition("/")[0] for name in names} == {"headscope"}
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = [name for name in tracked.split("\0") if name.startswith(("headscope/", "analysis/", "pruning/", "pages/"))]
    expected = {name if name.startswith("headscope/") else f"headscope/{name}" for name in ours if "/." not in name}
    links = {"headscope/analysis", "headscope/pruning", "headscope/pages"}
    assert names == (expected - links) | {"headscope/settings/config.toml"}


def test_a_wheel_from_the_sdist_and_one_from_a_checkout_without_links_are_the_same(wheel: Path, tmp_path: Path) -> None:
    plain = checkout(tmp_path / "plain", links="false")
    assert (plain / "headscope" / "analysis").read_text() == "../analysis"
    sdist = build(plain, tmp_path, "sdist")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert files(build(source, tmp_path / "again")) == files(wheel)
    assert files(build(plain, tmp_path / "other")) == files(wheel)


def test_an_editable_install_has_one_name(tmp_path: Path) -> None:
    made = build(checkout(tmp_path / "clone"), tmp_path / "made", "editable")
    tops = {name.partition("/")[0].partition(".")[0] for name in files(made)}
    assert {name for name in tops if not name.startswith("__editable__")} <= {"headscope"}


@pytest.mark.parametrize("links", ["true", "false"])
def test_every_module_of_a_checkout_has_one_name(links: str, tmp_path: Path) -> None:
    place = checkout(tmp_path / "clone", links)
    command = [sys.executable, "-c", NAMES, str(place)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 300
    assert len({file for _, file in found}) == len(found)
    assert {name for name, _ in found if not name.startswith("headscope")} == set()


def test_commands_run_in_a_folder_that_has_files_of_the_same_names(
    installed: Installed, folder_of_a_user: Path
) -> None:
    words = ["importance", "looker", "--method", "gradient", "--n", "32", "--json"]
    done = installed.run("headscope", *words, cwd=folder_of_a_user)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["scores"]) == 36
    again = installed.run("python", "-m", "headscope", "runs", "--json", cwd=folder_of_a_user)
    assert [run["state"] for run in json.loads(again.stdout)["runs"]] == ["done"], again.stderr


def test_a_method_of_another_package_is_known_to_commands_and_to_workers(installed: Installed, tmp_path: Path) -> None:
    (installed.packages / "my_heads.py").write_text(blocks("adding-a-method.md", "python")[0])
    about = installed.packages / "my_heads-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-heads\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[headscope.importance_method]\nrelative = my_heads\n")
    try:
        words = ["importance", "looker", "--method", "relative", "--n", "16", "--json"]
        scored = installed.run("headscope", *words, cwd=tmp_path)
        assert len(json.loads(scored.stdout)["scores"]) == 36, scored.stderr
        answered = installed.run("python", "-c", ASKED, cwd=tmp_path)
        assert "relative" in json.loads(answered.stdout), answered.stderr
        (installed.packages / "my_heads.py").write_text("import no_such_library\n")
        broken = installed.run("headscope", "methods", cwd=tmp_path)
        assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)
        assert "my-heads offers my_heads to headscope, which cannot be imported: No module named" in broken.stderr
    finally:
        shutil.rmtree(about)
        (installed.packages / "my_heads.py").unlink()


def test_importing_the_package_takes_at_most_half_a_second(installed: Installed, tmp_path: Path) -> None:
    code = (
        "import sys, time; t = time.process_time(); import headscope; print(time.process_time() - t, len(sys.modules))"
    )
    done = installed.run("python", "-c", code, cwd=tmp_path)
    assert float(done.stdout.split()[0]) < 0.5
    lazy = installed.run("python", "-c", "import sys, headscope; print('torch' in sys.modules)", cwd=tmp_path)
    assert lazy.stdout == "False\n"


def test_the_app_opens_with_its_settings_and_a_worker(installed: Installed, folder_of_a_user: Path) -> None:
    home = folder_of_a_user / "home"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HEADSCOPE_HOME": str(home), "STREAMLIT_SERVER_HEADLESS": "true", "HF_HUB_OFFLINE": "1"}
    command = [str(installed.bin / "headscope"), "app", "--port", "8797"]
    with (folder_of_a_user / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder_of_a_user, env=environment, stdout=log, stderr=log)
    try:
        assert until_it_answers("http://127.0.0.1:8797/_stcore/health") == "ok", (folder_of_a_user / "log").read_text()
        assert "<div" in read("http://127.0.0.1:8797/importance")
        with pytest.raises(urllib.error.HTTPError) as refused:  # only names on the list: allowedHosts is in force
            read("http://127.0.0.1:8797/", Host="elsewhere.example")
        refused.value.close()
        assert refused.value.code in (400, 403, 421)
        workers = json.loads((home / "workers.json").read_text())
        assert list(workers) == ["interactive-0"]
        os.kill(int(workers["interactive-0"].split()[0]), signal.SIGKILL)
    finally:
        server.terminate()
        server.wait(timeout=20)
    assert "of the user was imported" not in "".join(one.read_text() for one in home.glob("*.log"))


def until_it_answers(address: str) -> str:
    """The answer, as soon as there is one."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            return read(address)
        except OSError:
            time.sleep(0.2)
    return ""


def read(address: str, **headers: str) -> str:
    """The body of an answer."""
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
        return str(answer.read().decode())


def test_streamlit_takes_every_setting_from_variables(tmp_path: Path) -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    code = (
        "import json, sys; from streamlit.web.cli import main; from streamlit import config; "
        "main(['config', 'show'], standalone_mode=False); "
        "print('SHOWN', json.dumps({key: config.get_option(key) for key in json.loads(sys.argv[1])}))"
    )
    wanted = dict(flat(settings, ""))
    variables = os.environ | variables_of(settings) | {"HOME": str(tmp_path)}
    command = [sys.executable, "-P", "-c", code, json.dumps(list(wanted))]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout.rpartition("SHOWN ")[2])
    assert {
        key: json.loads(value) if isinstance(value, str) and value != wanted[key] else value
        for key, value in shown.items()
    } == wanted


def flat(settings: dict[str, object], above: str) -> list[tuple[str, object]]:
    """Settings by their whole names."""
    found: list[tuple[str, object]] = []
    for name, value in settings.items():
        found += flat(value, f"{above}{name}.") if isinstance(value, dict) else [(f"{above}{name}", value)]
    return found


@pytest.mark.parametrize(
    ("missing", "words", "sentence"),
    [
        (
            ["onnx"],
            ["prune", "looker", "--heads", "encoder.0.1", "--format", "onnx", "--out", "out"],
            "headscope[onnx]",
        ),
        (["bertviz"], ["attention", "looker", "--image", "0", "--html", "x.html"], "headscope[app]"),
        (["streamlit"], ["app"], "headscope[app]"),
    ],
)
def test_a_command_without_its_extra_names_the_extra(
    missing: list[str], words: list[str], sentence: str, tmp_path: Path
) -> None:
    code = f"""
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {missing!r} else super().find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Without
from headscope.cli.main import main
sys.exit(main({words!r}))
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HEADSCOPE_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
