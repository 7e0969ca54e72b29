"""Olympic medal tables: the ten most successful nations of a Games."""

from __future__ import annotations

from .model import Table, lines, table

HEADER = "Rank|Nation|Gold|Silver|Bronze|Total"

SUMMER: dict[int, str] = {
    1972: """
Soviet Union|50|27|22
United States|33|31|30
East Germany|20|23|23
West Germany|13|11|16
Japan|13|8|8
Australia|8|7|2
Poland|7|5|9
Hungary|6|13|16
Bulgaria|6|10|5
Italy|5|3|10
""",
    1976: """
Soviet Union|49|41|35
East Germany|40|25|25
United States|34|35|25
West Germany|10|12|17
Japan|9|6|10
Poland|7|6|13
Bulgaria|6|9|7
Cuba|6|4|3
Romania|4|9|14
Hungary|4|5|13
""",
    1980: """
Soviet Union|80|69|46
East Germany|47|37|42
Bulgaria|8|16|17
Cuba|8|7|5
Italy|8|3|4
Hungary|7|10|15
Romania|6|6|13
France|6|5|3
Great Britain|5|7|9
Poland|3|14|15
""",
    1988: """
Soviet Union|55|31|46
East Germany|37|35|30
United States|36|31|27
South Korea|12|10|11
West Germany|11|14|15
Hungary|11|6|6
Bulgaria|10|12|13
Romania|7|11|6
France|6|4|6
Italy|6|4|4
""",
    1992: """
Unified Team|45|38|29
United States|37|34|37
Germany|33|21|28
China|16|22|16
Cuba|14|6|11
Spain|13|7|2
South Korea|12|5|12
Hungary|11|12|7
France|8|5|16
Australia|7|9|11
""",
    1996: """
United States|44|32|25
Russia|26|21|16
Germany|20|18|27
China|16|22|12
France|15|7|15
Italy|13|10|12
Australia|9|9|23
Cuba|9|8|8
Ukraine|9|2|12
South Korea|7|15|5
""",
    2016: """
United States|46|37|38
Great Britain|27|23|17
China|26|18|26
Russia|19|17|20
Germany|17|10|15
Japan|12|8|21
France|10|18|14
South Korea|9|3|9
Italy|8|12|8
Australia|8|11|10
""",
    2024: """
United States|40|44|42
China|40|27|24
Japan|20|12|13
Australia|18|19|16
France|16|26|22
Netherlands|15|7|12
Great Britain|14|22|29
South Korea|13|9|10
Italy|12|13|15
Germany|12|13|8
""",
}

WINTER: dict[int, str] = {
    1984: """
East Germany|9|9|6
Soviet Union|6|10|9
United States|4|4|0
Finland|4|3|6
Sweden|4|2|2
Norway|3|2|4
Switzerland|2|2|1
Canada|2|1|1
West Germany|2|1|1
Italy|2|0|0
""",
    1988: """
Soviet Union|11|9|9
East Germany|9|10|6
Switzerland|5|5|5
Finland|4|1|2
Sweden|4|0|2
Austria|3|5|2
Netherlands|3|2|2
West Germany|2|4|2
United States|2|1|3
Italy|2|1|2
""",
    1992: """
Germany|10|10|6
Unified Team|9|6|8
Norway|9|6|5
Austria|6|7|8
United States|5|4|2
Italy|4|6|4
France|3|5|1
Finland|3|1|3
Canada|2|3|2
South Korea|2|1|1
""",
    1994: """
Russia|11|8|4
Norway|10|11|5
Germany|9|7|8
Italy|7|5|8
United States|6|5|2
South Korea|4|1|1
Canada|3|6|4
Switzerland|3|4|2
Austria|2|3|4
Sweden|2|1|0
""",
    1998: """
Germany|12|9|8
Norway|10|10|5
Russia|9|6|3
Canada|6|5|4
United States|6|3|4
Netherlands|5|4|2
Japan|5|1|4
Austria|3|5|9
South Korea|3|1|2
Italy|2|6|2
""",
    2018: """
Norway|14|14|11
Germany|14|10|7
Canada|11|8|10
United States|9|8|6
Netherlands|8|6|6
Sweden|7|6|1
South Korea|5|8|4
Switzerland|5|6|4
France|5|4|6
Austria|5|3|6
""",
}


def _ranked(body: str) -> list[list[str]]:
    """Rows with the rank put before and the total put after the medals."""
    rows = lines(body)
    counts = [tuple(int(cell) for cell in row[1:]) for row in rows]
    ranks = [1 + sum(other > own for other in counts) for own in counts]
    if ranks != sorted(ranks):
        raise ValueError(f"not in medal order: {rows[0]}")
    return [
        [str(rank), *row, str(sum(own))] for rank, row, own in zip(ranks, rows, counts, strict=True)
    ]


def tables() -> list[Table]:
    """All the medal tables, Summer Games first."""
    made = []
    for season, games in (("Summer", SUMMER), ("Winter", WINTER)):
        prefix = "" if season == "Summer" else "winter-"
        for year, body in games.items():
            title = f"{year} {season} Olympics medal table"
            table_id = f"{prefix}olympics-{year}-medals"
            made.append(table(table_id, title, "Ten leading nations", HEADER, _ranked(body)))
    return made
