"""HTML parsed with a stated parser, within a stated depth."""

from functools import lru_cache
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.tables.official_sides import HTML_PARSER, UnreadableTableError

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

DEEPEST = 64
"""Levels of nested tags above which HTML is not read."""

_PARSERS = (HTML_PARSER, "lxml")


@lru_cache(maxsize=256)
def parsed(text: str, parser: str = HTML_PARSER) -> "BeautifulSoup":
    """Parse HTML, however broken it is.

    Raises:
        UnreadableTableError: tags are nested more than ``DEEPEST`` levels deep.
        ConfigError: the parser is not one of html.parser and lxml, or is not installed.
    """
    from bs4 import BeautifulSoup, FeatureNotFound
    from bs4.exceptions import ParserRejectedMarkup

    if parser not in _PARSERS:
        raise ConfigError(f"html_parser={parser!r}: expected one of {', '.join(_PARSERS)}")
    try:
        with catch_warnings():
            simplefilter("ignore")  # text that looks like a file name or like XML is HTML here
            soup = BeautifulSoup(_without_open_ends(text), parser)
    except FeatureNotFound as error:
        raise MissingExtraError("lxml", "lxml", "html_parser=lxml") from error
    except (ParserRejectedMarkup, RecursionError) as error:
        raise UnreadableTableError("syntax", f"{parser} cannot parse it: {error}") from error
    _check_depth(soup)
    return soup


def _without_open_ends(text: str) -> str:
    """Escape what cannot be a tag or comment without an end: parsers look for one each time."""
    for opening, end in (("<!--", "-->"), ("<", ">")):
        place = text.rfind(end) + 1
        text = text[:place] + text[place:].replace(opening, f"&lt;{opening[1:]}")
    return text


def _check_depth(soup: "BeautifulSoup") -> None:
    depths = {id(soup): 0}
    for tag in soup.find_all(True):
        depth = depths[id(tag.parent)] + 1
        depths[id(tag)] = depth
        if depth > DEEPEST:
            raise UnreadableTableError("too_deep", f"tags nested more than {DEEPEST} levels deep")
