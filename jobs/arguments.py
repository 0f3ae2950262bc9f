"""The command line that every job shares."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from memsif_ray.config import RunConfig, load_run_config, parse_settings


def parse(argv: Sequence[str] | None, *, about: str) -> RunConfig:
    """The configuration that a command line asks for.

    Raises:
        ConfigError: When the file or a setting is wrong.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("config", type=Path, help="YAML file, e.g. jobs/conf/sample.yaml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override one setting, e.g. --set memory.segments.tau_split=0.4",
    )
    arguments = parser.parse_args(argv)
    return load_run_config(arguments.config, parse_settings(arguments.settings))
