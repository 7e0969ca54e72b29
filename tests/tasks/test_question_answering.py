"""Question answering: what is judged, and how failures count."""

from target_bench.schema import Generation, Query
from target_bench.tasks.question_answering import QuestionAnswering, references
from tests.tasks.asked import dataset_of

ONE = Query("q1", "Who?", (), "Ann")
MORE = Query("q2", "Where?", (), ("USA", "United States"))


def test_references() -> None:
    assert references(ONE) == ("Ann",)
    assert references(MORE) == ("USA", "United States")


def test_a_failed_answer_is_none() -> None:
    """Also when something came before it failed."""
    given = [Generation("q1", "Ann", error="cut off"), Generation("q2", "USA")]
    judged = QuestionAnswering().examples(dataset_of(ONE, MORE), given, {})
    assert list(judged.texts) == [None, "USA"]
    assert list(judged.references) == [("Ann",), ("USA", "United States")]


def test_an_error_without_words_is_an_error() -> None:
    judged = QuestionAnswering().examples(dataset_of(ONE), [Generation("q1", "Ann", error="")], {})
    assert list(judged.texts) == [None]


def test_every_text_is_an_answer() -> None:
    assert QuestionAnswering().parse("") == ""
    assert QuestionAnswering().settings() == []
