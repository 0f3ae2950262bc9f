"""Bring a database's schema to that of this program, by the steps in `migrations`."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from memsif_ray.errors import ConfigError

_ONE_AT_A_TIME = threading.Lock()  # Alembic keeps the connection that it works on in a global


def migrate(connection: Connection, *, revision: str = "head") -> None:
    """Make or upgrade the schema, within the transaction of `connection`.

    Args:
        connection: Of `Database.upgrade`.
        revision: Where to stop.

    Raises:
        ConfigError: When the schema is newer than this program.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    _refuse_newer(connection, ScriptDirectory.from_config(config))
    with _ONE_AT_A_TIME:
        command.upgrade(config, revision)


def _refuse_newer(connection: Connection, scripts: ScriptDirectory) -> None:
    known = {script.revision for script in scripts.walk_revisions()}
    for head in MigrationContext.configure(connection).get_current_heads():
        if head not in known:
            raise ConfigError(
                f"a newer version of memsif-ray wrote this store (schema {head!r}): upgrade the program"
            )
