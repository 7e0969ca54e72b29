"""What a check is, how checks are run and reported, and what plug-ins have in common."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple
from unittest import SkipTest, TestCase

from target_bench.core import errors, registry
from target_bench.core.credentials import mask_settings
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import plugin_error
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.text_tables import count_noun

Plugin = Callable[..., Any] | str | Path


class CheckError(errors.PluginError, AssertionError):
    """A plug-in does not keep the contract; the message says how, a note how to fix it.

    ```python
    from target_bench.testing import CheckError, check_retriever

    class Lazy:
        def embed_corpus(self, corpus):
            pass

        def retrieve(self, query, top_k):
            return None

    try:
        check_retriever(Lazy)
    except CheckError as error:
        print(error)
    # Lazy: 0 checks passed, 1 failed, 7 skipped
    # failed  basics
    # retrieve('How high is Everest?', 10) on the ten ordinary tables returned None; ...
    ```
    """


class Check(NamedTuple):
    """One promise of a contract. A call tests it, and raises ``PluginError`` where it is broken.

    Where there is nothing to test it raises ``unittest.SkipTest``, which pytest knows.
    """

    name: str
    run: Callable[[], None]
    remedy: str = ""

    def __call__(self) -> None:
        """Test the promise."""
        try:
            self.run()
        except (SkipTest, errors.TargetBenchError, *errors.PASSED_ON) as error:
            if isinstance(error, CheckError):
                error.add_note(self.remedy)
            raise
        except BaseException as error:
            raise plugin_error(error, "it", f"the check {self.name}") from error

    def __str__(self) -> str:
        return self.name


class Outcome(NamedTuple):
    """What became of one check: what is wrong, or why it was skipped, in ``detail``."""

    check: str
    status: Literal["failed", "skipped", "passed"]
    detail: str = ""


class Report(NamedTuple):
    """What became of all checks of a plug-in, in their order; prints as a list, failures first.

    ```python
    from target_bench.testing import check_generator

    report = check_generator("extractive")
    print(report.failed)  # []
    print(report)
    # extractive: 2 checks passed, 0 failed, 1 skipped
    #   skipped many
    #     it has no generate_many of its own: it is asked one request at a time
    #   passed  basics, inputs
    ```
    """

    plugin: str
    outcomes: list[Outcome]

    @property
    def failed(self) -> list[Outcome]:
        """The broken promises."""
        return [o for o in self.outcomes if o.status == "failed"]

    @property
    def skipped(self) -> list[Outcome]:
        """The checks that did not run, each with the reason."""
        return [o for o in self.outcomes if o.status == "skipped"]

    def __str__(self) -> str:
        passed = [o for o in self.outcomes if o.status == "passed"]
        counts = f"{count_noun(len(passed), 'check')} passed, {len(self.failed)} failed"
        lines = [f"{self.plugin}: {counts}, {len(self.skipped)} skipped"]
        names: dict[tuple[str, str], list[str]] = {}
        for name, state, detail in (*self.failed, *self.skipped, *passed):
            names.setdefault((f"  {state:8}", detail), []).append(name)
        for (status, detail), checks in names.items():
            lines += [status + ", ".join(checks), *(f"    {x}" for x in detail.splitlines())]
        return "\n".join(lines)


def run(plugin: Any, checks: Iterable[Check], observer: Observer | None = None) -> Report:
    """Run checks, each regardless of the others; none but the first if that fails.

    Raises ``ConfigError`` where the plug-in cannot be made, or its model is not there.
    """
    name = getattr(plugin, "__name__", None) or mask_settings(str(plugin))
    checks, observer, outcomes = list(checks), observer or Observer(), list[Outcome]()
    observer.stage(f"{name}: check", total=len(checks))
    for check in checks:
        try:
            if outcomes and outcomes[0].status == "failed":
                raise SkipTest(f"not run, because {outcomes[0].check} failed")
            check()
            outcomes.append(Outcome(check.name, "passed"))
        except SkipTest as reason:
            outcomes.append(Outcome(check.name, "skipped", str(reason)))
        except errors.PASSED_ON:
            raise
        except Exception as error:
            if not outcomes and isinstance(error, errors.ConfigError):
                raise
            detail = "\n".join(filter(None, [str(error), *getattr(error, "__notes__", [])]))
            outcomes.append(Outcome(check.name, "failed", detail))
        observer.advance(1)
    return Report(name, outcomes)


@dataclass(eq=False)
class Contract:
    """The checks of one kind of plug-in: the public methods of a subclass, in order.

    ```python
    from target_bench.testing import retriever_checks

    checks = retriever_checks("bm25")
    print(checks[0].name, len(checks))  # basics 8
    checks[0]()
    ```

    A docstring is the promise and, after an empty line, how to keep it.
    """

    plugin: Plugin
    kind: ClassVar[registry.Kind]
    most_sent: ClassVar[int] = 0  # how many texts its checks may send to a model that costs money

    def __post_init__(self) -> None:
        """Set ``_make``, which makes a fresh plug-in at each call."""
        if isinstance(self.plugin, str):
            spec = registry.parse(self.kind, self.plugin)
            target = registry.spell_name(self.kind, spec.target)
            cls = registry.resolve(self.kind, target)
            if cls.__module__.startswith(FILE_MODULE):  # read once: what the class shares is one
                target = f"{cls.__module__}:{cls.__name__}"
            make = partial(registry.build, self.kind, target, spec.settings, text=self.plugin)
        elif isinstance(self.plugin, type | partial) or inspect.isroutine(self.plugin):
            make = partial(self.plugin)
        else:
            name = type(self.plugin).__name__
            raise errors.ConfigError(
                f"{name} is an object: pass its class, or a function that makes one"
            )
        self._make: Callable[[], Any] = make

    @classmethod
    def promises(cls) -> dict[str, str]:
        """Return name -> docstring of the checks."""
        methods = {n: f for n, f in vars(cls).items() if inspect.isfunction(f) and n[0] != "_"}
        return {name: inspect.getdoc(function) or "" for name, function in methods.items()}

    @classmethod
    def checks(
        cls, plugin: Plugin, skip: Mapping[str, str] | None = None, **options: Any
    ) -> list[Check]:
        """Return the checks of a plug-in, one by one.

        Args:
            plugin: its class, a function that makes one, or a name with settings as on the command
                line (``bm25:k1=0.9``, ``my_file.py:Mine``).
            skip: names of checks to leave out, each with the reason, which the report shows.
            **options: of the contract.

        Raises:
            ConfigError: an unknown name, or an object in place of a class. The first check raises
                it for an unknown setting, method or split, and for a model that is not there.
        """
        contract, promises = cls(plugin, **options), cls.promises()
        remedies = {n: " ".join(text.partition("\n\n")[2].split()) for n, text in promises.items()}
        checks = {n: Check(n, getattr(contract, n), remedy) for n, remedy in remedies.items()}
        for name, reason in (skip or {}).items():
            if name not in checks:
                raise errors.ConfigError(f"skip: {errors.unknown_name('check', name, checks)}")
            checks[name] = Check(name, partial(TestCase().skipTest, reason))
        return list(checks.values())

    @classmethod
    def check(cls, plugin: Plugin, **options: Any) -> Report:
        """Run ``checks``: return the report, or raise one ``CheckError`` of all faults."""
        report = run(plugin, cls.checks(plugin, **options))
        expect(not report.failed, str(report))
        return report


def expect(kept: object, message: str) -> None:
    """Fail the check with a message unless something is so."""
    if not kept:
        raise CheckError(message)


def expect_identity(make: Callable[[], Any], work: Callable[[Any], object]) -> None:
    """Fail unless a plug-in can be identified, and work leaves its identity as it was."""
    plugin = make()
    before, warning = plugin_identity(plugin)
    expect(not warning, str(warning))
    work(plugin)
    for problem, other in (("of another one differs", make()), ("is changed by its work", plugin)):
        after = plugin_identity(other)[0]
        expect(before == after, f"its identity {problem}: {before!r:.300}, then {after!r:.300}")
