"""Options that say where a service's memories are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the database; by default the user's data folder.")
]
Store = Annotated[
    str | None,
    typer.Option("--store", envvar="MEMSIF_STORE", help="Its URL instead, e.g. postgresql://user@host/name."),
]
