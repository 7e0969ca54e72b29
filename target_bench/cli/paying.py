"""Asking before requests that may cost money."""

import sys
from typing import TYPE_CHECKING

import typer

from target_bench.errors import ConfigError

if TYPE_CHECKING:
    from target_bench.stages.generate import Estimate


def agreed(estimate: "Estimate") -> bool:
    """Say what is about to be sent, and ask.

    Raises:
        ConfigError: nobody can be asked, because standard input is no terminal.
    """
    cost = "unknown (no prices given)" if estimate.cost is None else f"about {estimate.cost:.4f}"
    typer.echo(
        f"{estimate.generator}: {estimate.requests:,} requests with about "
        f"{estimate.input_tokens:,} tokens; cost {cost}",
        err=True,
    )
    if not sys.stdin.isatty():
        raise ConfigError("nobody can be asked whether to send them; pass --yes to send them")
    return typer.confirm("Send them?", err=True)
