"""What the tests of a report in a browser have in common."""

from typing import TYPE_CHECKING

from tests.browser import Watched

if TYPE_CHECKING:
    from playwright.sync_api import Page


def ready(watched: Watched) -> "Page":
    """The page, once its queries can be looked at."""
    watched.page.wait_for_selector("#browser[data-ready]")
    return watched.page


def in_order_of_the_split(page: "Page") -> "Page":
    """The page, with its queries in the order of the split and one run alone."""
    page.select_option("#order", "")
    page.select_option("#run-b", "")
    page.wait_for_function("() => document.getElementById('duel').hidden")
    return page


def open_query(page: "Page", place: int) -> None:
    """Open the query at a place of the list."""
    page.locator("#list button").nth(place).click()
    page.wait_for_selector(".detail-bar")
