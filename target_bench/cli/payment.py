"""Saying, and asking, before requests that may cost money."""

import sys
from typing import TYPE_CHECKING

import typer

from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from target_bench.evaluation.stages.consent import Estimate


def announced(estimate: "Estimate") -> bool:
    """Say what is about to be sent; the user agreed before."""
    from target_bench.cli.progress import paused

    with paused():
        typer.echo(f"{estimate.asked}: {size(estimate)}", err=True)
    return True


def agreed(*estimates: "Estimate") -> bool:
    """Say what is about to be sent, and ask once.

    Raises:
        ConfigError: standard input is not a terminal, so the user cannot be asked.
        KeyboardInterrupt: the question was answered with Ctrl-C or the end of the input.
    """
    from target_bench.cli.progress import paused

    for estimate in estimates:
        announced(estimate)
    if not sys.stdin.isatty():
        raise ConfigError(
            "standard input is not a terminal, so you cannot be asked whether to send them; pass "
            "--yes to send them"
        )
    with paused():
        try:
            return typer.confirm("Send them?", err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None


def size(estimate: "Estimate") -> str:
    """How much is about to be sent, and what it costs."""
    if estimate.input_tokens is None:
        return f"up to {estimate.requests:,} texts may be sent to a service that is paid for"
    unknown = "unknown (no prices or no max_tokens given)"
    cost = unknown if estimate.cost is None else f"about {estimate.cost:.4f}"
    return (
        f"{estimate.requests:,} requests with about {estimate.input_tokens:,} tokens; cost {cost}"
    )
