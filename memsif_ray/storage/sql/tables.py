"""The schema as this version of the program knows it; `migrations` leads older databases here."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

from memsif_ray.storage.sql.columns import CleanText, Identifier, Json, LocalTime, Moment

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# SQLite numbers rows by itself only where the type is called INTEGER; it holds 64 bits there all the same.
SERIAL = BigInteger().with_variant(Integer(), "sqlite")


def _of_conversation() -> Column[int]:
    return Column("conversation", SERIAL, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False)


CONVERSATIONS = Table(
    "conversations",
    METADATA,
    Column("id", SERIAL, primary_key=True),
    Column("tenant", Identifier, nullable=False),
    Column("conversation_id", Identifier, nullable=False),
    Column("key", Identifier, nullable=False, unique=True),
    Column("revision", BigInteger, nullable=False),
    Column("messages", BigInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    UniqueConstraint("tenant", "conversation_id"),
    sqlite_autoincrement=True,
)

MESSAGES = Table(
    "messages",
    METADATA,
    _of_conversation(),
    Column("position", BigInteger, nullable=False),
    Column("message_id", Identifier, nullable=False),
    Column("session", BigInteger, nullable=False),
    Column("session_name", CleanText),
    Column("role", CleanText, nullable=False),
    Column("name", CleanText, nullable=False),
    Column("content", CleanText, nullable=False),
    Column("timestamp", LocalTime, nullable=False),
    Column("received_at", Moment, nullable=False),
    Column("operation_id", Identifier, nullable=False),
    Column("metadata", Json, nullable=False),
    UniqueConstraint("conversation", "position"),
    UniqueConstraint("conversation", "message_id"),
)

STATE = Table(
    "state",
    METADATA,
    Column("id", SERIAL, primary_key=True),  # in the order in which rows were first put
    _of_conversation(),
    Column("table", Identifier, nullable=False),
    Column("key", Identifier, nullable=False),
    Column("content", Json, nullable=False),
    Column("vector", LargeBinary),
    UniqueConstraint("conversation", "table", "key"),
    sqlite_autoincrement=True,
)

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("number", SERIAL, primary_key=True),  # in the order in which they were accepted
    Column("id", Identifier, nullable=False, unique=True),
    _of_conversation(),
    Column("kind", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("accepted", BigInteger, nullable=False),
    Column("duplicates", BigInteger, nullable=False),
    Column("message_ids", Json, nullable=False),
    Column("error", CleanText, nullable=False),
    Index(None, "conversation"),
    Index(None, "status"),
    sqlite_autoincrement=True,
)

IDEMPOTENCY = Table(
    "idempotency",
    METADATA,
    _of_conversation(),
    Column("key", Identifier, nullable=False),
    Column("digest", Identifier, nullable=False),
    Column("operation_id", Identifier, nullable=False),
    UniqueConstraint("conversation", "key"),
)

TENANTS = Table(
    "tenants",
    METADATA,
    Column("name", Identifier, primary_key=True),
    Column("created_at", Moment, nullable=False),
)

API_KEYS = Table(
    "api_keys",
    METADATA,
    Column("key_id", Identifier, primary_key=True),
    Column("tenant", Identifier, ForeignKey("tenants.name"), nullable=False, index=True),
    Column("name", CleanText, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("per_minute", Integer),
    Column("revoked_at", Moment),
)

USAGE = Table(
    "usage",
    METADATA,
    Column("tenant", Identifier, primary_key=True),
    Column("hour", Moment, primary_key=True),  # so that the table does not grow with every request
    Column("requests", BigInteger, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("model_calls", BigInteger, nullable=False),
    Column("embedded_texts", BigInteger, nullable=False),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("number", SERIAL, primary_key=True),
    Column("tenant", Identifier, nullable=False),
    Column("at", Moment, nullable=False),
    Column("key_id", CleanText, nullable=False),
    Column("request_id", CleanText, nullable=False),
    Column("action", CleanText, nullable=False),
    Column("target", CleanText, nullable=False),
    Index(None, "tenant", "number"),
    sqlite_autoincrement=True,
)

PULSE = Table(
    "pulse",
    METADATA,
    Column("id", Integer, primary_key=True),  # one row: what `ping` writes
    Column("at", Moment, nullable=False),
)
