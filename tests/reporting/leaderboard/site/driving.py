"""What the tests of the site in a browser have in common."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def ready(page: "Page") -> "Page":
    """The page, once its table is drawn."""
    page.wait_for_function("() => document.documentElement.dataset.ready === 'true'")
    return page


def copied(page: "Page", form: str, start: str) -> str:
    """What is on the clipboard after a copy, which begins so."""
    page.click(f"[data-copy-form={form}]")
    page.wait_for_function(
        "async start => (await navigator.clipboard.readText()).startsWith(start)", arg=start
    )
    return str(page.evaluate("navigator.clipboard.readText()"))
