"""The support of a text by a table and of a table by a text, fact by fact, without a reference."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, repeat

from target_bench.tables.faithfulness.facts import Known, cell_facts, facts, known

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact or a cell of one side.

    Attributes:
        text: as it is written.
        supported: whether the other side says it.
        place: of a cell, the headers that say what it is; empty for a fact.
    """

    text: str
    supported: bool
    place: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """An answer and its source, each by the other.

    Attributes:
        claims: what the answer says, and whether the source supports it.
        wanted: what the source says, and whether the answer has it.
        failed: whether there is no answer.
    """

    claims: tuple[Claim, ...] = ()
    wanted: tuple[Claim, ...] = ()
    failed: bool = False

    @property
    def precision(self) -> float | None:
        """The share of claims that are supported: 0 of no answer, None of one that claims nothing.

        An answer that claims nothing has a coverage of 0 instead.
        """
        return 0.0 if self.failed else _share(self.claims)

    @property
    def coverage(self) -> float | None:
        """The share of what is wanted that the answer has; None where nothing is."""
        if self.failed:
            return 0.0
        return _share(self.wanted)

    @property
    def doubted(self) -> list[Claim]:
        """The claims that are not supported."""
        return [claim for claim in self.claims if not claim.supported]

    def also(self, numbers: Container[int]) -> "Support":
        """Return it with more claims supported: those of ``doubted`` with these numbers, from 1."""
        number = count(1)
        claims = (
            c if c.supported else replace(c, supported=next(number) in numbers) for c in self.claims
        )
        return replace(self, claims=tuple(claims))


def _share(claims: Sequence[Claim]) -> float | None:
    return sum(one.supported for one in claims) / len(claims) if claims else None


def sentence_support(text: str | None, table: str, wanted: Iterable[str]) -> Support:
    """Compare a sentence with its table.

    Args:
        text: the sentence; None for one that failed.
        table: all that may be said, as text: cells and titles, in separate lines.
        wanted: the cells that the sentence should say.
    """
    if text is None:
        return Support(failed=True)
    return Support(fact_claims(text, known(table)), cell_claims(wanted, known(text)))


def table_support(tables: Iterable[Rows] | None, text: str, places: Sequence[str] = ()) -> Support:
    """Compare tables with the text that they were written from.

    Args:
        tables: the cells of each that stand for themselves, without names of columns; None for an
            answer in which no table can be read.
        text: the text.
        places: the headers of each of these cells, row by row; empty where they do not matter.
    """
    if tables is None:
        return Support(failed=True)
    cells = [cell for rows in tables for row in rows for cell in row]
    return Support(
        cell_claims(cells, known(text), places),
        fact_claims(text, known("\n".join(cells))),
    )


def fact_claims(text: str, source: Known) -> tuple[Claim, ...]:
    """Return the facts of a text, and whether a source supports each."""
    return tuple(Claim(fact.text, source.supports(fact)) for fact in facts(text))


def cell_claims(
    cells: Iterable[str], source: Known, places: Sequence[str] = ()
) -> tuple[Claim, ...]:
    """Return the cells that say something, and whether a source supports each.

    A cell is supported if the source states its numbers and dates, and has all its other words but
    function words. A cell of equal text counts as often as it stands there. ``places`` are the
    headers of each cell, if they matter.
    """
    found = []
    for cell, place in zip(cells, places or repeat(""), strict=False):
        numbers, others = cell_facts(cell)
        if numbers or others:
            supported = others <= source.words and all(map(source.supports, numbers))
            found.append(Claim(cell.strip(), supported, place))
    return tuple(found)
