"""The contracts of a retriever and of a generator as checks, on ``samples``."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from math import isclose
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import SkipTest

from target_bench.core import contract, index_store
from target_bench.core.errors import ConfigError, PluginError, TargetBenchError
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.schema import Generation, GenerationRequest, Query, Retrieval
from target_bench.models.generator_calls import iterate_answers
from target_bench.testing import samples
from target_bench.testing.checks import CheckError, Contract, expect, expect_identity
from target_bench.testing.samples import QUERIES, TEXTS, Sample


@dataclass(eq=False)
class RetrieverContract(Contract):
    """The checks of a retriever. Making one may load a model, so most of them share ``_first``.

    ```python
    from target_bench.testing import check_retriever

    report = check_retriever("bm25")
    print([outcome.check for outcome in report.outcomes])
    # ['basics', 'top_k', 'determinism', 'batch', 'inputs', 'corpora', 'opaque_ids', 'save_load']
    ```

    Attributes:
        tolerance: how far two scores of a query and a table may lie apart, relative where they are
            above 1. The default is for single precision.
    """

    most_sent = 1_000
    kind = "retriever"
    tolerance: float = 1e-4

    def basics(self) -> None:
        """It can be made, has both methods, and ranks ordinary tables for usual queries."""
        retriever = contract.check_retriever(self._make())
        if getattr(retriever, "reads_gold", False):
            raise ConfigError(
                f"{type(retriever).__name__} declares reads_gold: it is a bound and no system, and "
                "the checks have no gold tables. Run it: target-bench run mini --retriever NAME"
            )
        _ = self._rankings  # made here, to raise here

    def top_k(self) -> None:
        """It returns at most `top_k` tables, best first: the first ones of every longer ranking.

        Rank before you cut at top_k, and return -distance where a small number is good.
        """
        wrong = [r.query_id for r in self._rankings if r.resorted]
        expect(not wrong, f"the tables for {wrong[:1]} are in another order than their scores")
        for k in (1, 3, 9, 1000):
            head = [Retrieval(r.query_id, r.tables[:k], r.scores[:k]) for r in self._rankings]
            shorter = ask_retriever(self._first, samples.ordinary(), k=k)
            when = f"with top_k={k} than at the head of top_k=10: its ranking depends on how many "
            when += "tables are asked for, and a run asks it at each cutoff by itself"
            self._expect_same(shorter, head, when)

    def determinism(self) -> None:
        """A query is answered only from its text and the tables: by another one, again, later.

        Seed what is random, sort what comes from a set, and keep nothing of earlier queries.
        """
        sample = samples.ordinary()
        expect_identity(self._make, lambda made: ask_retriever(self._index(sample, made), sample))
        fresh = ask_retriever(self._index(sample), sample)
        self._expect_same(fresh, self._rankings, "from another one that is made the same way")
        ask_retriever(self._first, sample, ("zebra", *QUERIES[:2]), k=1)
        backwards = ask_retriever(self._first, sample, QUERIES[::-1])[::-1]
        self._expect_same(backwards, self._rankings, "when asked again in another order")

    def batch(self) -> None:
        """`retrieve_batch` answers as `retrieve` does, in the order of the queries."""
        if not _overrides(self._first, "retrieve_batch"):
            raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
        texts = (*QUERIES, "zebra", *TEXTS, *QUERIES[::-1])
        for k in (10, 3):
            together = ask_retriever(self._first, samples.ordinary(), texts, k, together=True)
            alone = ask_retriever(self._first, samples.ordinary(), texts, k)
            self._expect_same(together, alone, "from retrieve_batch than from retrieve")

    def inputs(self) -> None:
        """Any text is a query, and any table is indexed and returned under its id.

        Key tables by the whole of table.id: some have the same content, title or table_id.
        """
        ask_retriever(self._first, samples.ordinary(), TEXTS)
        sample = samples.odd()
        group_of = dict(zip(sample.corpus.ids, sample.corpus.groups, strict=True))
        for ranking in ask_retriever(self._index(sample), sample):
            scores = ranking.scores or range(len(ranking.tables))
            pairs = zip(ranking.tables, scores, strict=True)
            cut = {group_of[table] for table, score in pairs if score == scores[-1]}
            whole = {group_of[table] for table in ranking.tables} - cut
            lost = [t for t, g in group_of.items() if g in whole and t not in ranking.tables]
            copies = ", ".join(map(str, lost))
            where = f"{ranking.query_id!r:.60} got a table, and worse ones"
            expect(not lost, f"{where}, but not its copies {copies}")

    def corpora(self) -> None:
        """`embed_corpus` with another corpus replaces the first, and no other one's index.

        Keep the index on self, and begin embed_corpus with an empty one.
        """
        sample, other = samples.ordinary(), samples.other()
        retriever, expected = self._index(sample), ask_retriever(self._index(other), other)
        again = ask_retriever(retriever, sample)
        self._expect_same(again, self._rankings, "after another one indexed another corpus")
        again = ask_retriever(self._index(other, retriever), other)
        self._expect_same(again, expected, "after a second embed_corpus")

    def opaque_ids(self) -> None:
        """Rankings do not change when tables get other ids.

        Ids can tell labels: leave them out of what you index, or skip this check and say why.
        """
        renamed = samples.ordinary(telling_ids=True)
        ids = dict(zip(renamed.corpus.ids, samples.ordinary().corpus.ids, strict=True))
        rankings = [
            Retrieval(r.query_id, tuple(map(ids.__getitem__, r.tables)), r.scores)
            for r in ask_retriever(self._index(renamed), renamed)
        ]
        self._expect_same(rankings, self._rankings, "when the ids hold words of queries")

    def save_load(self) -> None:
        """A saved index, loaded by a fresh one, ranks as before.

        Write all that retrieve needs into the folder of save, which is renamed afterwards.
        """
        own = [name for name in ("save", "load") if _overrides(self._first, name)]
        if not own:
            raise SkipTest("it has no save and load, so its index is built again in each run")
        expect(len(own) == 2, f"it has {own[0]} alone; save and load go together")
        sample, fresh = samples.ordinary(), self._make()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            index = Path(folder) / "index"
            try:
                index_store.save_index(self._index(sample), sample.corpus, index)
                index_store.load_index(fresh, sample.corpus, index)
            except ConfigError as error:  # it does not promise to
                raise SkipTest(str(error)) from error
            self._expect_same(ask_retriever(fresh, sample), self._rankings, "from a loaded index")

    def _index(self, sample: Sample, retriever: Any = None) -> Any:
        """Return a fresh one, or the given one, that has indexed a sample."""
        retriever = retriever or self._make()
        sample.looked_for.clear()
        with plugin_errors("it", f"embed_corpus on {sample.name}"):
            retriever.embed_corpus(sample.corpus)
        expect(not sample.looked_for, f"it looked for corpus.{', corpus.'.join(sample.looked_for)}")
        return retriever

    @cached_property
    def _first(self) -> Any:
        """One that has indexed the ordinary tables."""
        return self._index(samples.ordinary())

    @cached_property
    def _rankings(self) -> list[Retrieval]:
        """How it ranks the ordinary tables at first."""
        return ask_retriever(self._first, samples.ordinary())

    def _expect_same(
        self, rankings: Sequence[Retrieval], expected: Sequence[Retrieval], when: str
    ) -> None:
        """Fail unless rankings are as expected, but for tables of scores within the tolerance."""
        near = partial(isclose, rel_tol=self.tolerance, abs_tol=self.tolerance)
        for ranking, other in zip(rankings, expected, strict=True):
            score_of = dict(zip(other.tables, other.scores, strict=False))
            columns = (ranking.tables, ranking.scores, other.tables, other.scores)
            for table, score, instead, its_score in zip_longest(*columns):
                same = table == instead
                if table and instead and score is not None and its_score is not None:
                    expected_score = score_of.get(table, other.scores[-1])  # cut off in a tie
                    same = near(score, its_score) and near(score, expected_score)
                got = f"{table} ({score}) in place of {instead} ({its_score})"
                expect(same, f"{ranking.query_id!r:.60} got {got} {when}")


def ask_retriever(
    retriever: Any, sample: Sample, queries: Sequence[str] = (), k: int = 0, together: bool = False
) -> list[Retrieval]:
    """Return rankings as the harness reads them, each under its query; a fault is an error."""
    k = k or len(sample.corpus)
    batch = [Query(text, text, ()) for text in queries or sample.queries]
    interface = retriever if together else SimpleNamespace(retrieve=retriever.retrieve)
    rankings = retrieve_tables(interface, batch, k, sample.corpus)
    for query, error in ((r.query_id, r.error) for r in rankings if r.error is not None):
        raise PluginError(f"retrieve({query!r:.60}, {k}) on {sample.name} {error}")
    return rankings


def _overrides(retriever: Any, name: str) -> bool:
    inherited = getattr(type(retriever), name, None) is getattr(contract.Retriever, name)
    return callable(getattr(retriever, name, None)) and not inherited


class GeneratorContract(Contract):
    """The checks of a generator. It is asked, so one that is paid for costs.

    ```python
    from target_bench.testing import check_generator

    report = check_generator("extractive")
    print([outcome.check for outcome in report.outcomes])  # ['basics', 'inputs', 'many']
    ```
    """

    kind = "generator"
    most_sent = 100

    def basics(self) -> None:
        """It can be made, has `generate`, and answers requests of every task, left as they are."""
        generator, requests = self._make(), samples.requests()
        has_method = callable(getattr(generator, "generate", None))
        expect(has_method, f"{type(generator).__name__} has no method generate(request)")
        contract.check_generator(generator)
        errors = [answer.error for answer in _ask_generator(generator, requests)]
        expect(None in errors, f"every request failed; the first {errors[0]}")
        expect(requests == samples.requests(), "it changes the tables or messages of its request")
        expect_identity(self._make, lambda made: _ask_generator(made, requests[:1]))
        if getattr(generator, "follows_schema", False):
            schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
            request = samples.request("schema", QUERIES[0], answer_schema=schema)
            (answer,) = _ask_generator(generator, [request])
            promise = f"the JSON that follows_schema promises: {answer.error or answer.text!r:.200}"
            with plugin_errors("it", promise):
                json.loads(answer.text)

    def inputs(self) -> None:
        """Any request is answered under its own id, or fails and costs that one answer.

        Return a Generation with its error set in place of an exception.
        """
        for together in (False, True):
            _ask_generator(self._make(), samples.odd_requests(), together)

    def many(self) -> None:
        """`generate_many` gives each request one answer, that of `generate`, under its id."""
        generator, base = self._make(), contract.Generator.generate_many
        if getattr(type(generator), "generate_many", base) is base:
            raise SkipTest("it has no generate_many of its own: it is asked one request at a time")
        modes = (True, False, False)
        answers = [_ask_generator(generator, samples.requests(), together) for together in modes]
        for together, alone, again in zip(*answers, strict=True):
            may_differ = alone.text != again.text or together.error or alone.error
            texts = f"generate_many gave {together.text!r:.80}, and generate {alone.text!r:.80}"
            expect(together.text == alone.text or may_differ, texts)


def _ask_generator(
    generator: Any, requests: Sequence[GenerationRequest], together: bool = False
) -> list[Generation]:
    """Return answers, in the order of requests, as the harness reads them; faults are errors."""
    interface = generator if together else SimpleNamespace(generate=generator.generate)
    try:
        made = iterate_answers(interface, requests, label=type(generator).__name__)
        answers = {answer.query_id: answer for answer in made}
    except TargetBenchError as fault:
        raise CheckError(f"one of {len(requests)} requests ended the run: {fault}") from fault
    for answer in answers.values():
        error = answer.error or ""
        is_sound = not error.startswith(("contract:", "missing: no answer was given"))
        expect(is_sound, f"the answer to {answer.query_id!r:.60}: {error}")
        expect(not (error and answer.text), f"an answer has both a text and the error {error!r}")
    return [answers[request.query_id] for request in requests]
