"""Where memories are when nobody says otherwise."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def store_url(url: str | None, folder: Path | None) -> str:
    """The URL as it is given, else that of `memory.db` in the folder, by default the user's data folder."""
    if url is not None:
        return url
    chosen = folder or platformdirs.user_data_path("memsif-ray")
    return f"sqlite:///{chosen.expanduser().resolve() / 'memory.db'}"
