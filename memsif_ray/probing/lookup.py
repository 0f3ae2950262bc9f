"""Profiles by model: measured on this machine, else shipped, else none."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from platformdirs import user_cache_path

from memsif_ray.config import ModelConfig
from memsif_ray.memory.tools import CAPABLE, Capabilities
from memsif_ray.probing.profile import Profile
from memsif_ray.storage.files import read_json, write_json

_SHIPPED = "profiles"


def capabilities_for(model: ModelConfig, *, cache_dir: Path | None = None) -> Capabilities:
    """What this model is trusted with; everything when nobody has measured it.

    Args:
        model: Looked up by its name.
        cache_dir: Where this machine keeps measurements; None is the user's cache folder.
    """
    profile = find_profile(model.model, cache_dir=cache_dir)
    return CAPABLE if profile is None else profile.capabilities


def find_profile(model: str, *, cache_dir: Path | None = None) -> Profile | None:
    """The profile measured here, unless prompts have changed since; else the shipped one, if any."""
    local = read_json(_path(model, cache_dir))
    if local is not None and (profile := Profile.from_plain(local)).is_current:
        return profile
    shipped = _shipped(model)
    return None if shipped is None else Profile.from_plain(shipped)


def save_profile(profile: Profile, *, folder: Path | None = None) -> Path:
    """Keep a measurement and return where; `folder` None is where later runs on this machine look."""
    path = _path(profile.model, None) if folder is None else folder / _file_name(profile.model)
    write_json(path, profile.to_plain())
    return path


def shipped_profiles() -> tuple[Profile, ...]:
    """Every profile that comes with the package."""
    found = [f for f in files(__package__).joinpath(_SHIPPED).iterdir() if f.name.endswith(".json")]
    return tuple(Profile.from_plain(json.loads(f.read_text(encoding="utf-8"))) for f in found)


def _shipped(model: str) -> Any:
    source = files(__package__).joinpath(_SHIPPED, _file_name(model))
    return json.loads(source.read_text(encoding="utf-8")) if source.is_file() else None


def _path(model: str, cache_dir: Path | None) -> Path:
    root = cache_dir or user_cache_path("memsif-ray")
    return root / "capabilities" / _file_name(model)


def _file_name(model: str) -> str:
    return f"{quote(model, safe='')}.json"
