"""Who takes part: what ranks and what answers, by name, as an object, or from a file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from target_bench.components.prompts.prompting import writer_of
from target_bench.core import contract, ranking, registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import Observer, RetrieverLike
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.prompt_writer import PromptOptions, PromptWriter
from target_bench.core.settings import masked_settings
from target_bench.core.task import Task
from target_bench.data.select import Loaded
from target_bench.evaluation.stages.consent import Confirm
from target_bench.evaluation.stages.generate import (
    ANSWER_MODES,
    Answerer,
    GeneratorLike,
    check_generator,
)
from target_bench.evaluation.stages.retrieve import MODES, Subject
from target_bench.runs import ranking_files


@dataclass(frozen=True)
class Answering:
    """How queries are answered, and the answers read.

    Attributes:
        generator: what answers: a generator, a name as on the command line, or an ``Answerer``.
        prompting: what prompts are made of.
        task: the task with its settings, as it was asked for; for the manifest.
        confirm: is asked before requests that may cost money.
        label: what the generator is called in results; default: as it was asked for.
    """

    generator: GeneratorLike | Answerer | str
    prompting: PromptOptions = field(default_factory=PromptOptions)
    task: str | None = None
    confirm: Confirm | None = None
    label: str | None = None

    def prompter(
        self, task: Task[Any], databases: Mapping[str, Path], follows_schema: bool
    ) -> PromptWriter:
        """Return what makes the requests of a task.

        Args:
            task: the task.
            databases: what it is about, if it is about databases.
            follows_schema: whether the generator follows JSON schemas.
        """
        return writer_of(task, self.prompting, databases, follows_schema)

    def answerer(self, task: Task[Any], observer: Observer) -> Answerer:
        """Return what answers the queries of a task.

        Raises:
            ConfigError: an unknown name, an invalid setting, or the object is not a generator.
        """
        generator = self.generator
        if isinstance(generator, Answerer):
            return generator
        if isinstance(generator, str) and generator in ANSWER_MODES:
            self._warn_of_prompt(generator, observer)
            answer = partial(ANSWER_MODES[generator].answer, task)
            return Answerer(generator, {"mode": generator}, answer=answer)
        label = generator if isinstance(generator, str) else type(generator).__name__
        if isinstance(generator, str):
            generator = registry.create("generator", generator, also=ANSWER_MODES)
        plugin = check_generator(generator)
        identity, warning = plugin_identity(plugin)
        if warning:
            observer.warning(warning)
        if not getattr(plugin, "converses", True):
            self._warn_of_prompt(label, observer)
        return Answerer(self.label or masked_settings(label), identity, generator=plugin)

    def _warn_of_prompt(self, label: str, observer: Observer) -> None:
        if self.prompting.prompt is not None:
            observer.warning(
                f"nothing says that {masked_settings(label)} reads prompts (converses = True), so "
                f"{self.prompting.prompt} may change none of its answers"
            )


def subject(retriever: RetrieverLike | str, observer: Observer) -> Subject:
    """Return what ranks.

    Raises:
        ConfigError: an unknown name, an invalid setting, or the object is not a retriever.
    """
    label = retriever if isinstance(retriever, str) else type(retriever).__name__
    if label in MODES and isinstance(retriever, str):
        return Subject(label, {"mode": label}, rank=MODES[label].rank)
    if isinstance(retriever, str):
        retriever = registry.create("retriever", label, also=MODES)
    plugin = contract.check_methods(retriever)
    identity, warning = plugin_identity(plugin)
    if warning:
        observer.warning(warning)
    identity["ranking"] = ranking.RULE
    return Subject(masked_settings(label), identity, retriever=plugin)


def given_rankings(
    run_file: str | Path | None, loaded: Loaded, limit: int | None, observer: Observer
) -> Subject:
    """Return the rankings of a run file, which may have more than the first ``limit`` queries.

    Raises:
        ConfigError: no file was named.
        DataError: the file is missing or broken.
    """
    if run_file is None:
        raise ConfigError(
            f"task {RANKING_TASK}: name the rankings to score with run_file (--run); to score "
            "answers, name their task with --task (target-bench list tasks)"
        )
    given = ranking_files.read(Path(run_file), loaded.dataset)
    for note in given.notes(loaded.limited(limit).dataset.queries):
        observer.warning(note)
    return Subject(Path(run_file).name, {"run_file": given.sha256}, rank=given.rank)


def given_answers(
    predictions: str | Path | None,
    order: str | Path | None,
    loaded: Loaded,
    observer: Observer,
) -> Answering:
    """Return the answers of a predictions file.

    Raises:
        ConfigError: no file was named.
        DataError: the file is missing or broken, or answers no query of the split.
    """
    if predictions is None:
        raise ConfigError(
            "name the answers to score with predictions (--predictions); to score rankings, name "
            f"the task {RANKING_TASK}"
        )
    settings = {"file": str(predictions)} | ({"order": str(order)} if order else {})
    replay = registry.build("generator", "replay", settings)
    asked = [query.id for query in loaded.dataset.queries]
    replay.query_ids = asked
    n, known = len(replay.answers), len(replay.answers.keys() & set(asked))
    if replay.in_corpus_order:
        observer.warning(
            f"{predictions} names no query ids: its answers were taken in the order of the corpus. "
            "If they are in another one, name it with --order."
        )
    if order is not None and not replay.by_position:
        observer.warning(f"{predictions} names its queries: {order} (--order) changes nothing")
    where = f"{loaded.dataset.info.name} {loaded.dataset.split}"
    if not known:
        raise DataError(f"{predictions}: none of its {n} query ids is in {where}")
    if known < n:
        observer.warning(
            f"{predictions}: {n - known} of its {n} answers are to no query of {where}, and were "
            "not used"
        )
    return Answering(replay, label=Path(predictions).name)
