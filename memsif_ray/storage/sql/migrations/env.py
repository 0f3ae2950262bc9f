"""How Alembic runs the steps: on the connection, and in the transaction, that `migrate` opened."""

from alembic import context

from memsif_ray.storage.sql.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
