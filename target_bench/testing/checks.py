"""What a check is, how checks are run, what they report, and what all kinds have in common."""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import PASSED_ON, ConfigError, PluginError, unknown_name
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.registry import Kind
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
        description: the promise, a sentence.
        run: tests it.
        needs: checks that have to pass first, or what this one sees would mean nothing.
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


Contract = Mapping[Callable[[Any], None], str]
"""The checks of one kind of plug-in: function of a case -> those that have to pass before it.

The name of a function is the name of the check, its docstring is the promise.
"""


def checks_of(
    contract: Contract, case: object, skip: Mapping[str, str] | None = None
) -> list[Check]:
    """Return the checks of a case.

    Args:
        contract: the checks.
        case: what each of them is given.
        skip: names of checks to leave out, each with the reason.

    Raises:
        ConfigError: a check to skip that does not exist.
    """
    skip = skip or {}
    names = [function.__name__ for function in contract]
    for name in skip:
        if name not in names:
            raise ConfigError(f"skip: {unknown_name('check', name, names)}")
    return [
        Check(
            name,
            " ".join((function.__doc__ or "").split()),
            partial(_left_out, skip[name]) if name in skip else partial(function, case),
            tuple(needs.split()),
        )
        for name, (function, needs) in zip(names, contract.items(), strict=True)
    ]


def _left_out(reason: str) -> None:
    raise SkipTest(reason)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check: its name, the state, what is wrong or why it was skipped.

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
        shown = [{k: v for k, v in o.items() if k != "traceback" or v} for o in outcomes]
        return {"plugin": self.plugin, "outcomes": shown}

    def raise_failures(self) -> "Report":
        """Return the report itself.

        Raises:
            CheckError: a check failed; the message is the whole report.
        """
        if self.failed:
            raise CheckError(str(self))
        return self


def run(plugin: Any, checks: Iterable[Check], observer: Observer | None = None) -> Report:
    """Run checks, each regardless of the others, except those that need one that failed.

    Args:
        plugin: what is checked, for the report: text, or a class or function, which has a name.
        checks: the checks.
        observer: is notified of progress.

    Raises:
        ConfigError: the plug-in cannot be made, or its model is not there.
    """
    name = plugin if isinstance(plugin, str) else getattr(plugin, "__name__", str(plugin))
    checks, observer = list(checks), observer or Observer()
    observer.stage(f"{name}: check", total=len(checks))
    outcomes: dict[str, Outcome] = {}
    for check in checks:
        outcomes[check.name] = _outcome(check, outcomes)
        observer.advance(1)
    return Report(name, tuple(outcomes.values()))


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
        detail = f"raised {described(error)}{place(error)}"
        return Outcome(check.name, "failed", detail, whole_traceback(error))
    return Outcome(check.name, "passed")


def expect(kept: object, message: str) -> None:
    """Fail the check with a message unless something is so."""
    if not kept:
        raise CheckError(message)


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
        message = f"{what} raised {described(error)}".rstrip(".")
        raise CheckError(f"{message}. {hint}".rstrip() + place(error)) from error


# What all kinds of plug-ins have in common


def maker(
    kind: Kind,
    method: str,
    plugin: Callable[..., Any] | str,
    settings: Mapping[str, Any] | None = None,
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
        given = {**spec.settings, **(settings or {})}
        return partial(_made, lambda: registry.build(kind, target, dict(given), text=plugin))
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
    before, another = identity_of(plugin), identity_of(make())
    expect(
        another == before, f"two that are made the same way differ: {_difference(before, another)}"
    )
    work(plugin)
    after = identity_of(plugin)
    expect(
        after == before,
        f"its work changes what identifies it: {_difference(before, after)}. A run is found "
        "again by what was asked for: keep what is learned under other names than settings.",
    )


def remade(plugin: Any) -> Any:
    """Return the plug-in that its settings make, read back from JSON.

    Raises:
        CheckError: the settings make none, or one with other settings.
        SkipTest: ``config`` describes the plug-in in its own way.
    """
    with calling("config()", _KEEP):
        config = plugin.config() if hasattr(plugin, "config") else constructor_arguments(plugin)
        parts = plugin.parts() if hasattr(plugin, "parts") else {}
    parameters = inspect.signature(type(plugin)).parameters
    unknown = [name for name in config if name not in parameters]
    needed = [n for n, p in parameters.items() if p.default is p.empty and n not in config]
    in_words = [
        name
        for name, value in config.items()
        if isinstance(value, Mapping) and not isinstance(getattr(plugin, name, {}), Mapping)
    ]
    if names := unknown or needed or in_words:
        raise SkipTest(f"config() describes it in its own way: {', '.join(names)}")
    with calling("making another one from config() as JSON", _KEEP):
        plain = {name: value for name, value in config.items() if name not in parts}
        whole = {**json.loads(json.dumps(plain)), **{n: config[n] for n in parts if n in config}}
        again = type(plugin)(**whole)
    before, after = identity_of(plugin), identity_of(again)
    expect(
        before == after,
        f"one that is made from config() has other settings: {_difference(before, after)}. {_KEEP}",
    )
    return again


def _difference(first: Mapping[str, Any], second: Mapping[str, Any], prefix: str = "") -> str:
    """Return the entries in which two identities differ."""
    entries = []
    for name in sorted({*first, *second}):
        mine, theirs = first.get(name), second.get(name)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            entries.append(_difference(mine, theirs, f"{prefix}{name}."))
        elif mine != theirs:
            entries.append(f"{prefix}{name} is {mine!r:.80}, then {theirs!r:.80}")
    return "; ".join(filter(None, entries))
