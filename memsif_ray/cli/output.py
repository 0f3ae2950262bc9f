"""Where output goes: the result to stdout, as text or as one JSON document; all else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")
]
"""The option `--json` of every command that has a result."""


def print_result(plain: Any, shown: RenderableType, *, as_json: bool) -> None:
    """Print a command's result.

    Args:
        plain: The result as plain data.
        shown: The result for a person.
        as_json: Which of the two.
    """
    if as_json:
        typer.echo(json.dumps(plain, ensure_ascii=False, indent=2, default=str, allow_nan=False))
    else:
        from rich.console import Console

        Console().print(shown, markup=False, highlight=False)


def note(text: str) -> None:
    """One line for a person, on stderr."""
    typer.echo(f"memsif: {text}", err=True)


@contextmanager
def stdout_kept_clean() -> Iterator[None]:
    """Send what libraries print during the block to stderr, so that stdout holds the result only."""
    with redirect_stdout(sys.stderr):
        yield
