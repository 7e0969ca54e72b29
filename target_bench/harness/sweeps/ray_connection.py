"""Connecting to a Ray cluster, within seconds and silently."""

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from target_bench.core.errors import ConfigError

_SECONDS_TO_CONNECT = 60.0
_SECONDS_TO_ANSWER = 5.0

_log = logging.getLogger(__name__)


@contextmanager
def connected(address: str | None, runtime_env: Mapping[str, Any]) -> Iterator[None]:
    """Ray, silent; what this process is connected to already is used, and left connected.

    Args:
        address: of the cluster; None: start one on this machine, and end it.
        runtime_env: as for ``ray.init``.

    Raises:
        ConfigError: nothing answers there, or it is a cluster of another version.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    with _silent():
        if ray.is_initialized():
            yield
            return
        if address is not None:
            _check_reachable(address)
        try:
            ray.init(
                address=address or "local",
                runtime_env=dict(runtime_env) or None,
                include_dashboard=False if address is None else None,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
        except Exception as error:
            raise ConfigError(_cannot_connect(address, error)) from error
        try:
            yield
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Try an address in another process: Ray itself waits for minutes, and then ends its process.

    Raises:
        ConfigError: it is none, nothing answers there, or it is a cluster of another version.
    """
    if "://" in address:
        raise ConfigError(
            f"--address {address}: expected HOST:PORT or auto. Run the sweep on a node of the "
            "cluster (or with ray job submit): cells send back more than the Ray client carries"
        )
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"--address {address}: expected HOST:PORT, as in 10.0.0.1:6379, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
        subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", _PROBE, address],
            check=True,
            capture_output=True,
            text=True,
            timeout=_SECONDS_TO_CONNECT,
        )
    except subprocess.TimeoutExpired:
        problem = f"no answer within {_SECONDS_TO_CONNECT:g} seconds"
        raise ConfigError(_cannot_connect(address, problem)) from None
    except subprocess.CalledProcessError as error:
        raise ConfigError(_cannot_connect(address, error.stderr.strip()[-1000:])) from None
    except (OSError, OverflowError) as error:
        raise ConfigError(_cannot_connect(address, error)) from error


_PROBE = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="CRITICAL")
except Exception as error:
    sys.exit(f"{error}")
"""


def _cannot_connect(address: str | None, problem: object) -> str:
    if address is None:
        return f"Ray cannot be started on this machine: {problem}"
    return (
        f"the Ray cluster {address} cannot be used: {problem}. Its address is what "
        "`ray start --head` printed; this machine has to be one of its nodes, with the same "
        "versions of Python and Ray."
    )


@contextmanager
def _silent() -> Iterator[None]:
    """Keep off standard output what Ray prints about nodes and workers; its log files have it."""
    from ray._private import worker

    shown = worker.print_to_stdstream
    worker.print_to_stdstream = lambda data, **_: _log.debug("%s", data)
    try:
        yield
    finally:
        worker.print_to_stdstream = shown
