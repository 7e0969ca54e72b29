"""All that the arena finds of some metrics, on one corpus."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.core.schema import Dataset
from target_bench.harness.arena.comparison_sets import ranked_sets, tables_of
from target_bench.harness.arena.human_agreement import (
    HumanAgreement,
    PairedTest,
    file_order,
    human_agreement,
    paired_tests,
)
from target_bench.harness.arena.judged_metrics import SPECS, judged_agreement
from target_bench.harness.arena.known_errors import ErrorDetection, Share, error_detection
from target_bench.harness.arena.rubric_weights import WeightRobustness, weight_robustness
from target_bench.harness.arena.tested_metrics import DEFAULT, metric_under_test
from target_bench.models.perturbations.drawing import Perturbation, draw

PERTURBATIONS = 300
"""Perturbed tables that are drawn unless there are others: ten of each change."""


@dataclass(frozen=True)
class Arena:
    """What was found.

    Attributes:
        corpus: name and split of the tables that people ranked.
        sets: how many sets these are.
        specs: name of a metric -> its declaration.
        people: agreement of each metric with people, best first; the file order is among them,
            and metrics that score no set come last.
        tests: every two of them against each other.
        errors: what each metric does with known errors.
        perturbations: how many tables with a known change.
        weights: TabXEval's score under other weights.
    """

    corpus: str
    sets: int
    specs: Mapping[str, MetricSpec]
    people: Sequence[HumanAgreement]
    tests: Sequence[PairedTest]
    errors: Sequence[ErrorDetection]
    perturbations: int
    weights: WeightRobustness

    def label(self, name: str) -> str:
        """Return the name of a metric for people."""
        return self.specs[name].label or name if name in self.specs else name

    def to_json(self) -> dict[str, Any]:
        """Return all figures; scores under drawn weights as quantiles."""
        return {
            "corpus": self.corpus,
            "sets": self.sets,
            "perturbations": self.perturbations,
            "metrics": {name: spec.to_json() for name, spec in self.specs.items()},
            "people": [_of_people(one) for one in self.people],
            "tests": [asdict(one) | {"difference": _known(one.difference)} for one in self.tests],
            "errors": [_of_errors(one) for one in self.errors],
            "weights": {
                "named": self.weights.named,
                "drawn": self.weights.drawn.tolist(),
                "best": self.weights.best,
            },
        }


def run_arena(
    dataset: Dataset,
    metrics: Sequence[str] = (),
    perturbations: Sequence[Perturbation] | None = None,
    judge: Any = None,
) -> Arena:
    """Test metrics of tables.

    Args:
        dataset: a corpus with tables ranked by people.
        metrics: as ``metric_under_test`` takes them, besides those of ``DEFAULT``.
        perturbations: tables with known changes; default: drawn from the tables of the corpus.
        judge: a generator, as on the command line, or an object: with it P-Score and TabXEval with
            a model are tested on the ranked tables, too.

    Raises:
        ConfigError: the corpus has no such tables, or a metric is unknown.
        PluginError: a metric of a user's own fails.
    """
    sets = ranked_sets(dataset)
    if perturbations is None:
        perturbations = draw(tables_of(dataset), PERTURBATIONS).perturbations
    chosen = [metric_under_test(name) for name in dict.fromkeys((*DEFAULT, *metrics))]
    specs = [one.spec for one in chosen] + ([] if judge is None else [*SPECS])
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise ConfigError(f"two of the metrics have the same name: {', '.join(names)}")
    errors = [error_detection(perturbations, one) for one in chosen]
    people = [human_agreement(sets, one) for one in chosen]
    if judge is not None:
        people += judged_agreement(sets, judge)
    people.append(file_order(sets))
    people.sort(key=lambda one: -one.means["spearman"].value if one.n else math.inf)
    return Arena(
        f"{dataset.info.name} {dataset.split}",
        len(sets),
        {spec.name: spec for spec in specs},
        people,
        paired_tests(people),
        errors,
        len(perturbations),
        weight_robustness(sets),
    )


def _of_people(one: HumanAgreement) -> dict[str, Any]:
    return {
        "metric": one.name,
        "n": one.n,
        **{
            measure: {key: _known(value) for key, value in asdict(mean).items()}
            for measure, mean in one.means.items()
        },
        "tied": one.tied,
        "seconds_per_1000": 1000 * one.seconds / one.pairs,
        "rho": list(map(_known, one.rho.tolist())),
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _of_errors(one: ErrorDetection) -> dict[str, Any]:
    shares = {"sensitivity": one.sensitivity, "specificity": one.specificity, "auc": one.auc}
    return {
        "metric": one.name,
        **{name: _of_share(share) for name, share in shares.items()},
        "by_change": {name: _of_share(share) for name, share in one.by_change.items()},
        "by_level": {name: _of_share(share) for name, share in one.by_level.items()},
    }


def _of_share(share: Share) -> dict[str, Any]:
    return {"value": _known(share.value), "n": share.n}
