"""What a check is, how checks are run and reported, and what plug-ins have in common."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import PASSED_ON, ConfigError, PluginError, unknown_name
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.registry import Kind
from target_bench.core.text_tables import counted
from target_bench.core.user_code import described, place, whole_traceback


class CheckError(PluginError, AssertionError):
    """A plug-in does not keep the contract; the message says how, and how to fix it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of a contract, tested on one plug-in when it is called.

    Calling it raises ``CheckError`` where the promise is broken, and ``unittest.SkipTest``, which
    pytest knows, where there is nothing to test.

    Attributes:
        name: what reports and ``skip`` call it.
        run: tests the promise.
    """

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Test the promise."""
        self.run()

    def __str__(self) -> str:
        return self.name


Contract = Sequence[Callable[[Any], None]]
"""The table of checks of one kind of plug-in: functions of a case, in order.

The name of a function is the name of the check, its docstring is the promise. If the first one
fails, the others do not run.
"""


def checks_of(
    contract: Contract, case: object, skip: Mapping[str, str] | None = None
) -> list[Check]:
    """Return the checks of a case, those to skip (name -> reason) included.

    Raises:
        ConfigError: a check to skip that does not exist.
    """
    skip, names = skip or {}, [function.__name__ for function in contract]
    for name in skip:
        if name not in names:
            raise ConfigError(f"skip: {unknown_name('check', name, names)}")
    return [
        Check(name, partial(_skip, skip[name]) if name in skip else partial(function, case))
        for name, function in zip(names, contract, strict=True)
    ]


def _skip(reason: str) -> None:
    raise SkipTest(reason)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check: what is wrong, or why it was skipped, in ``detail``.

    ``traceback`` is of what the plug-in raised, if that is what is wrong.
    """

    check: str
    status: Literal["passed", "failed", "skipped"]
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
        return tuple(o for o in self.outcomes if o.status == "failed")

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """The kept ones."""
        return tuple(o for o in self.outcomes if o.status == "passed")

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """The checks that did not run, each with the reason."""
        return tuple(o for o in self.outcomes if o.status == "skipped")

    def __str__(self) -> str:
        lines = [
            f"{self.plugin}: {counted(len(self.passed), 'check')} passed, "
            f"{len(self.failed)} failed, {len(self.skipped)} skipped"
        ]
        checks: dict[tuple[str, str], list[str]] = {}
        for outcome in (*self.failed, *self.skipped):
            checks.setdefault((outcome.status, outcome.detail), []).append(outcome.check)
        for (status, detail), names in checks.items():
            lines.append(f"  {status:8}{', '.join(names)}")
            lines += [f"    {line}" for line in detail.splitlines()]
        if self.passed:
            lines.append(f"  passed  {', '.join(outcome.check for outcome in self.passed)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        outcomes = map(asdict, self.outcomes)
        shown = [{k: v for k, v in o.items() if k != "traceback" or v} for o in outcomes]
        return {"plugin": self.plugin, "outcomes": shown}

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
            outcomes.append(_outcome(check))
        observer.advance(1)
    return Report(name, tuple(outcomes))


def _outcome(check: Check) -> Outcome:
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
        detail = f"raised {described(error)}{place(error)}"
        return Outcome(check.name, "failed", detail, whole_traceback(error))
    return Outcome(check.name, "passed")


def expect(kept: object, message: str) -> None:
    """Fail the check with a message unless something is so."""
    if not kept:
        raise CheckError(message)


@contextmanager
def calling(what: str, hint: str = "") -> Iterator[None]:
    """Turn what a call of the plug-in raises into a failed check that says how to fix it."""
    try:
        yield
    except (*PASSED_ON, CheckError, SkipTest):
        raise
    except BaseException as error:
        message = f"{what} raised {described(error)}".rstrip(".")
        raise CheckError(f"{message}. {hint}".rstrip() + place(error)) from error


def maker(
    kind: Kind, method: str, plugin: Callable[..., Any] | str, settings: Mapping[str, Any] | None
) -> Callable[[], Any]:
    """Return a function that makes the plug-in under test, a fresh one at each call.

    Args:
        kind: what it is.
        method: a method that objects of this kind have.
        plugin: its class, a function that makes one, or a name with settings as on the command
            line.
        settings: arguments for the class or function.

    Raises:
        ConfigError: an unknown name or setting, or an object in place of a class.
    """
    if isinstance(plugin, str):
        spec = registry.parse(kind, plugin)
        target = registry.canonical(kind, spec.target)
        resolved = registry.resolve(kind, target)
        module = getattr(resolved, "__module__", "")
        if module.startswith(FILE_MODULE):  # imported once: what a class shares is checked too
            target = f"{module}:{resolved.__name__}"
        all_settings = {**spec.settings, **(settings or {})}
        return partial(_made, lambda: registry.build(kind, target, dict(all_settings), text=plugin))
    if not callable(plugin) or (not isinstance(plugin, type) and hasattr(plugin, method)):
        raise ConfigError(
            f"{type(plugin).__name__} is an object; most checks need a fresh one, so pass the "
            "class, or a function that makes one"
        )
    return partial(_made, partial(plugin, **(settings or {})))


def _made(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (*PASSED_ON, ConfigError):
        raise
    except BaseException as error:
        raise CheckError(
            f"the constructor raised {described(error)}. Give every argument a default, or pass "
            f"the settings that it needs.{place(error)}"
        ) from error


_KEEP = (
    "Keep constructor arguments as attributes of the same names, unchanged and with JSON values, "
    "or define config()."
)


def identity_of(plugin: object) -> dict[str, Any]:
    """Return the identity of a plug-in; fails if it has none."""
    with calling("identifying it", _KEEP):
        identity, warning = plugin_identity(plugin)
    expect(not warning, str(warning))
    return identity


def expect_identity(make: Callable[[], Any], work: Callable[[Any], object]) -> None:
    """Fail unless a plug-in can be identified, and work leaves its identity as it was."""
    plugin = make()
    before = identity_of(plugin)
    _expect_same(before, identity_of(make()), "two that are made the same way differ")
    work(plugin)
    _expect_same(
        before,
        identity_of(plugin),
        "its work changes what identifies it; keep what is learned under other names than settings",
    )


def _expect_same(first: Mapping[str, Any], second: Mapping[str, Any], message: str) -> None:
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    shown = "; ".join(f"{n} is {first.get(n)!r:.200}, then {second.get(n)!r:.200}" for n in names)
    expect(not names, f"{message}: {shown}")
