"""What a check is, how checks are run, and what they report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar
from unittest import SkipTest

from target_bench.core import registry, unknown_names
from target_bench.core.errors import PASSED_ON, ConfigError, PluginError
from target_bench.core.observer import Observer
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.registry import Kind
from target_bench.core.settings import masked_settings
from target_bench.core.user_code import described, place, whole_traceback

Status = Literal["passed", "failed", "skipped"]


class CheckError(PluginError, AssertionError):
    """A plug-in does not keep the contract; the message says how, and how to fix it."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the plug-in under test, a fresh one for each check that needs one.

    Loading a model may take longer than a check, so checks that need no fresh one share one.

    Attributes:
        name: what the plug-in is called in reports.
        make: makes one.
        tolerance: how far two scores of one query and table may lie apart, as a share of the
            larger one, or as they are where that is below 1.
        known: what checks leave for the ones after them.
    """

    name: str
    make: Callable[[], Any]
    tolerance: float
    known: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        """Return a new one.

        Raises:
            ConfigError: it cannot be made with these settings.
            CheckError: its constructor raised something else.
        """
        try:
            return self.make()
        except (*PASSED_ON, ConfigError):
            raise
        except BaseException as error:
            raise CheckError(
                f"the constructor raised {described(error)}. Give every argument a "
                f"default, or pass the settings that it needs.{place(error)}"
            ) from error


CheckFunction = Callable[[Maker], None]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of the contract, tested on one plug-in when it is called.

    Calling it raises ``CheckError`` where the promise is broken, and ``unittest.SkipTest``, which
    pytest knows, where there is nothing to test.

    Attributes:
        name: what reports and ``skip`` call it.
        description: the promise.
        run: tests it.
        needs: checks that have to pass first, or what this one finds would mean nothing.
    """

    name: str
    description: str
    run: Callable[[], None]
    needs: tuple[str, ...] = ()

    def __call__(self) -> None:
        """Test the promise."""
        self.run()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check.

    Attributes:
        check: its name.
        status: ``passed``, ``failed`` or ``skipped``.
        detail: what is wrong, or why it was skipped.
        traceback: of what the plug-in raised, if that is what is wrong.
    """

    check: str
    status: Status
    detail: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all checks of one plug-in; prints as a list, failures first.

    Attributes:
        plugin: what was checked.
        outcomes: one a check, in the order of the checks.
    """

    plugin: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The broken promises."""
        return self._of("failed")

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """The kept ones."""
        return self._of("passed")

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """The checks that did not run, each with the reason."""
        return self._of("skipped")

    def _of(self, status: Status) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == status)

    def __str__(self) -> str:
        lines = [
            f"{self.plugin}: {len(self.passed)} checks passed, {len(self.failed)} failed, "
            f"{len(self.skipped)} skipped"
        ]
        together: dict[tuple[str, str], list[str]] = {}
        for outcome in (*self.failed, *self.skipped):
            together.setdefault((outcome.status, outcome.detail), []).append(outcome.check)
        for (status, detail), names in together.items():
            lines.append(f"  {status:8}{', '.join(names)}")
            lines += [f"    {line}" for line in detail.splitlines()]
        if self.passed:
            lines.append(f"  passed  {', '.join(outcome.check for outcome in self.passed)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        outcomes = map(asdict, self.outcomes)
        shown = [{k: v for k, v in one.items() if k != "traceback" or v} for one in outcomes]
        return {"plugin": self.plugin, "outcomes": shown}

    def raise_failures(self) -> "Report":
        """Return the report itself.

        Raises:
            CheckError: a check failed; the message is the whole report.
        """
        if self.failed:
            raise CheckError(str(self))
        return self


def run(plugin: str, checks: Iterable[Check], observer: Observer | None = None) -> Report:
    """Run checks, each regardless of the others, except those that need one that failed.

    Args:
        plugin: what is checked, for the report.
        checks: the checks.
        observer: is notified of progress.

    Raises:
        ConfigError: the plug-in cannot be made, or its model is not there.
    """
    checks = list(checks)
    observer = observer or Observer()
    observer.stage(f"{plugin}: check", total=len(checks))
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        outcomes[check.name] = _outcome(check, outcomes)
        observer.advance(1)
    return Report(plugin, tuple(outcomes.values()))


def _outcome(check: Check, earlier: Mapping[str, Outcome]) -> Outcome:
    broken = [n for n in check.needs if n in earlier and earlier[n].status == "failed"]
    if broken:
        return Outcome(check.name, "skipped", f"not run, because {', '.join(broken)} failed")
    try:
        check()
    except SkipTest as reason:
        return Outcome(check.name, "skipped", str(reason))
    except CheckError as error:
        trace = whole_traceback(error.__cause__) if error.__cause__ else ""
        return Outcome(check.name, "failed", str(error), trace)
    except (*PASSED_ON, ConfigError):
        raise
    except BaseException as error:
        said = f"raised {described(error)}{place(error)}"
        return Outcome(check.name, "failed", said, whole_traceback(error))
    return Outcome(check.name, "passed")


@contextmanager
def calling(what: str, hint: str = "") -> Iterator[None]:
    """Turn what a call of the plug-in raises into a failed check.

    Args:
        what: the call, and on what.
        hint: how to fix it.
    """
    try:
        yield
    except (*PASSED_ON, CheckError, SkipTest):
        raise
    except BaseException as error:
        said = f"{what} raised {described(error)}"
        advice = f"{said.rstrip('.')}. {hint}".rstrip()
        raise CheckError(advice + place(error)) from error


SubjectT = TypeVar("SubjectT")


def assemble(
    subject: SubjectT,
    functions: Mapping[Callable[[SubjectT], None], Sequence[Callable[[SubjectT], None]]],
    skip: Mapping[str, str] | None,
) -> list[Check]:
    """Make the checks of one plug-in.

    Args:
        subject: what each test is given.
        functions: each test, and those that it needs to have passed.
        skip: names of checks to leave out, each with the reason.

    Raises:
        ConfigError: a check to skip that does not exist.
    """
    names = [_name(function) for function in functions]
    for name in skip or {}:
        if name not in names:
            raise ConfigError(f"skip: {unknown_names.unknown_name('check', name, names)}")
    return [
        Check(
            _name(function),
            promise(function),
            _skipping(skip[_name(function)])
            if skip and _name(function) in skip
            else partial(function, subject),
            tuple(map(_name, needs)),
        )
        for function, needs in functions.items()
    ]


def promise(function: Callable[..., None]) -> str:
    """Describe a check in a sentence: its summary without "Check that"."""
    summary = (function.__doc__ or "").strip().split("\n")[0].removeprefix("Check that ")
    return summary[:1].upper() + summary[1:]


def _name(function: Callable[[Any], None]) -> str:
    return function.__name__.removeprefix("check_")


def _skipping(reason: str) -> Callable[[], None]:
    def skip() -> None:
        raise SkipTest(reason)

    return skip


def maker(
    kind: Kind,
    method: str,
    plugin: Callable[..., Any] | str,
    settings: Mapping[str, Any] | None = None,
    tolerance: float = 0.0,
) -> Maker:
    """Say how the plug-in under test is made.

    Args:
        kind: what it is.
        method: a method that objects of this kind have.
        plugin: its class, a function that makes one, or a name with settings as on the command
            line.
        settings: arguments for the class or function.
        tolerance: see ``Maker``.

    Raises:
        ConfigError: an unknown name or setting, or an object in place of a class.
    """
    if isinstance(plugin, str):
        spec = registry.parse(kind, plugin)
        target = _imported_once(kind, registry.canonical(kind, spec.target))
        given = {**spec.settings, **(settings or {})}
        return Maker(
            masked_settings(plugin),
            lambda: registry.build(kind, target, dict(given), text=plugin),
            tolerance,
        )
    made = not isinstance(plugin, type) and hasattr(plugin, method)
    if made or not callable(plugin):
        raise ConfigError(
            f"{type(plugin).__name__} is an object; most checks need a fresh one, so pass the "
            "class, or a function that makes one"
        )
    name = getattr(plugin, "__name__", type(plugin).__name__)
    return Maker(name, partial(plugin, **(settings or {})), tolerance)


def _imported_once(kind: Kind, target: str) -> str:
    """Return the target, or for a class in a file its module, which is then imported only once.

    Objects of one class share what the class holds, which is one of the things to check.
    """
    found = registry.resolve(kind, target)
    module = getattr(found, "__module__", "")
    return f"{module}:{found.__name__}" if module.startswith(FILE_MODULE) else target
