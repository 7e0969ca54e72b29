"""The contract of a retriever as a list of checks."""

from collections.abc import Callable, Mapping
from typing import Any

from target_bench.testing import retriever_answers as answers
from target_bench.testing import retriever_state as state
from target_bench.testing.checks import Check, CheckFunction, Report, assemble, maker, run

TOLERANCE = 1e-4
"""More than the order of additions changes in single precision."""

_BASICS = (answers.check_basics,)
_ALIKE = (*_BASICS, state.check_determinism)
_STEADY = (*_ALIKE, answers.check_top_k, state.check_independence)

CHECKS: Mapping[CheckFunction, tuple[CheckFunction, ...]] = {
    answers.check_basics: (),
    answers.check_top_k: _BASICS,
    answers.check_best_first: _BASICS,
    state.check_determinism: _BASICS,
    state.check_independence: (*_ALIKE, answers.check_top_k),
    answers.check_prefix: (*_STEADY, answers.check_best_first),
    answers.check_scores: (*_BASICS, answers.check_best_first),
    answers.check_batch: _STEADY,
    answers.check_texts: _BASICS,
    answers.check_lengths: _BASICS,
    state.check_notes: _BASICS,
    answers.check_tables: _BASICS,
    answers.check_one_table: _BASICS,
    answers.check_ids: _BASICS,
    answers.check_copies: _BASICS,
    answers.check_databases: _BASICS,
    state.check_next_corpus: _STEADY,
    state.check_instances: _STEADY,
    state.check_no_label_leak: _ALIKE,
    state.check_opaque_ids: (*_ALIKE, answers.check_ids),
    state.check_identity: _BASICS,
    state.check_settings: (*_ALIKE, state.check_identity),
    state.check_save_load: (*_STEADY, state.check_identity),
    state.check_memory: _ALIKE,
}
"""Each check, and those that have to pass before it means anything.

Those up to ``notes`` may share a retriever; the later ones index other tables.
"""


def check_retriever(
    retriever: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> Report:
    """Test whether a retriever keeps the contract.

    Args:
        retriever: its class, a function that makes one, or a name with settings as on the command
            line (``bm25:k1=0.9``, ``my_file.py:Mine``).
        settings: arguments for the class or function.
        skip: names of checks to leave out, each with the reason, which the report shows.
        tolerance: how far two scores of one query and table may lie apart, as a share of the
            larger one, or as they are where that is below 1. Raise it for half precision.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to fix them.
        ConfigError: an unknown name or setting, an object in place of a class, or a model or
            extra that is not there.
    """
    name, checks = _assembled(retriever, settings, skip, tolerance)
    return run(name, checks).raise_failures()


def retriever_checks(
    retriever: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> list[Check]:
    """Return the single checks of a retriever; arguments and errors as for ``check_retriever``.

    With pytest::

        @pytest.mark.parametrize("check", retriever_checks(MyRetriever), ids=str)
        def test_contract(check):
            check()
    """
    return _assembled(retriever, settings, skip, tolerance)[1]


def _assembled(
    retriever: Callable[..., Any] | str,
    settings: Mapping[str, Any] | None,
    skip: Mapping[str, str] | None,
    tolerance: float,
) -> tuple[str, list[Check]]:
    made = maker("retriever", "embed_corpus", retriever, settings, tolerance)
    return made.name, assemble(made, CHECKS, skip)
