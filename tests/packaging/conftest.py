"""The project, built and installed as a stranger would have it: one environment for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, which finds what the wheel needs in that of the tests."""

    wheel: Path
    bin: Path
    packages: Path

    def run(self, *words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """What a program of this environment says."""
        command = [str(self.bin / words[0]), *words[1:]]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {"HF_HUB_OFFLINE": "1", "HEADSCOPE_HOME": str(cwd / "home"), **variables}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def build(source: Path, folder: Path, what: str = "wheel") -> Path:
    """The wheel or the sdist of a source tree, without a network."""
    folder.mkdir(parents=True, exist_ok=True)
    code = f"import setuptools.build_meta as b; print(b.build_{what}({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


def files(wheel: Path) -> set[str]:
    """The files of a wheel, those that tell about it left out."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def checkout(folder: Path, links: str = "true") -> Path:
    """What git knows or would add, as a fresh clone has it; without links they are small files."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if name.startswith(("tests/", "docs/")) or not os.path.lexists(ROOT / name):
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not (ROOT / name).is_symlink():
            target.write_bytes((ROOT / name).read_bytes())
        elif links == "true":
            target.symlink_to((ROOT / name).readlink())
        else:
            target.write_text(str((ROOT / name).readlink()))
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(checkout(tmp_path_factory.mktemp("clone")), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A new environment with the wheel."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, symlinks=True)
    paths = sysconfig.get_paths(vars={"base": str(place), "platbase": str(place)})
    packages = Path(paths["purelib"])
    (packages / "shared.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    command = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--no-deps"]
    subprocess.run([*command, "--no-index", "--quiet", str(wheel)], check=True)
    return Installed(wheel, Path(paths["scripts"]), packages)
