"""Tables of sentences: what a row is, what a column, and what is left out."""

import pytest

from target_bench.models.sentence_tables import rows_of


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "Cuba won 8 gold and 7 silver medals. East Germany won 47 gold and 37 silver medals.",
            [["Name", "Gold", "Silver"], ["Cuba", "8", "7"], ["East Germany", "47", "37"]],
        ),
        (
            "The capital of Bavaria is Munich; its code is DE-BY. "
            "The capital of Hesse is Wiesbaden; its code is DE-HE.",
            [
                ["Name", "Capital", "Code"],
                ["Bavaria", "Munich", "DE-BY"],
                ["Hesse", "Wiesbaden", "DE-HE"],
            ],
        ),
        (
            "The laureate of 2001, V. S. Naipaul, wrote in English. "
            "The laureate of 2003, J. M. Coetzee, wrote in English.",
            [
                ["Year", "Laureate", "Wrote"],
                ["2001", "V. S. Naipaul", "English"],
                ["2003", "J. M. Coetzee", "English"],
            ],
        ),
        (
            "Ann Lee had 17 points. She added 3 steals in a rush. Bo Li had 9 points and 2 steals.",
            [["Name", "Points", "Steals"], ["Ann Lee", "17", "3"], ["Bo Li", "9", "2"]],
        ),
        (
            "sonia gandhi was awarded by the government of belgium in 2006.",
            [["name", "sonia gandhi"], ["value", "awarded"], ["year", "2006"]],
        ),
        ("It is so, and no more.", []),
        ("", []),
    ],
)
def test_rows(text: str, rows: list[list[str]]) -> None:
    assert rows_of(text) == rows
