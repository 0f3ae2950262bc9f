"""What every section of a configuration has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """Refuses unknown keys, so that a typo fails before any work starts."""

    model_config = ConfigDict(frozen=True, extra="forbid")
