"""A finished run as files that other tools read."""

from pathlib import Path

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.schema import Dataset
from target_bench.runs.manifest import queries_fingerprint
from target_bench.runs.record_log import RANKINGS, cannot
from target_bench.runs.result import Result
from target_bench.runs.trec import qrels_lines, run_lines, words_of

FORMATS = ("trec",)


def export(run: Result, dataset: Dataset, out: Path, format: str = "trec") -> tuple[Path, Path]:
    """Write ``run.trec`` and ``qrels.trec``: the rankings, and the gold tables of their queries.

    ir-measures and trec_eval (with ``-c``, so that queries without any table count) score the two
    to the figures in ``scores.json``.

    Args:
        run: a finished run of rankings.
        dataset: what the run was of, distractors included.
        out: where the files go; made if it is not there.
        format: ``trec``.

    Returns:
        The paths of run and judgements.

    Raises:
        ConfigError: an unknown format.
        DataError: the dataset is not what the run was of.
        StoreError: the run is not finished, or a file cannot be read or written.
    """
    if format not in FORMATS:
        raise ConfigError(f"format={format!r}: expected {' or '.join(FORMATS)}")
    folder, wanted = run.folder, run.identity.corpus_fingerprint
    if dataset.corpus.fingerprint != wanted:
        raise DataError(
            f"{folder}: the run was of a corpus with fingerprint {wanted[:12]}, but "
            f"{dataset.info.name} {dataset.split} has {dataset.corpus.fingerprint[:12]}. Name the "
            "data of the run with --data-dir or --corpus."
        )
    if not (folder / RANKINGS.file).exists():
        raise StoreError(f"{folder}: holds no rankings; name the folder of a retrieval run")
    retrievals = RANKINGS.read(folder)
    _check_finished(run, sum(r.error is not None for r in retrievals.values()))
    queries = [query for query in dataset.queries if query.id in retrievals]
    if queries_fingerprint(queries) != run.identity.queries_fingerprint:
        raise DataError(
            f"{folder}: the rankings there are of other queries or gold tables than "
            f"{dataset.info.name} {dataset.split} has now. Name the data of the run with "
            "--data-dir or --corpus, or run the same command again."
        )
    words = words_of(dataset.corpus.ids)
    lines = "".join(run_lines((retrievals[query.id] for query in queries), words))
    paths = out / "run.trec", out / "qrels.trec"
    try:
        for path, text in zip(paths, (lines, "".join(qrels_lines(queries, words))), strict=True):
            atomic_write(path, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise StoreError(cannot("be written", out, error, "-o")) from error
    return paths


def _check_finished(run: Result, n_failed: int) -> None:
    """See that the scores are those of the rankings.

    Raises:
        StoreError: there are none, or they are older, as when failed queries were asked again and
            the process was killed.
    """
    try:
        finished = run.counts.failed == n_failed
    except StoreError:
        finished = False
    if not finished:
        raise StoreError(f"{run.folder}: the run is not finished; run the same command again")
