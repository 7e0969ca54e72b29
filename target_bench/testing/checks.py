"""What a check is, how checks are run and reported, and what plug-ins have in common."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    PluginError,
    TargetBenchError,
    unknown_name,
)
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.registry import Kind
from target_bench.core.text_tables import counted
from target_bench.core.user_code import described, place


class CheckError(PluginError, AssertionError):
    """A plug-in does not keep the contract; the message says how, a note how to fix it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of a contract, tested on one plug-in by calling it.

    A call raises ``CheckError`` where the promise is broken, with the remedy as a note, or what the
    plug-in raised; and ``unittest.SkipTest``, which pytest knows, where there is nothing to test.

    Attributes:
        name: what reports and ``skip`` call it.
        run: tests the promise.
        remedy: how to keep it.
    """

    name: str
    run: Callable[[], None]
    remedy: str = ""

    def __call__(self) -> None:
        """Test the promise."""
        try:
            self.run()
        except CheckError as error:
            if self.remedy:
                error.add_note(self.remedy)
            raise

    def __str__(self) -> str:
        return self.name


class Outcome(NamedTuple):
    """What became of one check: what is wrong, or why it was skipped, in ``detail``."""

    check: str
    status: Literal["passed", "failed", "skipped"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all checks of one plug-in, in their order; prints as a list, failures first.

    Attributes:
        plugin: what was checked.
        outcomes: one a check.
    """

    plugin: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The broken promises."""
        return tuple(o for o in self.outcomes if o.status == "failed")

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """The checks that did not run, each with the reason."""
        return tuple(o for o in self.outcomes if o.status == "skipped")

    def __str__(self) -> str:
        passed = tuple(o for o in self.outcomes if o.status == "passed")
        counts = f"{counted(len(passed), 'check')} passed, {len(self.failed)} failed"
        lines = [f"{self.plugin}: {counts}, {len(self.skipped)} skipped"]
        names: dict[tuple[str, str], list[str]] = {}
        for outcome in (*self.failed, *self.skipped, *passed):
            names.setdefault((outcome.status, outcome.detail), []).append(outcome.check)
        for (status, detail), checks in names.items():
            lines.append(f"  {status:8}{', '.join(checks)}")
            lines += [f"    {line}" for line in detail.splitlines()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {"plugin": self.plugin, "outcomes": [o._asdict() for o in self.outcomes]}

    def raise_failures(self) -> "Report":
        """Return the report itself; raises ``CheckError`` with its text if a check failed."""
        if self.failed:
            raise CheckError(str(self))
        return self


def run(plugin: Any, checks: Iterable[Check], observer: Observer | None = None) -> Report:
    """Run checks, each regardless of the others; none but the first if that fails.

    Args:
        plugin: what is checked, for the report: text, or a class or function, which has a name.
        checks: the checks.
        observer: is notified of progress.

    Raises:
        ConfigError: the plug-in cannot be made, or its model is not there.
    """
    name = plugin if isinstance(plugin, str) else getattr(plugin, "__name__", str(plugin))
    checks, observer, outcomes = list(checks), observer or Observer(), list[Outcome]()
    observer.stage(f"{name}: check", total=len(checks))
    for check in checks:
        if outcomes and outcomes[0].status == "failed":
            reason = f"not run, because {outcomes[0].check} failed"
            outcomes.append(Outcome(check.name, "skipped", reason))
        else:
            outcomes.append(_outcome(check, is_first=not outcomes))
        observer.advance(1)
    return Report(name, tuple(outcomes))


def _outcome(check: Check, is_first: bool) -> Outcome:
    try:
        check()
    except SkipTest as reason:
        return Outcome(check.name, "skipped", str(reason))
    except PASSED_ON:
        raise
    except BaseException as error:
        if is_first and isinstance(error, ConfigError):
            raise
        is_told = isinstance(error, TargetBenchError)
        problem = str(error) if is_told else f"raised {described(error)}{place(error)}"
        return Outcome(check.name, "failed", "\n".join([problem, *getattr(error, "__notes__", [])]))
    return Outcome(check.name, "passed")


class Contract:
    """The checks of one kind of plug-in: the public methods of a subclass, in order.

    The name of a method is the name of the check; its docstring is the promise and, after an empty
    line, how to keep it. If the first one fails, the others do not run.
    """


def promises(contract: type[Contract]) -> dict[str, str]:
    """Return name -> docstring of the checks of a contract."""
    public = {n: f for n, f in vars(contract).items() if inspect.isfunction(f) and n[0] != "_"}
    return {name: inspect.getdoc(function) or "" for name, function in public.items()}


def checks_of(contract: Contract, skip: Mapping[str, str] | None) -> list[Check]:
    """Return the checks of a contract, those to skip (name -> reason) included.

    Raises:
        ConfigError: a check to skip that does not exist.
    """
    docstrings = promises(type(contract))
    for name in skip or {}:
        if name not in docstrings:
            raise ConfigError(f"skip: {unknown_name('check', name, docstrings)}")
    checks = []
    for name, docstring in docstrings.items():
        _, _, remedy = docstring.partition("\n\n")
        run = partial(_skip, skip[name]) if skip and name in skip else getattr(contract, name)
        checks.append(Check(name, run, " ".join(remedy.split())))
    return checks


def _skip(reason: str) -> None:
    raise SkipTest(reason)


def expect(kept: object, message: str) -> None:
    """Fail the check with a message unless something is so."""
    if not kept:
        raise CheckError(message)


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Raise what code of the plug-in raises as a ``PluginError`` that names the call.

    Errors of this package, which say more, pass through.
    """
    try:
        yield
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        raise PluginError(f"{what} raised {described(error)}{place(error)}") from error


def maker(kind: Kind, plugin: Callable[[], Any] | str) -> Callable[[], Any]:
    """Return a function that makes the plug-in under test, a fresh one at each call.

    Args:
        kind: what it is.
        plugin: its class, a function that makes one, or a name with settings as on the command
            line.

    Raises:
        ConfigError: an unknown name, or an object in place of a class.
    """
    if isinstance(plugin, str):
        spec = registry.parse(kind, plugin)
        target = registry.canonical(kind, spec.target)
        cls = registry.resolve(kind, target)
        if cls.__module__.startswith(FILE_MODULE):  # read once: what the class shares is one
            target = f"{cls.__module__}:{cls.__name__}"
        return lambda: registry.build(kind, target, spec.settings, text=plugin)
    if not (isinstance(plugin, type | partial) or inspect.isroutine(plugin)):
        raise ConfigError(
            f"{type(plugin).__name__} is an object; most checks need a fresh one, so pass the "
            "class, or a function that makes one"
        )

    def make() -> Any:
        with calling("the constructor without arguments"):
            return plugin()

    return make


def expect_identity(make: Callable[[], Any], work: Callable[[Any], object]) -> None:
    """Fail unless a plug-in can be identified, and work leaves its identity as it was."""
    plugin = make()
    before, warning = plugin_identity(plugin)
    expect(not warning, str(warning))
    work(plugin)
    for problem, after in (
        ("two that are made the same way differ", plugin_identity(make())[0]),
        ("its work changes what identifies it", plugin_identity(plugin)[0]),
    ):
        expect(before == after, f"{problem}: {before!r:.300}, then {after!r:.300}")
