"""Pages in a real browser: Debian's chromium, driven by playwright; skipped without either.

``pytest_plugins`` names this module in ``tests/conftest.py``, so every test can ask for
``browser`` (one for the module) and ``open_page`` (a file -> a page that has to stay quiet).
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = Path(os.environ.get("TARGET_BENCH_CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@dataclass
class Watched:
    """A page, and what it did that it should not.

    Attributes:
        page: playwright's.
        complaints: console errors and warnings, and exceptions nobody caught.
        requests: addresses asked for that are not among the page's own files.
    """

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Assert that there was no complaint and that no request left the page."""
        assert self.complaints == []
        assert self.requests == []


OpenPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A headless chromium for a module: playwright's event loop bears no other beside it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no chromium at {CHROMIUM} ($TARGET_BENCH_CHROMIUM names another)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[OpenPage]:
    """Opens ``open_page(file, root=None, viewport=WIDE, **of_context)``; checked at the test's end.

    ``root`` is the folder of files the page may load (default: itself alone); ``of_context`` are
    playwright's, as in ``color_scheme="dark"``.
    """
    contexts: list[BrowserContext] = []
    pages: list[Watched] = []

    def opened(
        file: Path, root: Path | None = None, viewport: dict[str, int] = WIDE, **of_context: Any
    ) -> Watched:
        of_context.setdefault("permissions", ["clipboard-read", "clipboard-write"])
        context = browser.new_context(viewport=viewport, **of_context)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(30_000)  # a busy machine needs more than 10 s
        watched = Watched(context.new_page())
        pages.append(watched)
        _listen(watched, (root or file).resolve())
        watched.page.goto(file.resolve().as_uri())
        return watched

    yield opened
    for watched in pages:
        watched.page.close()
    for context in contexts:
        context.close()
    for watched in pages:
        watched.check()


def _listen(watched: Watched, allowed: Path) -> None:
    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            watched.complaints.append(f"{message.type}: {message.text}")

    def asked(request: Any) -> None:
        address = str(request.url).split("#")[0].split("?")[0]
        own = address == allowed.as_uri() or address.startswith(f"{allowed.as_uri()}/")
        if not own and not address.startswith(("data:", "blob:")):
            watched.requests.append(address)

    def answered(dialog: Any) -> None:
        watched.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    watched.page.on("console", said)
    watched.page.on("pageerror", lambda error: watched.complaints.append(f"exception: {error}"))
    watched.page.on("request", asked)
    watched.page.on("dialog", answered)
