"""Finds a browser for the tests, or installs one: from the PATH, then Playwright's own, then apt, then a download."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first is the same browser without windows: it takes less of the processor."""

PACKAGES = ("chromium-headless-shell", "chromium")
"""Of Debian; other systems that have apt may know the second alone."""

MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def chromium() -> str | None:
    """The path of an installed Chromium or Chrome that starts, or None; some systems ship a stub that does not."""
    found = [path for path in (*map(shutil.which, NAMES), shutil.which(MAC_CHROME)) if path]
    return next((path for path in found if _runs([path, "--version"])), None)


def main() -> int:
    """Sees to it that there is a browser; 0 if there is."""
    browser = chromium() or _playwrights_own() or _from_apt() or _downloaded()
    if browser is None:
        print("no browser for the tests; install Chromium or Google Chrome and try again", file=sys.stderr)
        return 1
    print(f"browser for the tests: {browser}")
    return 0


def _playwrights_own() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _from_apt() -> str | None:
    root = _root()
    if root is None or shutil.which("apt-get") is None:
        return None
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    install = [*apt, "install", "--yes", "--no-install-recommends", "fonts-liberation"]
    installed = _loudly([*apt, "update"]) and any(_loudly([*install, package]) for package in PACKAGES)
    return chromium() if installed else None


def _downloaded() -> str | None:
    """Playwright's own Chromium, on Linux with the system libraries it needs where that is allowed."""
    libraries = ["--with-deps"] if platform.system() == "Linux" and _root() is not None else []
    _loudly([sys.executable, "-m", "playwright", "install", *libraries, "chromium"])
    return _playwrights_own()


def _root() -> list[str] | None:
    """What to write before a command that needs root; None if that is not to be had without a password."""
    if platform.system() != "Linux":
        return None
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if shutil.which("sudo") and _runs(["sudo", "-n", "true"]) else None


def _runs(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _loudly(command: list[str]) -> bool:
    print(" ".join(command), flush=True)
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
