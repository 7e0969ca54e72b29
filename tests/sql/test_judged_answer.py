"""Records of judged answers: what was written is what is read, for any record."""

import json
from math import isnan
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.files import unsealed_line
from target_bench.core.schema import Judgement
from target_bench.metrics.sql import JudgedQuery, Verdict
from target_bench.runs.record_log import encoded_line, judgement_line, parse_judgement
from target_bench.sql.judged_answer import JudgedAnswer, LeftOut, Links, Overlap

TEXT = st.text(st.characters())  # lone surrogates too
FRACTION = st.floats(0, 1)
COUNT = st.integers(0, 100)
OVERLAP = st.builds(Overlap, COUNT, COUNT, COUNT)
RESULT = st.none() | st.fixed_dictionaries(
    {"columns": st.lists(TEXT), "rows": st.lists(st.lists(st.none() | TEXT)), "n_columns": COUNT}
)
RUNNABLE = [verdict for verdict in get_args(Verdict) if verdict != "not_runnable"]
JUDGED = st.builds(
    JudgedQuery,
    st.sampled_from(RUNNABLE),
    FRACTION,
    FRACTION,
    FRACTION,
    FRACTION,
    st.floats(0, allow_infinity=False) | st.just(float("nan")),
)
LEFT_OUT = st.tuples(st.just(JudgedQuery("not_runnable")), st.sampled_from(get_args(LeftOut)))


@st.composite
def answers(draw: st.DrawFn) -> JudgedAnswer:
    query, left_out = draw(LEFT_OUT | st.tuples(JUDGED, st.none()))
    return JudgedAnswer(
        query_id=draw(TEXT),
        query=query,
        reason=draw(TEXT),
        sql=draw(st.none() | TEXT),
        gold_sql=draw(TEXT),
        rows=draw(st.none() | COUNT),
        gold_rows=draw(st.none() | COUNT),
        result=draw(RESULT),
        gold_result=draw(RESULT),
        outcome=draw(st.sampled_from([None, "executed", "timeout", "unusable"])),
        left_out=left_out,
        links=draw(st.none() | st.builds(Links, OVERLAP, OVERLAP)),
        database=draw(st.none() | TEXT),
        engine=draw(st.sampled_from([None, "sqlite", "duckdb"])),
        notes=tuple(draw(st.lists(TEXT))),
    )


@given(answers(), st.text("0123456789abcdef", min_size=1))
def test_a_record_comes_back_exactly(answer: JudgedAnswer, fingerprint: str) -> None:
    judgement = Judgement(answer.query_id, fingerprint, answer.to_json())
    line = encoded_line(judgement_line(judgement))
    assert line.count(b"\n") == 1
    back = parse_judgement(json.loads(unsealed_line(line.removesuffix(b"\n"), required=True)))
    assert back == judgement
    assert repr(JudgedAnswer.from_json(back.query_id, back.record)) == repr(answer)  # NaN too


@given(JUDGED)
def test_times_that_were_not_measured_are_null(query: JudgedQuery) -> None:
    record = JudgedAnswer("q", query, "", None, "SELECT 1").to_json()
    assert (record["time_ratio"] is None) == isnan(query.time_ratio)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
