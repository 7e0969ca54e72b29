"""README.md of the baselines, from the entries and the data files beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from target_bench.metrics.scores import answer_metrics, spec_of
from target_bench.reporting.leaderboard import entry
from target_bench.reporting.leaderboard.board import corpus_title
from target_bench.reporting.leaderboard.documents import ReportedSystem, read_reported
from target_bench.reporting.leaderboard.entry import Entry, RunEntry
from target_bench.reporting.leaderboard.submission import SUFFIX

CORPORA = (
    ("ottqa", "validation", "recall@10"),
    ("fetaqa", "test", "recall@10"),
    ("tabfact", "test", "recall@10"),
    ("spider", "validation", "recall[db]@1"),
    ("bird", "validation", "recall[db]@1"),
)
"""Corpus, split, and the metric of the paper's Table 2."""

_SCORED = {corpus for corpus, _, _ in CORPORA}
_ROUNDING = 0.0005
_UNEXPLAINED = 0.005

PAPER = {
    "bm25-title": "OTT-QA BM25",
    "bm25-header": "OTT-QA BM25 w/o table title",
    "tfidf-title": "OTT-QA TF-IDF",
    "tfidf-header": "OTT-QA TF-IDF w/o table title",
}
"""Reproduction -> the method of the paper."""


def readme(folder: Path) -> str:
    """The text of README.md.

    Raises:
        DataError: an entry cannot be read.
        FileNotFoundError: a data file is missing.
    """
    ours = [entry.read(path) for path in sorted(folder.glob(f"*{entry.SUFFIX}"))]
    theirs = [entry.read(path) for path in sorted(folder.glob(f"theirs/*{entry.SUFFIX}"))]
    baselines = [submitted for submitted in ours if not submitted.runs[0].sets]
    paper = read_reported(folder / "target-paper.reported.json")
    methods = {system.name: system for system in paper.systems}
    reproduced = json.loads((folder / "reproduced.json").read_text(encoding="utf-8"))
    text = (folder / "README.in.md").read_text(encoding="utf-8")
    for name, part in {
        "baselines": _table(_baselines(baselines)),
        "theirs": _table(
            _theirs([submitted for submitted in ours if submitted.runs[0].sets] + theirs)
        ),
        "sizes": _sizes(folder),
        "reproductions": _table(_reproductions(methods, reproduced)),
        "settings": _table(_settings(reproduced)),
    }.items():
        text = text.replace("{{ " + name + " }}", part)
    return text


def _baselines(entries: Sequence[Entry]) -> Iterable[Sequence[str]]:
    yield (
        "baseline",
        *(f"{corpus_title(c)} R@1 / R@10" for c, _, metric in CORPORA if metric == "recall@10"),
        *(f"{corpus_title(c)} db@1 / R@10" for c, _, metric in CORPORA if metric != "recall@10"),
        "parameters",
        "chosen or trained on",
        "verdict",
    )
    for submitted in sorted(entries, key=_mean_recall, reverse=True):
        runs = {run.corpus: run for run in submitted.runs}
        yield (
            f"`{submitted.id}`",
            *(_both(runs[corpus], metric) for corpus, _, metric in CORPORA),
            _count(submitted.card.parameters),
            _trained(submitted),
            submitted.verdict,
        )


_OF_SETS = ("complete_recall", "set_recall", "set_precision", "set_size")


def _theirs(entries: Sequence[Entry]) -> Iterable[Sequence[str]]:
    """Yield a row for each run of systems of others, and of ours that choose sets of tables."""
    yield ("data", "system", "scores", "questions", "predictions")
    runs = [(run, submitted) for submitted in entries for run in submitted.runs if not run.basis]
    for run, submitted in sorted(
        runs, key=lambda pair: (pair[0].task, pair[0].corpus, pair[0].split)
    ):
        metrics = _OF_SETS if run.sets else answer_metrics(run.scores)[:3]
        scores = {name: run.scores[name] for name in metrics}
        specs = {name: spec_of(name, score) for name, score in scores.items()}
        texts = (f"{s.label} {s.text(scores[n].value)}" for n, s in specs.items())
        source = submitted.card.predictions
        yield (
            f"{corpus_title(run.corpus)} {run.split}",
            submitted.card.name,
            ", ".join(texts),
            f"{max(score.n for score in scores.values()):,}",
            f"[published]({source})" if source else "ours",
        )


def _trained(submitted: Entry) -> str:
    """The corpora that something was chosen or trained on."""
    trained_on = submitted.card.training_data
    known = [corpus_title(corpus) for corpus, _, _ in CORPORA if trained_on[corpus] == "yes"]
    unknown = [corpus_title(corpus) for corpus, _, _ in CORPORA if trained_on[corpus] == "unknown"]
    if unknown:
        known.append(f"unknown: {', '.join(unknown)}")
    return ", ".join(known) or "none of them"


def _mean_recall(submitted: Entry) -> float:
    return sum(run.scores["recall@10"].value for run in submitted.runs if run.corpus in _SCORED)


def _both(run: RunEntry, metric: str) -> str:
    first = "recall@1" if metric == "recall@10" else metric
    return f"{_share(run.scores[first].value)} / {_share(run.scores['recall@10'].value)}"


def _reproductions(
    methods: Mapping[str, ReportedSystem], reproduced: Mapping[str, Any]
) -> Iterable[Sequence[str]]:
    yield (
        "corpus",
        "method of the paper",
        "paper",
        "ours",
        "difference",
        "its formula",
        "what ties leave open",
        "why",
    )
    for (corpus, _, metric), (name, method) in product(CORPORA, PAPER.items()):
        figure = _figure(methods[method], corpus)
        ours = reproduced[name]["runs"][corpus][metric]
        formula = reproduced[f"formula-{name}"]["runs"][corpus]
        low, high = formula["between"]
        yield (
            corpus_title(corpus),
            method,
            _share(figure),
            _share(ours),
            f"{ours - figure:+.3f}".replace("0.", ".").replace("-", "−"),
            _share(formula[metric]),
            f"{_share(low)}–{_share(high)}",
            ", ".join(_reasons(corpus, figure, ours, formula[metric], low, high)),
        )


def _reasons(
    corpus: str, paper: float, ours: float, formula: float, low: float, high: float
) -> list[str]:
    """Why ours is not the paper's, as README.md explains the words."""
    if corpus == "spider":
        return ["another split"]
    reasons = []
    if abs(formula - paper) < abs(ours - paper) - _ROUNDING:
        reasons.append("formula")
    if low < high and low - _ROUNDING <= paper <= high + _ROUNDING:
        reasons.append("ties")
    elif abs(formula - paper) > _UNEXPLAINED:
        reasons.append("the rest is not found")
    return reasons


def _figure(system: ReportedSystem, corpus: str) -> float:
    """The figure of the paper for the rankings of a corpus."""
    (value,) = (
        score.value
        for score in system.scores
        if score.corpus == corpus and score.metric.startswith("recall")
        if "@" in score.metric
    )
    return value


def _settings(reproduced: Mapping[str, Any]) -> Iterable[Sequence[str]]:
    yield ("name", "`--retriever`")
    for name, setting in reproduced.items():
        yield (f"`{name}`", f"`'{setting['retriever']}'`")


def _sizes(folder: Path) -> str:
    zips = [path.stat().st_size for path in folder.glob(f"*{SUFFIX}")]
    entries = [path.stat().st_size for path in folder.glob(f"*{entry.SUFFIX}")]
    return (
        f"{len(zips)} submissions have {sum(zips) / 1e6:.1f} MB together, their entries "
        f"{sum(entries) / 1e6:.1f} MB"
    )


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _count(parameters: int | None) -> str:
    if parameters is None:
        return "unknown"
    return f"{parameters / 1e6:.1f} M" if parameters >= 1e6 else str(parameters)


def _table(rows: Iterable[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
