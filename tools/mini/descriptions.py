"""Sentences about rows of the web tables, with the cells that they describe as placeholders."""

from __future__ import annotations

from dataclasses import dataclass

from .lookups import Answer
from .tables import Table

Record = dict[str, Answer | list[list[int]] | bool]


@dataclass(frozen=True, slots=True)
class Described:
    """Sentences that say the same of a row of a table.

    A column in braces stands for the cell of the row in it; the columns that occur in the first
    sentence are the highlighted cells.
    """

    table_id: str
    key: str
    sentences: tuple[str, ...]


def _all(table_id: str, keys: tuple[str, ...], *sentences: str) -> list[Described]:
    return [Described(table_id, key, sentences) for key in keys]


DESCRIBED = [
    *_all(
        "olympics-1992-medals",
        ("Unified Team", "Germany"),
        "{Nation} won {Gold} gold medals and {Total} medals in total at the 1992 Summer Olympics.",
        "At the 1992 Summer Olympics, {Nation} took {Gold} golds among {Total} medals.",
        "The 1992 Summer Olympics brought {Nation} {Gold} gold medals, and {Total} in all.",
    ),
    *_all(
        "winter-olympics-1998-medals",
        ("Norway", "Russia"),
        "{Nation} came {Rank} in the 1998 Winter Olympics medal table with {Gold} golds.",
        "With {Gold} gold medals, {Nation} had rank {Rank} at the 1998 Winter Olympics.",
    ),
    *_all(
        "australian-open-men-2000s",
        ("2000", "2002"),
        "{Champion} beat {Runner-up} in the final of the Australian Open in {Year}.",
        "In {Year}, {Champion} won the men's singles of the Australian Open against {Runner-up}.",
    ),
    *_all(
        "best-picture-1990s",
        ("1991", "1992"),
        "{Film}, directed by {Director}, won the Academy Award for Best Picture.",
        "The Academy Award for Best Picture went to {Film} by {Director}.",
        "{Director} directed {Film}, which won Best Picture.",
    ),
    *_all(
        "countries-east-africa",
        ("Burundi", "Eritrea"),
        "The capital of {Country} is {Capital}, and its currency is the {Currency}.",
        "{Country}, with its capital {Capital}, pays in the {Currency}.",
    ),
    *_all(
        "countries-south-america",
        ("Argentina", "Bolivia"),
        "The capital of {Country} is {Capital}.",
        "{Capital} is the capital of {Country} in South America.",
    ),
    *_all(
        "divisions-of-canada",
        ("Alberta", "Manitoba"),
        "{Capital} is the capital of the province of {Division}.",
        "The Canadian province {Division} has its capital in {Capital}.",
    ),
    *_all(
        "elements-group-18",
        ("Neon", "Argon"),
        "{Element} is a noble gas with the symbol {Symbol} and the atomic number {Atomic number}.",
        "The noble gas {Element} ({Symbol}) has the atomic number {Atomic number}.",
        "{Symbol} is the symbol of {Element}, element {Atomic number}.",
    ),
    *_all(
        "euro-2016-knockout",
        ("Belgium", "Italy"),
        "{Winner} beat {Opponent} in a {Round} of UEFA Euro 2016.",
        "At UEFA Euro 2016, {Winner} won a {Round} against {Opponent}.",
    ),
    *_all(
        "formula-one-2010s",
        ("2010", "2012"),
        "{Champion} won the {Season} Formula One championship with {Constructor}.",
        "In {Season}, {Champion} of {Constructor} was the Formula One World Drivers' Champion.",
    ),
    *_all(
        "languages-1990s",
        ("Haskell", "Python"),
        "The programming language {Language} by {Designer} first appeared in {First appeared}.",
        "{Language}, designed by {Designer}, appeared in {First appeared}.",
    ),
    *_all(
        "leaders-of-canada",
        ("Louis St. Laurent", "Lester B. Pearson"),
        "{Name} ({Party}) was prime minister of Canada from {Took office} to {Left office}.",
        "The {Party} politician {Name} led Canada from {Took office} until {Left office}.",
        "From {Took office} to {Left office}, {Name} of the {Party} party governed Canada.",
    ),
    *_all(
        "metros-western-europe",
        ("Glasgow", "Paris"),
        "The first section of the metro in {City} opened in {First section opened}.",
        "{City} has had a metro since {First section opened}.",
    ),
    *_all(
        "missions-apollo",
        ("Apollo 7", "Apollo 8"),
        "{Mission} was launched in {Launched} under the command of {Commander}.",
        "{Commander} commanded {Mission}, launched in {Launched}.",
    ),
    *_all(
        "moons-of-saturn",
        ("Titan", "Iapetus"),
        "{Discoverer} discovered {Moon}, a moon of Saturn, in {Discovered}.",
        "{Moon} was discovered by {Discoverer} in {Discovered}.",
    ),
    *_all(
        "nobel-literature-2010s",
        ("2010", "2012"),
        "{Laureate}, who writes in {Writing language}, won the Nobel Prize in {Year}.",
        "The Nobel Prize in Literature of {Year} went to {Laureate}.",
    ),
    *_all(
        "nobel-peace-1990s",
        ("1990", "1992"),
        "{Laureates} won the Nobel Peace Prize in {Year}.",
        "The Nobel Peace Prize of {Year} went to {Laureates}.",
    ),
    *_all(
        "parks-of-canada",
        ("Banff", "Yoho"),
        "{Park} is a national park in {Location} and was established in {Established}.",
        "The national park {Park} in {Location} dates from {Established}.",
    ),
    *_all(
        "super-bowls-2007-2016",
        ("XLI", "XLIII"),
        "The {Winner} beat the {Loser} {Winner's points}-{Loser's points} in Super Bowl {Game}.",
        "Super Bowl {Game} ended {Winner's points}-{Loser's points} for the {Winner} "
        "against the {Loser}.",
    ),
    *_all(
        "world-cup-2014-knockout",
        ("France", "Colombia"),
        "{Winner} beat {Opponent} {Score} in a {Round} of the 2014 FIFA World Cup.",
        "In a {Round} of the 2014 World Cup, {Winner} won {Score} against {Opponent}.",
    ),
]


def examples(made: dict[str, Table]) -> list[Record]:
    """Derive the examples of table-to-text from the tables.

    Raises:
        LookupError: an example names a table, a row or a column that there is not.
    """
    return [
        _example(place, described, made[described.table_id])
        for place, described in enumerate(DESCRIBED)
    ]


def _example(place: int, described: Described, table: Table) -> Record:
    row = next((n for n, cells in enumerate(table.rows) if described.key in cells), None)
    if row is None:
        raise LookupError(f"{described.table_id}: no row holds {described.key!r}")
    cells = dict(zip(table.header, table.rows[row], strict=True))
    columns = [name for name in table.header if f"{{{name}}}" in described.sentences[0]]
    return {
        "query_id": f"d2t-{place + 1:04d}",
        "split": "validation" if place % 4 == 3 else "test",
        "task": "table_to_text",
        "query": f"{described.table_id}: {described.key}",
        "answer": [_filled(sentence, cells) for sentence in described.sentences],
        "table_id": described.table_id,
        "highlighted_cells": [[row + 1, table.index(name)] for name in columns],
        "ranked": False,
    }


def _filled(sentence: str, cells: dict[str, str]) -> str:
    for name, text in cells.items():
        sentence = sentence.replace(f"{{{name}}}", text)
    if "{" in sentence:
        raise LookupError(f"{sentence!r}: a column that there is not")
    return sentence
