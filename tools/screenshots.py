"""Takes the pictures in docs/images from the running app."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.app_server import BROWSER_FLAGS, ROOT, running_app
from tools.browser import chromium

IMAGES = ROOT / "docs" / "images"
PICTURES = {"model": ("/", "light"), "model-dark": ("/", "dark")}


def main() -> int:
    """Writes every picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    log = Path(tempfile.mkdtemp()) / "app.log"
    with running_app(log) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        for name, (path, scheme) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(address + path)
            page.wait_for_selector(".hl-legend", timeout=120_000)
            page.wait_for_function("document.querySelectorAll('[data-testid=stSkeleton]').length === 0")
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
