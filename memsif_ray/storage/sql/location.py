"""Where memories are when nobody says otherwise, and how a file is named to a store."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from memsif_ray.errors import ConfigError


def store_url(url: str | None, folder: Path | None) -> str:
    """The URL as it is given, else that of `memory.db` in the folder, by default the user's data folder."""
    if url is not None:
        return url
    return file_url((folder or platformdirs.user_data_path("memsif-ray")) / "memory.db")


def file_url(path: Path) -> str:
    """The URL of a SQLite file.

    Raises:
        ConfigError: When its name cannot be part of one.
    """
    whole = path.expanduser().resolve()
    if "?" in str(whole):
        raise ConfigError(f"{whole}: a question mark in the name of a store would begin its options")
    return f"sqlite:///{whole}"
