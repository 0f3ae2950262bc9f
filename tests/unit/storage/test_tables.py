"""Values through Arrow, Parquet and Polars, and files that are damaged."""

from dataclasses import fields
from datetime import datetime

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from memsif_ray.errors import DataError
from memsif_ray.schemas import MESSAGES, SEGMENTS, TABLES
from memsif_ray.storage.memories import KINDS
from memsif_ray.storage.tables import decode, encode, read_table, write_table, write_tables
from memsif_ray.types import (
    CandidateCluster,
    Category,
    Decision,
    Fact,
    FactOperation,
    Gold,
    Message,
    Note,
    Op,
    Question,
    Segment,
    StoredVector,
    Track,
    Trajectory,
)

DAY = datetime(2023, 5, 8, 13, 56)
VECTOR = np.array([0.6, 0.8], np.float32)
FACT = Fact("f1", Track.ACTIVE, "Jo", "Event", "trip", "Jo went.", ("D1:1",), ("seg_0",), DAY, valid_from=DAY)
VALUES = {
    "messages": Message("c", "D1:1", 0, 1, "Jo", "Hi 🏳️‍🌈", DAY, caption=None),
    "questions": Question("q", "c", 0, "When?", Category.TEMPORAL, DAY),
    "gold": Gold("q", "May", ("D1:1",), trap=None),
    "segments": Segment("seg_0", 0, 2, ("D1:1", "D1:2"), VECTOR, frozenset({"jo", "ann"})),
    "trajectories": Trajectory("traj_0", ("seg_0",), VECTOR, frozenset()),
    "fact_operations": FactOperation(0, Op.PROMOTE, FACT, targets=("f0",), reason="often asked"),
    "decisions": Decision("boundary", "D1:2", "append", "rule", score=0.5),
    "clusters": CandidateCluster("k", "Jo", ("a",), ("q",), ("When?",), ("seg_0",), ("D1:1",), DAY, DAY),
    "notes": Note("n1", "page", "Ann moved.", ("D1:1",), DAY, links=("n0",), tags=("Ann",)),
    "vectors": StoredVector("message", "D1:1", "hash-2", VECTOR),
}
SCOPE = {"method": "memsif", "conversation_id": "c", "run": None}


def told(value):
    """Its fields in words; a set has no order of its own, so that its representation may differ."""
    found = [getattr(value, field.name) for field in fields(value)]
    return [repr(sorted(one) if isinstance(one, frozenset) else one) for one in found]


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_from_parquet_as_it_was(tmp_path, name):
    value = VALUES[name]
    scope = {} if name in ("messages", "questions", "gold") else SCOPE
    write_table(tmp_path / "t.parquet", encode([value, value], TABLES[name], **scope))
    back = decode(read_table(tmp_path / "t.parquet", TABLES[name]), type(value))
    assert [told(one) for one in back] == [told(value)] * 2
    assert type(back[0]) is type(value)


def test_enumerations_and_vectors_keep_their_types():
    operation = decode(
        encode([VALUES["fact_operations"]], TABLES["fact_operations"], **SCOPE), FactOperation
    )[0]
    assert operation.op is Op.PROMOTE
    assert operation.fact.track is Track.ACTIVE
    segment = decode(encode([VALUES["segments"]], SEGMENTS, **SCOPE), Segment)[0]
    assert segment.embedding.dtype == np.float32


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_written_empty_and_read_by_polars_with_its_schema(tmp_path, name):
    path = tmp_path / f"{name}.parquet"
    assert write_tables(path, TABLES[name], []) == 0
    frame = pl.read_parquet(path)
    assert frame.columns == TABLES[name].names
    arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(TABLES[name])
    assert arrow.schema.equals(TABLES[name])
    assert read_table(path, TABLES[name]).num_rows == 0


@pytest.mark.parametrize("name", KINDS.keys() - {"messages"})
def test_empty_and_full_files_scan_together_in_polars(tmp_path, name):
    write_table(tmp_path / "a.parquet", encode([], TABLES[name], **SCOPE))
    write_table(tmp_path / "b.parquet", encode([VALUES[name]], TABLES[name], **SCOPE | {"run": 1}))
    frame = pl.scan_parquet(tmp_path / "*.parquet").collect()
    assert frame.height == 1
    assert frame["run"].to_list() == [1]


def test_equal_tables_are_equal_files(tmp_path):
    for name in ("a", "b"):
        write_table(tmp_path / name, encode([VALUES["segments"]] * 3, SEGMENTS, **SCOPE))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, encode([VALUES["messages"]], MESSAGES))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"t\.parquet"):
        read_table(path, MESSAGES)


def test_a_file_of_another_version_or_schema_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(encode([VALUES["messages"]], MESSAGES), path)
    with pytest.raises(DataError, match="version none"):
        read_table(path, MESSAGES)
    write_table(path, encode([VALUES["messages"]], MESSAGES))
    with pytest.raises(DataError, match="columns"):
        read_table(path, SEGMENTS)


def test_a_writer_that_dies_leaves_nothing_that_a_reader_finds(tmp_path):
    def parts():
        yield encode([VALUES["messages"]], MESSAGES)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_tables(tmp_path / "t.parquet", MESSAGES, parts())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_required_value_is_refused_not_written_as_null():
    with pytest.raises((pa.ArrowException, KeyError)):
        encode([{"method": "m"}], TABLES["retrievals"], conversation_id="c", run=0)
