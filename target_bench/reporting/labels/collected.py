"""What came back from a form: the labels of all people, how far they agree, what is still open."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from target_bench.core.schema import Dataset, TableId
from target_bench.reporting.labels.label_agreement import Agreement, agreements
from target_bench.reporting.labels.labelled_queries import StratumCount, stratum_counts
from target_bench.reporting.labels.merged_labels import Merged, State, merged
from target_bench.reporting.labels.read_labels import Labels, read_all


@dataclass(frozen=True, slots=True)
class Collected:
    """What people said in their copies of a form.

    Attributes:
        labels: of each person.
        by_query: query id -> what they say together.
        agreements: of each pair of people.
        by: the properties that the sample was proportional over.
        strata: the parts of all questions that these make.
    """

    labels: tuple[Labels, ...]
    by_query: Mapping[str, Merged]
    agreements: tuple[Agreement, ...]
    by: tuple[str, ...]
    strata: tuple[StratumCount, ...]

    def count(self, state: State) -> int:
        """Return how many questions stand so."""
        return sum(one.state == state for one in self.by_query.values())

    @property
    def n_relevant(self) -> int:
        """How many tables were found relevant, over all questions."""
        return sum(len(one.relevant) for one in self.by_query.values())

    @property
    def n_judged(self) -> int:
        """How many tables were found relevant or not."""
        return self.n_relevant + sum(len(one.not_relevant) for one in self.by_query.values())

    @property
    def without_relevant(self) -> list[str]:
        """The labelled questions whose pool has no relevant table."""
        return [
            name
            for name, one in self.by_query.items()
            if one.state == "labelled" and one.not_relevant and not one.relevant
        ]

    def disagreements(self) -> Iterator[tuple[str, TableId | None, Mapping[str, Sequence[str]]]]:
        """Yield (query id, table or None for the question itself, what was said -> by whom)."""
        for name, one in self.by_query.items():
            for table in one.disputed:
                yield name, table, self._said(name, table)
            if one.state == "disputed":
                yield name, None, self._said(name, None)

    def _said(self, name: str, table: TableId | None) -> dict[str, list[str]]:
        said: dict[str, list[str]] = {}
        for one in self.labels:
            given = one.by_query.get(name)
            if given is None:
                continue
            word = given.tables.get(table) if table else given.text or given.verdict or "accepted"
            if word:
                said.setdefault(word, []).append(one.annotator or "(no name)")
        return said

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench labels read --json`` prints."""
        states = Counter(one.state for one in self.by_query.values())
        return {
            "annotators": [one.annotator for one in self.labels],
            "questions": dict(states),
            "judged": self.n_judged,
            "relevant": self.n_relevant,
            "without_relevant": self.without_relevant,
            "agreement": [asdict(one) for one in self.agreements],
            "disagreements": [
                {"query_id": name, "table": table and list(table), "said": said}
                for name, table, said in self.disagreements()
            ],
            "strata": [asdict(one) | {"weight": one.weight} for one in self.strata],
        }


def collect(files: Sequence[Path], dataset: Dataset) -> Collected:
    """Read what people saved.

    Args:
        files: the files, each of another person.
        dataset: the questions and tables that the form was written of.

    Raises:
        ConfigError: the questions have no property that the sample was drawn by.
        DataError: a file is not what a form about these questions saved.
    """
    labels = read_all(files, dataset.queries, dataset.corpus)
    found = merged(labels)
    by = labels[0].by
    return Collected(
        tuple(labels),
        found,
        tuple(agreements(labels)),
        by,
        tuple(stratum_counts(dataset.queries, found, by)) if by else (),
    )
