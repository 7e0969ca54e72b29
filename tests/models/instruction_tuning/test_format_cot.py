"""Instructions written from target tables, by a generator and by rules."""

import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import GenerationRequest
from target_bench.models.instruction_tuning import format_cot
from target_bench.models.instruction_tuning.format_cot import Target, describe

TEAM = "Team:\n| Team | Wins |\n|---|---|\n| Hawks | 46 |"
TWO = f"{TEAM}\n\nPlayer:\n| Player | Points |\n| Al Horford | 15 |"
HTML = "<table><caption>Cups</caption><tr><th>Year</th></tr><tr><td>1950</td></tr></table>"
TARGETS = [Target("a", TWO, "text"), Target("b", HTML, "html")]


class Says:
    """A generator that replies the same to all."""

    def __init__(self, reply: str) -> None:
        self.reply = reply
        self.asked: list[GenerationRequest] = []

    def generate(self, request: GenerationRequest) -> str:
        self.asked.append(request)
        if self.reply == "raise":
            raise ValueError("no")
        return self.reply


def test_rules_name_format_tables_and_columns_and_no_cell() -> None:
    two, html = describe(TARGETS)
    assert two.text == (
        "Write 2 tables in Markdown, with | between cells, a table's name and a colon on the line "
        "before it. Table 1 is named 'Team' and has 2 columns, in this order: 'Team', 'Wins'. "
        "Table 2 is named 'Player' and has 2 columns, in this order: 'Player', 'Points'. "
        "Leave a cell empty where the text says nothing."
    )
    assert "in HTML" in html.text
    assert "The table is named 'Cups' and has 1 column, in this order: 'Year'." in html.text
    assert (two.written_by, two.problem) == ("rules", None)
    assert all(
        format_cot.quoted_cells(d.text, t) == [] for d, t in zip((two, html), TARGETS, strict=True)
    )


def test_rules_say_how_lines_end() -> None:
    """RotoWire's tables stand on one line."""
    (found,) = describe([Target("a", "Team: <NEWLINE> | a | <NEWLINE> | 1 |", "text")])
    assert "and <NEWLINE> in place of line breaks. The table is named 'Team'" in found.text


def test_a_generator_sees_the_target_and_reasons_first() -> None:
    says = Says("1. Bars.\n2. Two.\n**Instruction:** Write two tables\nwith bars.")
    found = describe(TARGETS, says)
    assert [one.text for one in found] == ["Write two tables with bars."] * 2
    assert {one.written_by for one in found} == {"generator"}
    assert found[0].reply == says.reply
    assert TWO in says.asked[0].messages[-1].content
    assert "step by step" in says.asked[0].messages[-1].content


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Two tables with bars.", "no_instruction"),
        ("Instruction:  ", "no_instruction"),
        ("<think>Instruction: a</think>", "no_instruction"),
        ("Instruction: a row each for Al Horford.", "quotes_cells"),
        ("Instruction: a row for al horford", "quotes_cells"),
        ("raise", "failed"),
    ],
)
def test_what_is_of_no_use_is_replaced_and_says_why(reply: str, problem: str) -> None:
    (found,) = describe(TARGETS[:1], Says(reply))
    assert (found.problem, found.written_by) == (problem, "rules")
    assert found.text == format_cot.by_rules(TARGETS[0])


def test_names_columns_and_parts_of_words_are_not_quotes() -> None:
    target = Target("a", "| Team | Wins |\n|---|---|\n| Hawks | Wins |", "text")
    assert format_cot.quoted_cells("Team, Wins, Hawksbill, Hawk", target) == []
    assert format_cot.quoted_cells("the Hawks'", target) == ["hawks"]


def test_what_cannot_be_asked() -> None:
    with pytest.raises(ConfigError, match="not a generator"):
        describe(TARGETS, object())
