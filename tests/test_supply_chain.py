"""What is installed is written down, and the container and the tools keep to it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import audit, licences, lock, resolved
from tools.lock import LOCK, hashes_name, write
from tools.resolved import UNKNOWN, licence_of, lists, named, packages_of

ROOT = Path(__file__).parents[1]
FILES = lists()
OF_A_GPU = re.compile(r"nvidia-|cuda-|triton$")
"""What torch needs beside it where it is built for NVIDIA's cards, at versions that it pins itself."""


def locked() -> dict[str, str]:
    return dict(audit.locked(ROOT / LOCK))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_lock_has_every_requirement_at_its_version(path: Path) -> None:
    wanted = {one.name.lower().replace("_", "-"): str(one.specifier).removeprefix("==") for one in named(path)}
    assert wanted
    assert {name: locked().get(name) for name in wanted} == wanted


def test_what_is_installed_is_what_the_lock_says_and_so_is_all_that_it_needs() -> None:
    installed = {canonicalize_name(one.metadata["Name"]): one for one in distributions()}
    here = {name: installed[name] for name in locked() if name in installed}
    assert len(here) > 100
    versions = {name: one.version.partition("+")[0] for name, one in here.items()}
    assert {name: version for name, version in versions.items() if locked()[name] != version} == {}
    needed = [Requirement(text) for one in here.values() for text in one.requires or ()]
    names = {canonicalize_name(one.name) for one in needed if not one.marker or one.marker.evaluate({"extra": ""})}
    assert {name for name in names - locked().keys() if not OF_A_GPU.match(name)} == set()


def test_only_what_torch_brings_for_a_gpu_is_left_to_torch() -> None:
    assert OF_A_GPU.match("nvidia-cublas-cu12") and OF_A_GPU.match("cuda-bindings") and OF_A_GPU.match("triton")
    assert not any(OF_A_GPU.match(name) for name in locked())


def test_the_lock_is_exact_sorted_and_names_no_build_of_one_machine() -> None:
    lines = [line for line in (ROOT / LOCK).read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(set(names))


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*-hashes.lock")), ids=lambda path: path.name)
def test_hashes_are_of_locked_versions(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    found = [re.fullmatch(r"([a-z0-9-]+)==([0-9][0-9a-z.]*) --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert found
    assert all(one and locked()[one[1]] == one[2] for one in found)


def record(name: str, file: str, *needs: str, **about: Any) -> dict[str, Any]:
    """A package as pip reports it."""
    download = {"url": f"https://example.org/{file}", "archive_info": {"hashes": {"sha256": "ab" * 32}}}
    return {"metadata": {"name": name, "requires_dist": list(needs), **about}, "download_info": download}


REPORT = {
    "install": [
        record("App", "app-1.0-py3-none-any.whl", "pure_python", "extra; extra == 'more'", version="1.0"),
        record("Pure_Python", "pure_python-2.0-py2.py3-none-any.whl", "built[fast]>=3", "app", version="2.0"),
        record("built", "built-3.0+cpu-cp311-cp311-linux_x86_64.whl", "fast; extra == 'fast'", version="3.0+cpu"),
        record("fast", "fast-4.0.tar.gz", "never; sys_platform == 'nowhere'", version="4.0"),
        record("tester", "tester-5.0-py3-none-any.whl", "pure_python", version="5.0"),
    ]
}


def test_packages_are_told_with_what_brings_them_and_a_hash_where_one_file_serves_every_platform(
    tmp_path: Path,
) -> None:
    wanted = {"requirements.txt": [Requirement("app==1.0")], "requirements/dev.txt": [Requirement("tester==5.0")]}
    packages = packages_of(REPORT, wanted)
    assert [(one.name, one.version, one.listed) for one in packages] == [
        ("app", "1.0", "requirements.txt"), ("built", "3.0", "requirements.txt"), ("fast", "4.0", "requirements.txt"),
        ("pure-python", "2.0", "requirements.txt"), ("tester", "5.0", "requirements/dev.txt"),
    ]  # fmt: skip
    assert [one.name for one in packages if one.sha256] == ["app", "pure-python", "tester"]
    (tmp_path / "requirements").mkdir()
    write(tmp_path, packages)
    assert audit.locked(tmp_path / LOCK) == [(one.name, one.version) for one in packages]
    hashed = (tmp_path / "requirements/app-hashes.lock").read_text()
    assert (f"pure-python==2.0 --hash=sha256:{'ab' * 32}\n" in hashed, "tester" in hashed) == (True, False)
    assert (ROOT / hashes_name("requirements.txt")).exists()
    assert "tester==5.0 --hash" in (tmp_path / "requirements/dev-hashes.lock").read_text()


@pytest.mark.parametrize(
    ("about", "licence"),
    [
        ({"license_expression": "MIT AND PSF-2.0", "license": "other"}, "MIT AND PSF-2.0"),
        (
            {"classifier": ["License :: OSI Approved", "License :: OSI Approved :: BSD License", "X :: Y"]},
            "BSD License",
        ),
        ({"license": "\n  Apache | 2.0 \n\nmore"}, "Apache / 2.0"),
        ({}, UNKNOWN),
    ],
)
def test_the_licence_is_what_the_package_states(about: dict[str, Any], licence: str) -> None:
    assert licence_of(about) == licence


def test_every_install_keeps_to_the_lock() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert installs
    assert all("-c requirements/all.lock" in line for line in installs)


def test_the_licences_list_what_is_locked() -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines() if row.startswith("| ")][1:]
    assert {row[0]: row[1] for row in rows} == locked()
    assert all(row[2] for row in rows)
    assert [row[0] for row in rows if row[2] == UNKNOWN] == [], "somebody must look"


class _Database(BaseHTTPRequestHandler):
    asked: list[Any]
    answer: bytes

    def do_POST(self) -> None:
        type(self).asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Database]]:
    class Database(_Database):
        asked: list[Any] = []  # noqa: RUF012
        answer = b"{}"

    (tmp_path / LOCK).parent.mkdir()
    (tmp_path / LOCK).write_text("# made\ngood==1.0\nbad==2.0\n")
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    with HTTPServer(("127.0.0.1", 0), Database) as server:
        monkeypatch.setattr(audit, "DATABASE", f"http://127.0.0.1:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield Database
        server.shutdown()
        thread.join()


def test_the_audit_tells_known_vulnerabilities(database: type[_Database], capsys: pytest.CaptureFixture[str]) -> None:
    database.answer = json.dumps({"results": [{}, {"vulns": [{"id": "GHSA-1"}, {"id": "PYSEC-2"}]}]}).encode()
    assert audit.main() == 1
    assert "bad 2.0: https://osv.dev/vulnerability/GHSA-1, " in capsys.readouterr().out
    assert database.asked[0]["queries"][0] == {"package": {"name": "good", "ecosystem": "PyPI"}, "version": "1.0"}
    database.answer = json.dumps({"results": [{}, {}]}).encode()
    assert audit.main() == 0


@pytest.mark.parametrize("answer", [b"not json", b"[]", b"{}", b'{"results": [{}]}', b'{"results": null}'])
def test_an_answer_that_does_not_fit_is_no_clean_bill(
    database: type[_Database], answer: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    database.answer = answer
    assert audit.main() == 2
    assert capsys.readouterr().err.startswith("audit: nothing was checked")


def test_an_audit_that_reaches_nobody_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "DATABASE", "http://127.0.0.1:9/")
    assert audit.main() == 2
    assert re.fullmatch(r"audit: nothing was checked, the database .* was not reached: .*\n", capsys.readouterr().err)


@pytest.mark.parametrize("tool", [lock, licences])
def test_lists_that_pip_cannot_resolve_are_one_sentence(
    tool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "requirements.txt").write_text("no such line\n")
    monkeypatch.setattr(resolved, "lists", lambda: [tmp_path / "requirements.txt"])
    assert tool.main() == 2
    assert re.fullmatch(r"\w+: pip cannot resolve the lists of requirements, .*\n", capsys.readouterr().err)


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def test_the_container_runs_without_rights_and_has_a_health_check() -> None:
    last = dockerfile().rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001$", last, re.MULTILINE)
    assert last.index("\nUSER ") < last.index("\nCMD ")
    assert "\nUSER" not in last.partition("\nUSER ")[2]
    assert "--uid 10001" in last
    assert re.search(r"^HEALTHCHECK .*\\\n  CMD .*/_stcore/health", last, re.MULTILINE)
    assert "VOLUME /data" in last
    assert "HEADSCOPE_HOME=/data" in last
    assert "--chown" not in last, "the code belongs to root"
    assert '["python", "-m", "headscope", "app"]' in last
    assert "STREAMLIT_BROWSER_SERVER_ADDRESS=localhost" in last, "else Streamlit asks a foreign server for its address"


def test_the_container_takes_files_that_are_there_and_no_secret() -> None:
    copied = [
        one for line in dockerfile().splitlines() if line.startswith("COPY") and "--from" not in line
        for one in line.split()[1:-1]
    ]  # fmt: skip
    assert copied
    assert all(any(ROOT.glob(one)) for one in copied if one != ".")
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert ignored[0] == "*", "what is not named stays out, such as the key of a certificate"
    named_here = {line[1:] for line in ignored if line.startswith("!")}
    packages = {"headscope", "analysis", "pruning", "pages"}
    assert {one for one in named_here if (ROOT / one).is_dir()} == {*packages, "requirements", ".streamlit"}
    assert {"app.py", "setup.py", "pyproject.toml", "requirements.txt"} <= named_here
    assert ignored.index(".streamlit/secrets.toml") > ignored.index("!.streamlit"), "the last that fits counts"
    assert ".streamlit/secrets.toml" in (ROOT / ".gitignore").read_text()


def test_the_container_installs_hashes_first_and_then_by_the_lock() -> None:
    hashed, rest = re.findall(r"pip install (?:[^&\\]|\\\n)*", dockerfile())
    assert re.search(r"--require-hashes \\\n +-r requirements/app-hashes.lock -r requirements/oidc-hashes.lock", hashed)
    assert "-r requirements/oidc.txt -c requirements/all.lock" in rest
    assert [one.name for one in named(ROOT / "requirements/oidc.txt")] == ["Authlib"]
    assert "-r ../requirements.txt\n" in (ROOT / "requirements/oidc.txt").read_text()
