"""``gate``: whether a run is worse than a baseline, for continuous integration."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.core.text_tables import (
    Column,
    TextTable,
    count_noun,
    list_first,
    markdown,
    p_text,
    text,
)
from target_bench.metrics import stats
from target_bench.metrics.scores import canonical_name, find_spec, is_perfect
from target_bench.reporting.compare import RunLike, compare, find_runs
from target_bench.reporting.rows import Comparison, Difference, Row, flat_record
from target_bench.reporting.sentences import describe_power
from target_bench.reporting.value_files import HAS_VALUE, Columns, choose_columns, compare_values
from target_bench.runs.baseline_file import open_baseline
from target_bench.runs.result import Result, read_run

Verdict = Literal["passed", "not significant", "failed"]
"""``not significant``: beyond the limit, but the paired test does not show a worse run."""

_RULE = re.compile(
    r"(?P<metric>.+?)\s*(?P<sign>[<>])\s*(?P<limit>[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)"
)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Rule:
    """What must not happen to a metric.

    Attributes:
        metric: its name.
        sign: ``<``: the difference must not lie below the limit; ``>``: not above it.
        limit: difference from the baseline, in the unit of the metric.
    """

    metric: str
    sign: Literal["<", ">"]
    limit: float

    def is_broken_by(self, difference: float) -> bool:
        """Return whether a difference from the baseline lies beyond the limit."""
        return difference < self.limit if self.sign == "<" else difference > self.limit

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.limit:+}"


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One rule over one subset of the queries.

    Attributes:
        rule: what must not happen.
        base: the row of the baseline.
        row: the row of the run.
        difference: of the two, tested.
        verdict: how it ended.
        can_fail: whether the queries are enough for the test to show any difference, however large,
            at the level of the gate.
    """

    rule: Rule
    base: Row
    row: Row
    difference: Difference
    verdict: Verdict
    can_fail: bool

    @property
    def name(self) -> str:
        """The rule, and which queries it is checked on if not on all."""
        return f"{self.rule} of {self.row.subset}" if self.row.subset else str(self.rule)

    @property
    def numbers(self) -> tuple[str, str, str, str, str]:
        """Both scores, the difference with its bounds, and the corrected p, as text."""
        spec, difference = self.row.spec, self.difference
        return (
            spec.text(self.base.score.value),
            spec.text(self.row.score.value),
            spec.text(difference.value, signed=True),
            spec.interval(difference.low, difference.high, " to ", "+"),
            p_text(1.0 if difference.p_corrected is None else difference.p_corrected),
        )

    @property
    def reason(self) -> str:
        """One sentence: both scores, the difference with its interval, and the test."""
        baseline, score, difference, bounds, p = self.numbers
        return (
            f"{baseline} to {score}, a difference of {difference} ({bounds}) over "
            f"{count_noun(self.row.score.n, 'query')}, p {p if p.startswith('<') else f'= {p}'}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``target-bench gate --json``."""
        return {
            "rule": str(self.rule),
            "slice": self.row.subset,
            "n": self.row.score.n,
            "baseline": self.base.score.value,
            "score": self.row.score.value,
            "difference": asdict(self.difference),
            "verdict": self.verdict,
            "can_fail": self.can_fail,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Gate:
    """Rules, checked on a run.

    ```python
    from target_bench import evaluate, gate

    results = evaluate(["bm25", "tfidf"], "mini")
    outcome = gate(results["bm25"], results["tfidf"], "recall@10<-0.01")
    print(outcome.failed)  # True
    print(outcome)
    # The gate failed: recall@10<-0.01.
    # ...
    # recall@10<-0.01      .982  .936  -.046 [-.077, -.020]  < .001  failed
    # ...
    ```

    Attributes:
        run: the run folder.
        baseline: the file of the baseline as it was named, or the folder of its run.
        alpha: level of the test.
        checks: by rule, then subset.
        notes: what a reader should know of the metrics.
        remarks: what a reader must know to judge the verdict; part of the sentence.
    """

    run: Path
    baseline: str
    alpha: float
    checks: tuple[RuleCheck, ...]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what the terminal shows: the sentence, then the table."""
        return f"{self.sentence}\n\n{text([self.table()])}"

    @property
    def failed(self) -> bool:
        """Whether any rule is broken by more than noise."""
        return any(check.verdict == "failed" for check in self.checks)

    @property
    def sentence(self) -> str:
        """What the gate says, with the rules that decided it."""
        failed = [check.name for check in self.checks if check.verdict == "failed"]
        noise = [check.name for check in self.checks if check.verdict == "not significant"]
        unable = [check.name for check in self.checks if not check.can_fail]
        parts = [f"The gate failed: {', '.join(failed)}." if failed else "The gate passed."]
        if noise:
            parts.append(f"Not failed (not significant at {self.alpha:g}): {', '.join(noise)}.")
        if unable:
            parts.append(f"{', '.join(unable)} cannot fail: too few queries for the test.")
        return " ".join([*parts, *(f"{remark}." for remark in self.remarks)])

    @property
    def power(self) -> list[str]:
        """The smallest differences that the queries can detect, a sentence per metric."""
        rows = [check.row for check in self.checks]
        return list(describe_power(rows, dict.fromkeys(row.metric for row in rows)))

    def table(self) -> TextTable:
        """Return one line per check, as the terminal and Markdown show them."""
        is_divided = any(check.row.subset for check in self.checks)
        numbers = ("baseline", "run", "difference\n[95%]", "p")
        columns = [
            *map(Column, ("fail on", "slice") if is_divided else ("fail on",)),
            *(Column(name, right=True) for name in numbers),
            Column("verdict"),
        ]
        rows = []
        for check in self.checks:
            baseline, score, difference, bounds, p = check.numbers
            cells = [baseline, score, f"{difference}\n[{bounds.replace(' to ', ', ')}]", p]
            subset = [check.row.subset] if is_divided else []
            rows.append([str(check.rule), *subset, *cells, check.verdict])
        notes = [f"Note: {note.rstrip('.')}." for note in self.notes]
        return TextTable(columns, rows, note=" ".join([*self.power, *notes]))

    def markdown(self) -> str:
        """Return the table for a pull request."""
        title = "failed" if self.failed else "passed"
        table = markdown([self.table()])
        return f"### target-bench gate: {title}\n\n{self.sentence}\n\n{table}\n"

    def junit(self) -> bytes:
        """Return JUnit's XML: a test case per check."""
        failures = sum(check.verdict == "failed" for check in self.checks)
        counts = {"tests": str(len(self.checks)), "failures": str(failures)}
        title = f"target-bench gate {self.run.name}"
        suite = ElementTree.Element("testsuite", {"name": title, **counts})
        for check in self.checks:
            subset = f" [{check.row.subset}]" if check.row.subset else ""
            name = f"{check.rule}{subset}"
            case = ElementTree.SubElement(suite, "testcase", classname="gate", name=name)
            if check.verdict == "failed":
                ElementTree.SubElement(case, "failure", message=check.reason)
            else:
                ElementTree.SubElement(case, "system-out").text = f"{check.verdict}: {check.reason}"
        xml = _NOT_XML.sub("\ufffd", ElementTree.tostring(suite, encoding="unicode"))
        return f"<?xml version='1.0' encoding='utf-8'?>\n{xml}".encode()

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench gate --json`` prints."""
        return {
            "run": str(self.run),
            "baseline": self.baseline,
            "alpha": self.alpha,
            "failed": self.failed,
            "checks": [check.to_json() for check in self.checks],
            "notes": list(self.notes),
            "remarks": list(self.remarks),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return a record without nesting for each check, as ``gate --format csv`` prints it."""
        return [flat_record(check.to_json()) for check in self.checks]


def gate(
    baseline: RunLike,
    run: RunLike,
    fail_on: str | Sequence[str] = (),
    *,
    slices: Sequence[str] = (),
    by: Sequence[str] = (),
    alpha: float = 0.05,
    out: str | Path = "runs",
    id_column: str | None = None,
    value_column: str | None = None,
) -> Gate:
    """Check that a run is not worse than a baseline.

    ```python
    from target_bench import evaluate, gate

    results = evaluate(["bm25", "tfidf"], "mini")
    print(gate(results["bm25"], results["tfidf"], "recall@10<-0.01").failed)  # True
    ```

    A rule fails where the difference lies beyond its limit *and* the paired randomisation test,
    corrected (Holm) for all rules and slices, shows a difference in this direction: what noise
    explains does not fail.

    Args:
        baseline: a file of ``write_baseline``, or a stored run as ``run``.
        run: the run to check: a folder, an id or label under ``out`` (the newest run of a label),
            or a result.
        fail_on: a rule or several such as ``"recall@10<-0.01"``: the score must not be lower than
            the baseline's by more than .01. ``>`` is for metrics where lower is better. Default:
            the main metric of the task must not be worse by more than a hundredth of its scale.
        slices: conditions as ``compare`` takes them.
        by: names of properties, as in ``compare``.
        alpha: level of the test, between 0 and 1.
        out: the folder of all runs.
        id_column: of files with per-query values of other harnesses, see ``compare``. A query
            that the baseline has a value of and the run lacks counts as the worst value, and a run
            that lacks more than chance explains fails.
        value_column: of such files.

    Raises:
        ConfigError: a rule that cannot be read or broken, an unknown metric or run, a
            metric over no query, or no rule that so few queries can break.
        DataError: the two runs are not of the same task, tables and queries.
        StoreError: a run is not finished, or the baseline cannot be read.
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha={alpha}: expected a number between 0 and 1")
    written = [fail_on] if isinstance(fail_on, str) else fail_on
    rules = list(dict.fromkeys(map(parse_rule, written)))
    columns = choose_columns([run], id_column, value_column, [*slices, *by])
    if columns is not None:
        return _gate_values(baseline, run, columns, rules, alpha)
    if isinstance(baseline, str | Path) and Path(baseline).suffix == ".json":
        checked = find_run_to_check(run, out)
    else:
        baseline, checked = _find_runs(2, [baseline, run], out)
    with open_baseline(baseline, Path(out), checked) as base:
        metrics = [rule.metric for rule in rules]
        comparison = compare([base, checked], metrics, base, slices, by=by, out=out)
        notes, remarks = comparison.notes, comparison.remarks
        if not rules:
            # Now the main metric is known. It is compared alone, so that its p-value is not
            # corrected for metrics that no rule checks.
            metric = comparison.tested[0]
            rules = [_default_rule(metric, comparison.specs[metric])]
            comparison = compare([base, checked], [metric], base, slices, by=by, out=out)
        easy = list(_describe_easy(rules, read_run(base), read_run(checked)))
    # A baseline that was unpacked is called as the user named it.
    notes = tuple(note.replace(str(base), str(baseline)) for note in notes)
    if easy:  # these say more than the first comparison's remark that its metric cannot choose
        remarks = comparison.remarks
    remarks = (*(remark.rstrip(".") for remark in remarks), *easy)
    return Gate(checked, str(baseline), alpha, _check(rules, comparison, alpha), notes, remarks)


def _gate_values(
    baseline: Any, run: Any, columns: Columns, rules: list[Rule], alpha: float
) -> Gate:
    """Check a file of per-query values; the sign of a rule says which values are worse."""
    metric = columns.value
    if others := [rule.metric for rule in rules if rule.metric != metric]:
        raise ConfigError(
            f"{others[0]!r} is not the metric of these files, {metric!r} (--value) is; write for "
            f"example '{metric}<-0.01'"
        )
    signs = {rule.sign for rule in rules} or {"<"}
    if len(signs) > 1:
        raise ConfigError("--fail-on: rules of one metric have one sign, < or >")
    comparison = compare_values([baseline, run], columns, misses=signs.pop())
    rules = rules or [_default_rule(metric, comparison.specs[metric])]
    if HAS_VALUE in comparison.specs:
        rules.append(_default_rule(HAS_VALUE, comparison.specs[HAS_VALUE]))
    remarks = tuple(remark.rstrip(".") for remark in comparison.remarks)
    checks = _check(rules, comparison, alpha)
    return Gate(Path(str(run)), str(baseline), alpha, checks, remarks=remarks)


def _check(rules: Sequence[Rule], comparison: Comparison, alpha: float) -> tuple[RuleCheck, ...]:
    """Check the rules on a comparison of two runs, of which the first is the baseline."""
    pairs = list(zip(comparison.rows[::2], comparison.rows[1::2], strict=True))
    least = stats.holm([stats.least_p(max(base.score.n, row.score.n)) for base, row in pairs])
    checks = []
    for rule in rules:
        _check_limit(rule, comparison.specs[rule.metric])
        for (base, row), p in zip(pairs, least, strict=True):
            if row.metric != rule.metric:
                continue
            if row.difference is None:
                raise ConfigError(
                    f"{rule.metric}{f' of {row.subset}' if row.subset else ''} is over no query in "
                    "one of the runs; name another metric or slice"
                )
            verdict: Verdict = "passed"
            if rule.is_broken_by(row.difference.value):
                corrected = row.difference.p_corrected
                is_significant = corrected is not None and corrected < alpha
                verdict = "failed" if is_significant else "not significant"
            checks.append(RuleCheck(rule, base, row, row.difference, verdict, p < alpha))
    if not any(check.can_fail for check in checks):
        raise ConfigError(
            f"the gate cannot fail: the randomisation test of "
            f"{count_noun(max(check.row.score.n for check in checks), 'query')}, "
            f"corrected for {count_noun(len(pairs), 'test')}, never shows a "
            f"difference at the level {alpha:g}, however large; check more queries, or fewer "
            "metrics and slices, or raise --alpha"
        )
    return tuple(checks)


def _describe_easy(rules: Sequence[Rule], base: Result, run: Result) -> Iterator[str]:
    """Say of which rules both runs have the best possible score, and what falls beside it."""
    checked = dict.fromkeys(rule.metric for rule in rules)
    for metric in checked:
        family, _, k = metric.partition("@")
        if not k.isdigit() or not all(
            is_perfect(metric, r.stored.scores[metric]) for r in (base, run)
        ):
            continue
        value = find_spec(metric, base.stored.scores[metric]).text(base.scores[metric].value)
        remark = f"{metric} is {value} for both runs: too easy to choose at k = {k}"
        others = (
            name.partition("@")[::2] for name in base.stored.scores.keys() & run.scores.keys()
        )
        cutoffs = [int(cutoff) for name, cutoff in others if name == family and cutoff.isdigit()]
        if cutoffs and min(cutoffs) < int(k):
            name = f"{family}@{min(cutoffs)}"
            before, after = (find_spec(name).text(r.stored.scores[name].value) for r in (base, run))
            no_rule = "" if name in checked else ", and no rule checks it"
            remark += f"; look at {name}: {before} of the baseline, {after} of the run{no_rule}"
        yield remark


def find_run_to_check(run: RunLike, out: str | Path) -> Path:
    """Return the folder of the one run that is named: of a label, as ``bm25``, the newest run."""
    (folder,) = _find_runs(1, [run], out)
    return folder


def _find_runs(n: int, runs: Sequence[RunLike], out: str | Path) -> list[Path]:
    folders, _ = find_runs(runs, out)
    if len(folders) != n:
        names = list_first([folder.name for folder in folders], 4)
        raise ConfigError(
            f"a gate checks one run against one baseline, and {count_noun(len(folders), 'run')} "
            f"are named in place of {n}: {names}. Name each by its folder or id, as in `runs "
            "list`; in Python as results[0]"
        )
    return folders


# Rules


def _default_rule(metric: str, spec: MetricSpec) -> Rule:
    """Return the rule of a gate without any: not worse by more than a hundredth of the scale."""
    point = 0.01 * spec.top
    return Rule(metric, "<", -point) if spec.higher_is_better else Rule(metric, ">", point)


def _check_limit(rule: Rule, spec: MetricSpec) -> None:
    """Check that a run can be worse than the baseline by more than the limit."""
    default = _default_rule(rule.metric, spec)
    example = f"{default.metric}{default.sign}{default.limit:g}"
    if rule.sign != default.sign:
        better = "higher" if spec.higher_is_better else "lower"
        raise ConfigError(
            f"'{rule}': fails runs that are better than the baseline, because {better} is better "
            f"for {rule.metric}; write for example '{example}'"
        )
    if spec.scale != "unbounded" and abs(rule.limit) >= spec.top:
        raise ConfigError(
            f"'{rule}': never fails, because {rule.metric} is a number from {spec.range}; for "
            f"one percentage point write '{example}'"
        )


def parse_rule(text: str) -> Rule:
    """Read a rule such as ``recall@10<-0.01``."""
    match = _RULE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f"{text!r} is not a rule; write a metric, < or >, and a difference from the baseline, "
            "as in 'recall@10<-0.01'"
        )
    sign: Literal["<", ">"] = "<" if match["sign"] == "<" else ">"
    rule = Rule(canonical_name(match["metric"]), sign, float(match["limit"]))
    if rule.is_broken_by(0.0):
        raise ConfigError(
            f"{text!r}: a run that is equal to the baseline would fail, because the number is the "
            "difference from the baseline; write 'recall@10<-0.01' for a drop of more than .01"
        )
    return rule
