"""Tenants and their keys, what they used and did, and the row that health checks write."""

import sqlalchemy as sa
from alembic import op

revision = "0002_tenants"
down_revision = "0001_memories"

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make them."""
    _keys()
    _account()
    op.create_table(
        "pulse",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _keys() -> None:
    op.create_table(
        "tenants",
        sa.Column("name", _ID, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", _ID, nullable=False),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("per_minute", sa.Integer()),
        sa.Column("revoked_at", _MOMENT),
        sa.PrimaryKeyConstraint("key_id"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.name"]),
    )
    op.create_index(op.f("ix_api_keys_tenant"), "api_keys", ["tenant"])


def _account() -> None:
    op.create_table(
        "usage",
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("hour", _MOMENT, nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("model_calls", sa.BigInteger(), nullable=False),
        sa.Column("embedded_texts", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "hour"),
    )
    op.create_table(
        "audit",
        sa.Column("number", _SERIAL, nullable=False),
        sa.Column("tenant", _ID, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_audit_tenant_number"), "audit", ["tenant", "number"])
