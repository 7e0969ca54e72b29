"""What the tests of a report in a browser have in common."""

from typing import TYPE_CHECKING

from tests.browser import Watched

if TYPE_CHECKING:
    from playwright.sync_api import Page


def ready(watched: Watched) -> "Page":
    """The page, once its queries can be looked at."""
    watched.page.wait_for_selector("#browser[data-ready]")
    return watched.page


def open_query(page: "Page", place: int) -> None:
    """Open the query at a place of the list."""
    page.locator("#list button").nth(place).click()
    page.wait_for_selector(".detail-bar")
