"""Options of the whole suite."""

import atexit
import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from target_bench.core import credentials

pytest_plugins = ["tests.browser", "tests.once"]

# How long an example takes says how busy the machine is, and nothing about what is tested.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
# For other versions of packages, which each example asks in the same way.
settings.register_profile("few examples", settings.get_profile("busy"), max_examples=15)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="Count a skipped test as failed: for environments where everything is installed.",
    )


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist keep the order of the files; it would begin with those of the most tests.

    Workers beside each other have one thread each: more would wait for each other's.
    A shell starts background commands with Ctrl-C ignored, and so would be the commands of tests.
    """
    config.option.loadscopereorder = False
    if getattr(config.option, "numprocesses", None):
        for name in _THREADS:
            os.environ.setdefault(name, "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Generator[None, None, None]:
    """Look for no garbage among thousands of tests, now or later: they stay until the end."""
    gc.disable()
    yield
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.callbacks.append(_after_search)
    gc.enable()


@pytest.fixture(autouse=True)
def _own_secrets() -> Iterator[None]:
    """Credentials that a test gives to a plug-in mask nothing in the tests after it."""
    before = set(credentials._noted)
    yield
    credentials._noted.clear()
    credentials._noted.update(before)


_searched: list[int] = []


def _after_search(phase: str, search: dict[str, int]) -> None:
    if phase == "stop" and search["generation"] == 2:
        _searched.append(search["collected"])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Do not search again what a search of everything left, such as modules that tests imported.

    It is left out between two tests, so what a test makes is searched as long as it runs. What
    fixtures of modules and of the session hold then is left out as well.
    """
    if _searched:
        gc.collect()
        gc.freeze()
        _searched.clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow files: what is left at the end is short, and no worker waits long."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped, though --no-skips was given: {report.longrepr}"


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Generator[None, None, None]:
    """The suite never reads or fills the user's cache, and downloads nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TARGET_BENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_sql_worker() -> Generator[None, None, None]:
    """Start one process for SQL and not one a core: tests run few statements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("target_bench.sql.workers.count_processors", lambda: 1)
        yield


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the package ``openai`` wait next to nothing before it sends a request again."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.05)
