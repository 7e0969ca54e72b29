"""Scores a sample that another harness wrote, for ``compare`` and ``gate``.

Read are files of

* Inspect: logs, ``.eval`` and ``.json``; samples of several epochs as Inspect reduced them;
* lm-eval: ``samples_TASK_TIME.jsonl`` (``--log_samples``);
* promptfoo: ``-o results.json``, every provider and prompt a run of its own;
* deepeval: a test run as JSON;
* ragas and whoever else has a row a sample: CSV or JSON lines, numbers in columns (``to_pandas``);
* MTEB: ``TASK_predictions.json``, and TREC runs; both with judgements (qrels).

The tests hold files that these harnesses wrote, and the versions.
"""

import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.metrics import retrieval
from target_bench.metrics.means import ratio

RANKING_METRICS = ("ndcg@10", "recall@1", "recall@10", "recall@100", "mrr@10")
"""What is computed of rankings and judgements where no metric is named."""

Judgements = Mapping[str, Mapping[str, float]]
"""Query -> document -> grade."""

Values = dict[str, dict[str, Any]]
"""Sample -> metric -> value."""

WrittenRun = tuple[str, str, Values]
"""What a run is called, its task (empty if the file does not say), and its values."""


@dataclass(frozen=True)
class SampleScores:
    """One run of another harness.

    Attributes:
        path: the file.
        name: what the run is called, unless several are called so: the model or provider.
        task: the name of the data set or task; empty if the file does not say.
        ids: (n,) what the harness calls its samples.
        values: metric -> (n,) its value of every sample; NaN where it has none.
        left_out: the metrics that are no number a sample.
    """

    path: Path
    name: str
    task: str
    ids: tuple[str, ...]
    values: Mapping[str, NDArray[np.float64]]
    left_out: tuple[str, ...] = ()


def read_sample_files(
    paths: Iterable[Path], qrels: Path | None = None, metrics: Sequence[str] = ()
) -> list[SampleScores]:
    """Read files of other harnesses; each run gets a name of its own.

    Args:
        paths: the files.
        qrels: the judgements for predictions of MTEB and TREC runs: lines ``query 0 document
            grade``, or a tab-separated table ``query-id, corpus-id, score``.
        metrics: which metrics of rankings are computed; default: ``RANKING_METRICS``.

    Raises:
        DataError: a file is in none of these forms, or damaged; the message names the place.
        ConfigError: rankings without judgements.
    """
    judged = None if qrels is None else _judgements(qrels)
    runs: list[SampleScores] = []
    for path in dict.fromkeys(paths):
        try:
            written = list(_read(path, judged, metrics or RANKING_METRICS))
            runs += [_scores(path, *run) for run in written]
        except (AttributeError, KeyError, OverflowError, TypeError, csv.Error) as error:
            raise DataError(
                f"{path}: not as its harness writes it ({type(error).__name__}: {error}); let the "
                "harness write it again"
            ) from error
    by_stem = [run.path.stem for run in runs]
    by_path = [f"{run.path}: {run.name}" for run in runs]
    names = [run.name for run in runs]
    names = next((each for each in (names, by_stem) if len({*each}) == len(each)), by_path)
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def on_common_samples(runs: Sequence[SampleScores]) -> tuple[list[SampleScores], list[str]]:
    """Return the runs over the samples that all of them have, and a note on those left out.

    Raises:
        DataError: there is no sample that all of them have.
    """
    common = set(runs[0].ids).intersection(*(run.ids for run in runs))
    if not common:
        few = (f"{run.name} has {', '.join(run.ids[:3])}" for run in runs)
        raise DataError(
            "the files have no sample in common, so nothing can be paired: "
            f"{'; '.join(few)}. Compare runs on the same samples"
        )
    order = [name for name in runs[0].ids if name in common]
    kept, fewer = [], []
    for run in runs:
        place = {name: i for i, name in enumerate(run.ids)}
        rows = [place[name] for name in order]
        values = {metric: values[rows] for metric, values in run.values.items()}
        kept.append(replace(run, ids=tuple(order), values=values))
        if len(run.ids) > len(order):
            fewer.append(f"{run.name} has {len(run.ids) - len(order):,} samples that not all have")
    note = f"over the {len(order):,} samples that all runs have: {'; '.join(fewer)}"
    return kept, [note] if fewer else []


def _scores(path: Path, name: str, task: str, written: Values) -> SampleScores:
    """Make arrays of the values; bools are 0 and 1, missing values NaN.

    Raises:
        DataError: no metric is a number a sample, or a number is infinite.
    """
    values, left_out = {}, []
    for metric in dict.fromkeys(metric for row in written.values() for metric in row):
        column = [row.get(metric) for row in written.values()]
        if not all(value is None or isinstance(value, int | float) for value in column):
            left_out.append(metric)
            continue
        array = np.array([nan if value is None else float(value) for value in column])
        for sample, value in zip(written, array, strict=True):
            if isinf(value):
                raise DataError(f"{path}: {metric} of the sample {sample!r} is not finite: {value}")
        if not np.isnan(array).all():
            values[metric] = array
    if not values:
        raise DataError(
            f"{path}: no metric has a number for every sample"
            + (f" ({', '.join(left_out)} have none)" if left_out else "")
        )
    return SampleScores(path, name, task, tuple(written), values, tuple(left_out))


def _add(path: Path, written: Values, sample: Any, values: Mapping[str, Any]) -> None:
    """Add the values of a sample.

    Raises:
        DataError: it has one of them already, as of a sample that was asked again.
    """
    of_sample = written.setdefault(str(sample), {})
    if twice := of_sample.keys() & values.keys():
        raise DataError(
            f"{path}: the sample {sample!r} has {min(twice)} twice; write each sample once, with "
            "an id of its own"
        )
    of_sample.update(values)


# Which form a file has, by its content


def _read(path: Path, judged: Judgements | None, metrics: Sequence[str]) -> Iterator[WrittenRun]:
    if zipfile.is_zipfile(path):
        yield _inspect(path, _inspect_archive(path))
        return
    text = _text(path)
    document: Any = None
    if is_json := text.lstrip().startswith("{"):
        try:
            document = parse_json(text)
        except ValueError:  # JSON lines
            document = None
    if isinstance(document, Mapping):
        yield from _of_document(path, document, judged, metrics)
    elif is_json:
        yield _of_records(path, _json_lines(path, text))
    elif path.suffix.lower() == ".csv":
        yield _of_records(path, list(csv.DictReader(io.StringIO(text, newline=""))))
    else:
        yield path.stem, "", _ranked(path, _trec_run(path, text), judged, metrics)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text ({error})") from error


def _of_document(
    path: Path, document: Mapping[str, Any], judged: Judgements | None, metrics: Sequence[str]
) -> Iterator[WrittenRun]:
    results = document.get("results")
    if "eval" in document and "samples" in document:
        yield _inspect(path, document)
    elif "mteb_model_meta" in document:
        yield from _mteb(path, document, judged, metrics)
    elif "testCases" in document:
        yield _deepeval(path, document["testCases"])
    elif isinstance(results, Mapping) and isinstance(results.get("results"), list):
        yield from _promptfoo(path, results["results"])
    elif {"doc_id", "metrics"} <= document.keys():  # a file of one line
        yield _lm_eval(path, [document])
    else:
        raise DataError(
            f"{path}: this JSON has the fields {', '.join(map(str, list(document)[:8]))}; expected "
            "a log of Inspect, results of promptfoo, a test run of deepeval, predictions of MTEB, "
            "or one object a line"
        )


def _json_lines(path: Path, text: str) -> list[Mapping[str, Any]]:
    records: list[Mapping[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):  # texts may hold U+2028
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: no JSON ({error})") from error
        if not isinstance(record, dict):
            raise DataError(f"{path}, line {number}: expected an object, found {line[:60]!r}")
        records.append(record)
    return records


# Inspect

_ZSTANDARD = 93
"""The compression of .eval files, as ZIP numbers it; zipfile reads it from Python 3.14 on."""

_INSPECT_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
"""Inspect's ``value_to_float``."""


def _inspect_archive(path: Path) -> dict[str, Any]:
    """Return the parts of an ``.eval`` file by the names that they have in a ``.json`` log."""
    parts: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for part in archive.infolist():
            if part.filename not in ("header.json", "summaries.json", "reductions.json"):
                continue
            try:
                zstandard = part.compress_type == _ZSTANDARD
                content = _decompressed(path, part) if zstandard else archive.read(part)
                parts[part.filename] = parse_json(content)
            except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
                raise DataError(
                    f"{path}: {part.filename} in it cannot be read ({error})"
                ) from error
    if "header.json" not in parts:
        raise DataError(
            f"{path}: a ZIP without header.json is no finished log of Inspect; let the "
            "evaluation end, or name another file"
        )
    log = {"samples": parts.get("summaries.json"), "reductions": parts.get("reductions.json")}
    return {**parts["header.json"], **log}


def _decompressed(path: Path, part: zipfile.ZipInfo) -> bytes:
    import pyarrow

    with path.open("rb") as file:
        file.seek(part.header_offset + 26)  # the lengths of name and extra field
        lengths = file.read(4)
        file.seek(int.from_bytes(lengths[:2], "little"), 1)
        file.seek(int.from_bytes(lengths[2:], "little"), 1)
        packed = pyarrow.BufferReader(file.read(part.compress_size))
        return bytes(pyarrow.CompressedInputStream(packed, "zstd").read())


def _inspect(path: Path, log: Mapping[str, Any]) -> WrittenRun:
    """Read what Inspect reduced its epochs to, or the scores of the only epoch."""
    if log.get("status") not in ("success", None):
        raise DataError(
            f"{path}: this evaluation ended with the status {log['status']!r}, so samples are "
            "missing; finish it with inspect eval-retry"
        )
    scores = [
        (sample["sample_id"], reduction["scorer"], sample["value"])
        for reduction in log.get("reductions") or ()
        for sample in reduction["samples"]
    ] or [
        (sample["id"], scorer, score["value"])
        for sample in log["samples"] or ()
        for scorer, score in (sample.get("scores") or {}).items()
    ]
    written: Values = {}
    for sample, scorer, value in scores:
        parts = {scorer: value}
        if isinstance(value, Mapping) and value:
            parts = {f"{scorer}/{name}": part for name, part in value.items()}
        for metric, part in parts.items():
            number = _INSPECT_WORDS.get(part, part) if isinstance(part, str) else part
            _add(path, written, sample, {metric: number})
    return str(log["eval"]["model"]), str(log["eval"]["task"]), written


# Other harnesses

_ID_COLUMNS = (
    *("sample_id", "id", "query_id", "question_id"),
    *("user_input", "question", "input", "query"),
)
_TEXT_COLUMNS = (
    *("response", "reference", "answer", "ground_truth", "expected_output", "actual_output"),
    *("retrieved_contexts", "reference_contexts", "contexts", "context"),
)
"""Columns of ragas and its like that are no metric even where they hold numbers."""


def _lm_eval(path: Path, records: Sequence[Mapping[str, Any]]) -> WrittenRun:
    written: Values = {}
    for record in records:
        rule = record.get("filter", "none")
        for metric in record["metrics"]:
            name = metric if rule == "none" else f"{metric},{rule}"
            _add(path, written, record["doc_id"], {name: record[metric]})
    named = re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+", path.stem)
    return path.resolve().parent.name, named[1] if named else path.stem, written


def _promptfoo(path: Path, results: Sequence[Mapping[str, Any]]) -> Iterator[WrittenRun]:
    runs: dict[tuple[str, str], Values] = defaultdict(dict)
    prompts = {result["promptId"]: result["prompt"]["label"] for result in results}
    for result in results:
        provider = result["provider"]
        run = runs[provider.get("label") or provider["id"], prompts[result["promptId"]]]
        values = {"success": result["success"], "score": result["score"]}
        _add(path, run, result["testIdx"], {**values, **(result.get("namedScores") or {})})
    several = len({prompt for _, prompt in runs}) > 1
    for (provider, prompt), written in runs.items():
        yield f"{provider}: {prompt}" if several else provider, "", written


def _deepeval(path: Path, cases: Sequence[Mapping[str, Any]]) -> WrittenRun:
    written: Values = {}
    for case in cases:
        scores = {metric["name"]: metric.get("score") for metric in case.get("metricsData") or ()}
        _add(path, written, case["name"], {"success": case.get("success"), **scores})
    return path.stem, "", written


def _of_records(path: Path, rows: Sequence[Mapping[str, Any]]) -> WrittenRun:
    """Read a table with a row a sample, of which a column of numbers is a metric; or lm-eval's."""
    columns = list(rows[0]) if rows else []
    if {"doc_id", "metrics"} <= {*columns}:
        return _lm_eval(path, rows)
    id_column = next((name for name in _ID_COLUMNS if name in columns), None)
    if id_column is None:
        raise DataError(
            f"{path}: no column names the samples; call one {', '.join(_ID_COLUMNS[:-1])} or "
            f"{_ID_COLUMNS[-1]} (columns: {', '.join(map(str, columns[:10]))})"
        )
    numbers = {}
    for metric in columns:
        if metric not in ("", *_ID_COLUMNS, *_TEXT_COLUMNS):  # pandas' index has no name
            column = [_number_in(row.get(metric)) for row in rows]
            if all(value is None or isinstance(value, int | float) for value in column):
                numbers[metric] = column
    written: Values = {}
    for i, row in enumerate(rows):
        _add(
            path, written, row.get(id_column), {name: column[i] for name, column in numbers.items()}
        )
    return path.stem, "", written


def _number_in(cell: Any) -> Any:
    """Return the number that a cell of a CSV file holds; None of an empty one."""
    if not isinstance(cell, str):
        return cell
    word = cell.strip().lower()
    if word in ("", "nan", "none"):
        return None
    if word in ("true", "false"):
        return word == "true"
    try:
        return float(cell)
    except ValueError:
        return cell


# Rankings


def _judgements(path: Path) -> Judgements:
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    for number, line in enumerate(_text(path).splitlines(), start=1):
        words = line.split("\t") if "\t" in line else line.split()
        if not words or (number == 1 and words[0] in ("query-id", "query_id")):
            continue
        try:
            query, document, grade = words if len(words) == 3 else [words[i] for i in (0, 2, 3)]
            judged[query][document] = float(grade)
        except (ValueError, IndexError) as error:
            raise DataError(
                f"{path}, line {number}: expected 'query 0 document grade' or 'query document "
                f"grade', found {line[:80]!r}"
            ) from error
    return judged


def _trec_run(path: Path, text: str) -> Mapping[str, Mapping[str, float]]:
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            query, _, document, _, score, _ = line.split()
            run[query][document] = float(score)
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: this file is in none of the forms that are read; a TREC "
                f"run has lines 'query Q0 document rank score tag', and this is {line[:80]!r}"
            ) from error
    return run


def _mteb(
    path: Path, document: Mapping[str, Any], judged: Judgements | None, metrics: Sequence[str]
) -> Iterator[WrittenRun]:
    name = str(document["mteb_model_meta"].get("model_name") or path.stem)
    task = path.stem.removesuffix("_predictions")
    for subset, splits in document.items():
        for split, run in splits.items() if subset != "mteb_model_meta" else ():
            part = f"{task} {split}" if subset == "default" else f"{task} {subset} {split}"
            yield name, part, _ranked(path, run, judged, metrics)


def _ranked(
    path: Path,
    run: Mapping[str, Mapping[str, float]],
    judged: Judgements | None,
    metrics: Sequence[str],
) -> Values:
    """Score rankings (query -> document -> score) of the queries with a relevant document.

    Documents of equal score stand by id from z to a, as in trec_eval.
    """
    if judged is None:
        raise ConfigError(
            f"{path} holds rankings; name the relevant documents of each query with --qrels FILE"
        )
    relevant = {q: {d: g for d, g in grades.items() if g > 0} for q, grades in judged.items()}
    relevant = {query: grades for query, grades in relevant.items() if grades}
    if not relevant.keys() & run.keys():
        raise DataError(
            f"{path}: none of its queries ({', '.join([*run][:3])}) is in the judgements "
            f"({', '.join([*relevant][:3])})"
        )
    grades = list(relevant.values())
    rankings = [
        [d for d, _ in sorted(run.get(query, {}).items(), key=lambda it: (it[1], it[0]))[::-1]]
        for query in relevant
    ]
    written: Values = {query: {} for query in relevant}
    for metric in metrics:
        family, _, k = metric.partition("@")
        depth = int(k) if k.isdigit() else max(map(len, rankings))
        looked_at = retrieval.judge(rankings, grades, depth, grades=grades)
        # Reciprocal rank and average precision are over the whole ranking that they are given.
        defined = retrieval.parse(family if family in ("mrr", "map") else metric)
        numerators, denominators = defined.measure(looked_at, depth)
        for query, value in zip(relevant, ratio(numerators, denominators), strict=True):
            written[query][metric] = float(value)
    return written
