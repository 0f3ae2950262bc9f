"""Words of the schemas: kinds of columns, and a short way to write a table."""

from __future__ import annotations

import pyarrow as pa

TEXT, WHOLE, NUMBER, FLAG = pa.string(), pa.int32(), pa.float64(), pa.bool_()
TIME = pa.timestamp("us")
"""Local time without a zone, as the data gives it."""
IDS = pa.list_(pa.string())
VECTOR = pa.list_(pa.float32())
"""Its length is the embedder's, and a table may hold no vector at all."""

SCOPE: dict[str, pa.DataType] = {"method": TEXT, "conversation_id": TEXT, "run": WHOLE}
"""Whose row it is. `run` is null for what building memory made, before any question."""


def table(optional: str = "", /, **columns: pa.DataType) -> pa.Schema:
    """Columns in order; those named in `optional`, apart by spaces, may be null."""
    nullable = optional.split()
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])
