"""Configurations from YAML files and the command line."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from memsif_ray.config.run import RunConfig
from memsif_ray.errors import ConfigError


def load_run_config(path: Path | None = None, overrides: dict[str, Any] | None = None) -> RunConfig:
    """Defaults < YAML file < overrides (dotted keys such as `memory.segments.tau_split`).

    Raises:
        ConfigError: When the file is missing, is not a mapping, or holds an unknown or wrong value.
    """
    plain = {} if path is None else read_settings(path)
    for dotted, value in (overrides or {}).items():
        _set(plain, dotted, value)
    return _validated(plain, path)


def load_sweep(path: Path, overrides: dict[str, Any] | None = None) -> list[tuple[dict[str, Any], RunConfig]]:
    """The runs of a file whose `sweep` lists settings: what each changes, with its whole configuration.

    Settings in `sweep` are dotted like overrides, and win over them.

    Raises:
        ConfigError: As for `load_run_config`; also when there is no list of mappings called `sweep`.
    """
    plain = read_settings(path)
    points = plain.pop("sweep", None)
    if not isinstance(points, list) or not points or not all(isinstance(one, dict) for one in points):
        raise ConfigError(f"configuration {path} needs a list of settings called sweep")
    runs = []
    for point in points:
        one = deepcopy(plain)
        for dotted, value in {**(overrides or {}), **point}.items():
            _set(one, dotted, value)
        runs.append((point, _validated(one, path)))
    return runs


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, not checked yet.

    Raises:
        ConfigError: When the file is missing or is not a mapping.
    """
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as exc:
        raise ConfigError(f"cannot read configuration {path}: {exc}") from exc
    if not isinstance(plain, dict):
        raise ConfigError(f"configuration {path} must be a mapping of settings")
    return plain


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Overrides from texts such as `memory.segments.tau_split=0.3`; values are YAML.

    Raises:
        ConfigError: When one is no `key=value`, or its value no YAML.
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set wants KEY=VALUE, not {pair!r}")
        try:
            found[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as exc:
            raise ConfigError(f"--set {key}: {value!r} is no YAML value") from exc
    return found


def _validated(plain: dict[str, Any], path: Path | None) -> RunConfig:
    try:
        return RunConfig.model_validate(plain)
    except ValidationError as exc:
        raise ConfigError(_explain(exc, path)) from exc


def _set(plain: dict[str, Any], dotted: str, value: Any) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        plain = plain.setdefault(parent, {})
        if not isinstance(plain, dict):
            raise ConfigError(f"cannot set {dotted}: {parent} is not a section")
    plain[last] = value


def _explain(exc: ValidationError, path: Path | None) -> str:
    source = str(path) if path else "command line"
    lines = [f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in exc.errors()]
    return f"configuration from {source}: " + "; ".join(lines)
