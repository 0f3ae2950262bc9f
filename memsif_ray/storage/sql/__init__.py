"""Served state in a database: SQLite in one file, or PostgreSQL by URL.

`opening` makes a store of a URL, `database` holds all that differs between the two, `tables` is the schema
as it is now, and `migrations` is how older databases come to it. Every statement binds its parameters;
nothing from outside becomes SQL or a path.
"""

from memsif_ray.storage.sql.opening import open_store
from memsif_ray.storage.sql.store import SqlStore

__all__ = ["SqlStore", "open_store"]
