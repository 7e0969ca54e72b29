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
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.text_tables import counted
from target_bench.metrics import retrieval
from target_bench.metrics.means import ratio

Floats = NDArray[np.float64]

RANKING_METRICS = ("ndcg@10", "recall@1", "recall@10", "recall@100", "mrr@10")
"""What is computed of rankings and judgements where no metric is named."""

_ID_COLUMNS = (
    *("sample_id", "id", "query_id", "question_id"),
    *("user_input", "question", "input", "query"),
)
_TEXT_COLUMNS = (
    *("response", "reference", "answer", "ground_truth", "expected_output", "actual_output"),
    *("retrieved_contexts", "reference_contexts", "contexts", "context"),
)
"""Columns of ragas and its like that are no metric even where they hold numbers."""
_MOST_NAMED = 3
_ZSTANDARD = 93
"""The compression of .eval files, as ZIP numbers it; zipfile reads it from Python 3.14 on."""


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
        repeated: how many samples have the id of an earlier one.
    """

    path: Path
    name: str
    task: str
    ids: tuple[str, ...]
    values: Mapping[str, Floats]
    left_out: tuple[str, ...] = ()
    repeated: int = 0


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
    runs = [
        run
        for path in dict.fromkeys(paths)
        for run in _well_formed(path, judged, metrics or RANKING_METRICS)
    ]
    by_stem = [run.path.stem for run in runs]
    by_path = [f"{run.path}: {run.name}" for run in runs]
    for names in ([run.name for run in runs], by_stem, by_path):
        if len(set(names)) == len(names):
            break
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def on_common_samples(runs: Sequence[SampleScores]) -> tuple[list[SampleScores], list[str]]:
    """Return the runs over the samples that all of them have, and a note on those left out.

    Raises:
        DataError: there is no sample that all of them have.
    """
    common = set(runs[0].ids).intersection(*(run.ids for run in runs))
    if not common:
        few = (f"{run.name} has {', '.join(run.ids[:_MOST_NAMED])}" for run in runs)
        raise DataError(
            "the files have no sample in common, so nothing can be paired: "
            f"{'; '.join(few)}. Compare runs on the same samples"
        )
    order = [name for name in runs[0].ids if name in common]
    kept, notes = [], []
    for run in runs:
        place = {name: i for i, name in enumerate(run.ids)}
        rows = [place[name] for name in order]
        values = {metric: values[rows] for metric, values in run.values.items()}
        kept.append(replace(run, ids=tuple(order), values=values))
        if len(run.ids) > len(order):
            notes.append(f"{run.name} has {len(run.ids) - len(order):,} samples that not all have")
    if notes:
        notes = [f"over the {len(order):,} samples that all runs have: {'; '.join(notes)}"]
    notes += [
        f"{counted(run.repeated, 'sample')} of {run.name} with the id of an earlier one: samples "
        "of one id are paired in the order in which they stand in the files"
        for run in runs
        if run.repeated
    ]
    return kept, notes


# Which form a file has, by its content


def _well_formed(
    path: Path, judged: "_Judgements | None", metrics: Sequence[str]
) -> list[SampleScores]:
    try:
        return list(_read(path, judged, metrics))
    except (AttributeError, KeyError, OverflowError, TypeError, csv.Error) as error:
        raise DataError(
            f"{path}: not as its harness writes it ({type(error).__name__}: {error}); let the "
            "harness write it again"
        ) from error


def _read(
    path: Path, judged: "_Judgements | None", metrics: Sequence[str]
) -> Iterator[SampleScores]:
    if zipfile.is_zipfile(path):
        yield _inspect(path, _inspect_archive(path))
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text ({error})") from error
    document = _json_document(text)
    if isinstance(document, Mapping):
        yield from _of_document(path, document, judged, metrics)
    elif text.lstrip().startswith("{"):
        yield _of_json_lines(path, text)
    elif path.suffix.lower() == ".csv":
        yield _of_rows(path, list(csv.DictReader(io.StringIO(text, newline=""))))
    else:
        yield from _rankings(path, path.stem, "", _trec_run(path, text), judged, metrics)


def _json_document(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None  # JSON lines


def _of_document(
    path: Path,
    document: Mapping[str, Any],
    judged: "_Judgements | None",
    metrics: Sequence[str],
) -> Iterator[SampleScores]:
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


# Inspect


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


def _inspect(path: Path, log: Mapping[str, Any]) -> SampleScores:
    """Read what Inspect reduced its epochs to, or the scores of the only epoch."""
    scores: _Table = defaultdict(dict)
    for reduction in log.get("reductions") or ():
        for sample in reduction["samples"]:
            _add_inspect(path, scores, sample["sample_id"], reduction["scorer"], sample["value"])
    if not scores:
        for sample in log["samples"] or ():
            for scorer, score in (sample.get("scores") or {}).items():
                _add_inspect(path, scores, sample["id"], scorer, score["value"])
    if log.get("status") not in ("success", None):
        raise DataError(
            f"{path}: this evaluation ended with the status {log['status']!r}, so samples are "
            "missing; finish it with inspect eval-retry"
        )
    return _made(path, str(log["eval"]["model"]), str(log["eval"]["task"]), scores)


def _add_inspect(path: Path, scores: "_Table", sample: Any, scorer: str, value: Any) -> None:
    parts = {f"{scorer}/{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {}
    for metric, part in (parts or {scorer: value}).items():
        word = part if isinstance(part, str) else ""
        _add(path, scores, sample, {metric: _INSPECT_WORDS.get(word, part)})


_INSPECT_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}
"""Inspect's ``value_to_float``."""


# Other harnesses


def _of_json_lines(path: Path, text: str) -> SampleScores:
    records = []
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
    if {"doc_id", "metrics"} <= records[0].keys():
        return _lm_eval(path, records)
    return _of_rows(path, records)


def _lm_eval(path: Path, records: Sequence[Mapping[str, Any]]) -> SampleScores:
    scores: _Table = defaultdict(dict)
    for record in records:
        rule = record.get("filter", "none")
        for metric in record["metrics"]:
            name = metric if rule == "none" else f"{metric},{rule}"
            _add(path, scores, record["doc_id"], {name: record[metric]})
    named = re.fullmatch(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+", path.stem)
    return _made(path, path.resolve().parent.name, named[1] if named else path.stem, scores)


def _promptfoo(path: Path, results: Sequence[Mapping[str, Any]]) -> Iterator[SampleScores]:
    runs: dict[tuple[str, str], _Table] = {}
    prompts = {result["promptId"]: result["prompt"]["label"] for result in results}
    for result in results:
        provider = result["provider"]
        run = runs.setdefault(
            (provider.get("label") or provider["id"], prompts[result["promptId"]]),
            defaultdict(dict),
        )
        values = {"success": result["success"], "score": result["score"]}
        _add(path, run, result["testIdx"], {**values, **(result.get("namedScores") or {})})
    several = len({prompt for _, prompt in runs}) > 1
    for (provider, prompt), scores in runs.items():
        yield _made(path, f"{provider}: {prompt}" if several else provider, "", scores)


def _deepeval(path: Path, cases: Sequence[Mapping[str, Any]]) -> SampleScores:
    scores: _Table = defaultdict(dict)
    names, repeated = _distinct(str(case["name"]) for case in cases)
    for case, name in zip(cases, names, strict=True):
        scores[name]["success"] = case.get("success")
        for metric in case.get("metricsData") or ():
            scores[name][metric["name"]] = metric.get("score")
    return replace(_made(path, path.stem, "", scores), repeated=repeated)


def _of_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> SampleScores:
    """Read a table with a row a sample; a column of numbers is a metric."""
    columns = list(rows[0]) if rows else []
    id_column = next((name for name in _ID_COLUMNS if name in columns), None)
    if id_column is None:
        raise DataError(
            f"{path}: no column names the samples; call one {', '.join(_ID_COLUMNS[:-1])} or "
            f"{_ID_COLUMNS[-1]} (columns: {', '.join(map(str, columns[:10]))})"
        )
    ids, repeated = _distinct(str(row.get(id_column)) for row in rows)
    scores: _Table = {
        name: {
            metric: _number_in(row.get(metric))
            for metric in columns
            if metric not in ("", *_ID_COLUMNS, *_TEXT_COLUMNS)  # pandas' index has no name
            and not isinstance(row.get(metric), list | dict)
        }
        for name, row in zip(ids, rows, strict=True)
    }
    return replace(_made(path, path.stem, "", scores), left_out=(), repeated=repeated)


def _number_in(cell: Any) -> Any:
    """Return the number that a cell of a CSV file holds; None of an empty one."""
    if not isinstance(cell, str):
        return cell
    if cell.strip().lower() in ("", "nan", "none"):
        return None
    if cell.strip().lower() in ("true", "false"):
        return cell.strip().lower() == "true"
    try:
        return float(cell)
    except ValueError:
        return cell


# Rankings


_Judgements = dict[str, dict[str, float]]
"""Query -> document -> grade."""

_Ranked = Mapping[str, Mapping[str, float]]
"""Query -> document -> score."""


def _judgements(path: Path) -> _Judgements:
    judged: _Judgements = defaultdict(dict)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text ({error})") from error
    for number, line in enumerate(lines, start=1):
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


def _trec_run(path: Path, text: str) -> _Ranked:
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
    path: Path, document: Mapping[str, Any], judged: _Judgements | None, metrics: Sequence[str]
) -> Iterator[SampleScores]:
    name = str(document["mteb_model_meta"].get("model_name") or path.stem)
    task = path.stem.removesuffix("_predictions")
    for subset, splits in document.items():
        if subset == "mteb_model_meta":
            continue
        for split, run in splits.items():
            part = f"{task} {split}" if subset == "default" else f"{task} {subset} {split}"
            yield from _rankings(path, name, part, run, judged, metrics)


def _rankings(
    path: Path,
    name: str,
    task: str,
    run: _Ranked,
    judged: _Judgements | None,
    metrics: Sequence[str],
) -> Iterator[SampleScores]:
    """Score rankings; documents of equal score stand by id from z to a, as in trec_eval."""
    if judged is None:
        raise ConfigError(
            f"{path} holds rankings; name the relevant documents of each query with --qrels FILE"
        )
    queries = [query for query, grades in judged.items() if any(g > 0 for g in grades.values())]
    if not set(queries) & run.keys():
        raise DataError(
            f"{path}: none of its queries ({', '.join(list(run)[:_MOST_NAMED])}) is in the "
            f"judgements ({', '.join(queries[:_MOST_NAMED])})"
        )
    rankings = [
        [d for d, _ in sorted(run.get(query, {}).items(), key=lambda it: (it[1], it[0]))[::-1]]
        for query in queries
    ]
    grades = [{d: g for d, g in judged[query].items() if g > 0} for query in queries]
    values = {}
    for metric in metrics:
        family, _, k = metric.partition("@")
        depth = int(k) if k.isdigit() else max(map(len, rankings))
        looked_at = retrieval.judge(rankings, grades, depth, grades=grades)
        # Reciprocal rank and average precision are over the whole ranking that they are given.
        defined = retrieval.parse(family if family in ("mrr", "map") else metric)
        numerators, denominators = defined.measure(looked_at, depth)
        values[metric] = ratio(numerators, denominators)
    yield SampleScores(path, name, task, tuple(queries), values)


# Made of a table


_Table = dict[str, dict[str, Any]]
"""Sample -> metric -> value."""


def _add(path: Path, scores: _Table, sample: Any, values: Mapping[str, Any]) -> None:
    """Add the values of a sample.

    Raises:
        DataError: it has one of them already, as of a sample that was asked again.
    """
    of_sample = scores[str(sample)]
    if twice := of_sample.keys() & values.keys():
        raise DataError(
            f"{path}: the sample {sample!r} has {min(twice)} twice; write each sample once"
        )
    of_sample.update(values)


def _made(path: Path, name: str, task: str, scores: _Table) -> SampleScores:
    """Make arrays of a table; bools are 0 and 1, missing values NaN.

    Raises:
        DataError: no metric is a number a sample, or a number is infinite.
    """
    values, left_out = {}, []
    for metric in dict.fromkeys(metric for row in scores.values() for metric in row):
        column = [row.get(metric) for row in scores.values()]
        if not all(value is None or isinstance(value, int | float) for value in column):
            left_out.append(metric)
            continue
        array = np.array([np.nan if value is None else float(value) for value in column])
        for sample, value in zip(scores, array, strict=True):
            if isinf(value):
                raise DataError(f"{path}: {metric} of the sample {sample!r} is not finite: {value}")
        if not np.isnan(array).all():
            values[metric] = array
    if not values:
        raise DataError(
            f"{path}: no metric has a number for every sample"
            + (f" ({', '.join(left_out)} have none)" if left_out else "")
        )
    return SampleScores(path, name, task, tuple(scores), values, tuple(left_out))


def _distinct(names: Iterable[str]) -> tuple[list[str], int]:
    """Return names of which those that come again are numbered: a, b, a (2); and how many do."""
    seen: dict[str, int] = defaultdict(int)
    out = []
    for name in names:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out, len(out) - len(seen)
