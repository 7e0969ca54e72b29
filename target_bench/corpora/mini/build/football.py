"""Knock-out rounds of football tournaments, quarter-finals onward."""

from __future__ import annotations

from .model import Table, lines, table

HEADER = "Round|Winner|Score|Opponent|Settled in"
ROUNDS = {"QF": "Quarter-final", "SF": "Semi-final", "3P": "Third place", "F": "Final"}

WORLD_CUP: dict[int, str] = {
    1990: """
QF|Argentina|0-0|Yugoslavia|p 3-2
QF|Italy|1-0|Republic of Ireland
QF|West Germany|1-0|Czechoslovakia
QF|England|3-2|Cameroon|aet
SF|Argentina|1-1|Italy|p 4-3
SF|West Germany|1-1|England|p 4-3
3P|Italy|2-1|England
F|West Germany|1-0|Argentina
""",
    1994: """
QF|Italy|2-1|Spain
QF|Brazil|3-2|Netherlands
QF|Bulgaria|2-1|Germany
QF|Sweden|2-2|Romania|p 5-4
SF|Italy|2-1|Bulgaria
SF|Brazil|1-0|Sweden
3P|Sweden|4-0|Bulgaria
F|Brazil|0-0|Italy|p 3-2
""",
    1998: """
QF|France|0-0|Italy|p 4-3
QF|Brazil|3-2|Denmark
QF|Netherlands|2-1|Argentina
QF|Croatia|3-0|Germany
SF|Brazil|1-1|Netherlands|p 4-2
SF|France|2-1|Croatia
3P|Croatia|2-1|Netherlands
F|France|3-0|Brazil
""",
    2002: """
QF|Brazil|2-1|England
QF|Germany|1-0|United States
QF|South Korea|0-0|Spain|p 5-3
QF|Turkey|1-0|Senegal|aet
SF|Germany|1-0|South Korea
SF|Brazil|1-0|Turkey
3P|Turkey|3-2|South Korea
F|Brazil|2-0|Germany
""",
    2006: """
QF|Germany|1-1|Argentina|p 4-2
QF|Italy|3-0|Ukraine
QF|Portugal|0-0|England|p 3-1
QF|France|1-0|Brazil
SF|Italy|2-0|Germany|aet
SF|France|1-0|Portugal
3P|Germany|3-1|Portugal
F|Italy|1-1|France|p 5-3
""",
    2010: """
QF|Netherlands|2-1|Brazil
QF|Uruguay|1-1|Ghana|p 4-2
QF|Germany|4-0|Argentina
QF|Spain|1-0|Paraguay
SF|Netherlands|3-2|Uruguay
SF|Spain|1-0|Germany
3P|Germany|3-2|Uruguay
F|Spain|1-0|Netherlands|aet
""",
    2014: """
QF|Germany|1-0|France
QF|Brazil|2-1|Colombia
QF|Argentina|1-0|Belgium
QF|Netherlands|0-0|Costa Rica|p 4-3
SF|Germany|7-1|Brazil
SF|Argentina|0-0|Netherlands|p 4-2
3P|Netherlands|3-0|Brazil
F|Germany|1-0|Argentina|aet
""",
    2018: """
QF|France|2-0|Uruguay
QF|Belgium|2-1|Brazil
QF|England|2-0|Sweden
QF|Croatia|2-2|Russia|p 4-3
SF|France|1-0|Belgium
SF|Croatia|2-1|England|aet
3P|Belgium|2-0|England
F|France|4-2|Croatia
""",
    2022: """
QF|Croatia|1-1|Brazil|p 4-2
QF|Argentina|2-2|Netherlands|p 4-3
QF|Morocco|1-0|Portugal
QF|France|2-1|England
SF|Argentina|3-0|Croatia
SF|France|2-0|Morocco
3P|Croatia|2-1|Morocco
F|Argentina|3-3|France|p 4-2
""",
}

EURO: dict[int, str] = {
    2000: """
QF|Portugal|2-0|Turkey
QF|Italy|2-0|Romania
QF|Netherlands|6-1|Yugoslavia
QF|France|2-1|Spain
SF|France|2-1|Portugal|aet
SF|Italy|0-0|Netherlands|p 3-1
F|France|2-1|Italy|aet
""",
    2004: """
QF|Portugal|2-2|England|p 6-5
QF|Greece|1-0|France
QF|Netherlands|0-0|Sweden|p 5-4
QF|Czech Republic|3-0|Denmark
SF|Portugal|2-1|Netherlands
SF|Greece|1-0|Czech Republic|aet
F|Greece|1-0|Portugal
""",
    2008: """
QF|Germany|3-2|Portugal
QF|Turkey|1-1|Croatia|p 3-1
QF|Russia|3-1|Netherlands|aet
QF|Spain|0-0|Italy|p 4-2
SF|Germany|3-2|Turkey
SF|Spain|3-0|Russia
F|Spain|1-0|Germany
""",
    2012: """
QF|Portugal|1-0|Czech Republic
QF|Germany|4-2|Greece
QF|Spain|2-0|France
QF|Italy|0-0|England|p 4-2
SF|Spain|0-0|Portugal|p 4-2
SF|Italy|2-1|Germany
F|Spain|4-0|Italy
""",
    2016: """
QF|Portugal|1-1|Poland|p 5-3
QF|Wales|3-1|Belgium
QF|Germany|1-1|Italy|p 6-5
QF|France|5-2|Iceland
SF|Portugal|2-0|Wales
SF|France|2-0|Germany
F|Portugal|1-0|France|aet
""",
    2020: """
QF|Spain|1-1|Switzerland|p 3-1
QF|Italy|2-1|Belgium
QF|Denmark|2-1|Czech Republic
QF|England|4-0|Ukraine
SF|Italy|1-1|Spain|p 4-2
SF|England|2-1|Denmark|aet
F|Italy|1-1|England|p 3-2
""",
    2024: """
QF|Spain|2-1|Germany|aet
QF|France|0-0|Portugal|p 5-3
QF|England|1-1|Switzerland|p 5-3
QF|Netherlands|2-1|Turkey
SF|Spain|2-1|France
SF|England|2-1|Netherlands
F|Spain|2-1|England
""",
}


def _settled(code: str) -> str:
    """Words for how a match was decided."""
    if code.startswith("p "):
        return f"Penalties ({code[2:]})"
    return {"": "90 minutes", "aet": "Extra time"}[code]


def _matches(body: str) -> list[list[str]]:
    """Rows with the abbreviations of the literal written out."""
    rows = [[*row, ""][:5] for row in lines(body)]
    return [[ROUNDS[row[0]], *row[1:4], _settled(row[4])] for row in rows]


def tables() -> list[Table]:
    """All the knock-out tables, World Cups first."""
    made = []
    for slug, name, cups in (
        ("world-cup", "FIFA World Cup", WORLD_CUP),
        ("euro", "UEFA European Championship", EURO),
    ):
        for year, body in cups.items():
            title = f"{year} {name}" if slug == "world-cup" else f"UEFA Euro {year}"
            table_id = f"{slug}-{year}-knockout"
            made.append(table(table_id, title, "Knockout stage", HEADER, _matches(body)))
    return made
