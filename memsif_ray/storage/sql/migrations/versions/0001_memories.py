"""Conversations, their messages and state, and what became of writes."""

import sqlalchemy as sa
from alembic import op

revision = "0001_memories"
down_revision = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOMENT = sa.DateTime(timezone=True)


def _of_conversation() -> tuple[sa.Column[int], sa.ForeignKeyConstraint]:
    return (
        sa.Column("conversation", _SERIAL, nullable=False),
        sa.ForeignKeyConstraint(["conversation"], ["conversations.id"], ondelete="CASCADE"),
    )


def upgrade() -> None:
    """Make them."""
    _conversations()
    _messages()
    _state()
    _operations()
    _idempotency()


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("conversation_id", _ID, nullable=False),
        sa.Column("key", _ID, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
        sa.UniqueConstraint("tenant", "conversation_id"),
        sqlite_autoincrement=True,
    )


def _messages() -> None:
    op.create_table(
        "messages",
        *_of_conversation(),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("message_id", _ID, nullable=False),
        sa.Column("session", sa.BigInteger(), nullable=False),
        sa.Column("session_name", sa.Text()),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("timestamp", sa.DateTime(), nullable=False),
        sa.Column("received_at", _MOMENT, nullable=False),
        sa.Column("operation_id", _ID, nullable=False),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.UniqueConstraint("conversation", "position"),
        sa.UniqueConstraint("conversation", "message_id"),
    )


def _state() -> None:
    op.create_table(
        "state",
        sa.Column("id", _SERIAL, nullable=False),
        *_of_conversation(),
        sa.Column("table", _ID, nullable=False),
        sa.Column("key", _ID, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("vector", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("conversation", "table", "key"),
        sqlite_autoincrement=True,
    )


def _operations() -> None:
    op.create_table(
        "operations",
        sa.Column("number", _SERIAL, nullable=False),
        sa.Column("id", _ID, nullable=False),
        *_of_conversation(),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("duplicates", sa.BigInteger(), nullable=False),
        sa.Column("message_ids", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_operations_conversation"), "operations", ["conversation"])
    op.create_index(op.f("ix_operations_status"), "operations", ["status"])


def _idempotency() -> None:
    op.create_table(
        "idempotency",
        *_of_conversation(),
        sa.Column("key", _ID, nullable=False),
        sa.Column("digest", _ID, nullable=False),
        sa.Column("operation_id", _ID, nullable=False),
        sa.UniqueConstraint("conversation", "key"),
    )
