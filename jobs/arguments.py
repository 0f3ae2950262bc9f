"""The command line and the exit codes that every job shares.

Exit codes are those of `memsif`: 0 everything is there, 1 something failed and the same job retries just
that, 2 the configuration or the data is wrong, 3 a service is not available, 130 interrupted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from rich.console import Console

from memsif_ray.cli.failures import INTERRUPTED, NO_SERVICE, WRONG_INPUT
from memsif_ray.config import RunConfig, load_run_config, load_sweep, parse_settings
from memsif_ray.errors import MemsifError, ServiceError

P = ParamSpec("P")


def job(main: Callable[P, int]) -> Callable[P, int]:
    """A job's main function, with what it fails with as one line and an exit code."""

    @wraps(main)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return main(*args, **kwargs)
        except MemsifError as exc:
            said, code = str(exc), NO_SERVICE if isinstance(exc, ServiceError) else WRONG_INPUT
        except KeyboardInterrupt:
            said, code = "interrupted; the same job goes on from what is finished", INTERRUPTED
        Console(stderr=True).print(said, style="red", markup=False, soft_wrap=True)
        return code

    return run


def parse(argv: Sequence[str] | None, *, about: str) -> RunConfig:
    """The configuration that a command line asks for.

    Raises:
        ConfigError: When the file or a setting is wrong.
    """
    arguments = _arguments(argv, about)
    return load_run_config(arguments.config, parse_settings(arguments.settings))


def parse_kind(argv: Sequence[str] | None, kinds: Sequence[str], *, about: str) -> tuple[str, RunConfig]:
    """The first argument, which is one of `kinds`, and the configuration that the others ask for.

    Raises:
        ConfigError: When the file or a setting is wrong.
    """
    parser = _parser(about)
    parser.add_argument("kind", choices=kinds)
    _add_config(parser)
    arguments = parser.parse_args(argv)
    return arguments.kind, load_run_config(arguments.config, parse_settings(arguments.settings))


def parse_sweep(argv: Sequence[str] | None, *, about: str) -> list[tuple[dict[str, Any], RunConfig]]:
    """The configurations that a command line with a sweep asks for, each with what it changes.

    Raises:
        ConfigError: When the file or a setting is wrong.
    """
    arguments = _arguments(argv, about)
    return load_sweep(arguments.config, parse_settings(arguments.settings))


def _arguments(argv: Sequence[str] | None, about: str) -> argparse.Namespace:
    parser = _parser(about)
    _add_config(parser)
    return parser.parse_args(argv)


def _parser(about: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="YAML file, e.g. jobs/conf/sample.yaml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override one setting, e.g. --set memory.segments.tau_split=0.4",
    )
