"""What MemoryStore promises, asked of both databases."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memsif_ray.errors import Conflict, DataError
from memsif_ray.service.models import AuditEntry, OperationStatus, Usage
from memsif_ray.service.store import ConversationRow, MemoryStore, StateRow
from memsif_ray.storage.sql import SqlStore, open_store
from tests.unit.storage.sql.conftest import NOW
from tests.unit.storage.sql.values import AT, message, operation

HOSTILE = (
    'it\'s "quoted"; DROP TABLE messages; --',
    "../../etc/passwd",
    "%s %(x)s :x ? $1 \\ \\x00",
    "👩‍🍳 שלום \u202eevil\u202c \u200b مرحبا 日本",
    "line\nbreak\ttab\r",
)


async def test_it_is_a_memory_store(store: SqlStore) -> None:
    kept: MemoryStore = store  # for mypy
    assert await kept.conversation("t", "none") is None


async def test_a_conversation_is_made_once_and_found_by_name_and_key(store: SqlStore) -> None:
    rows = await asyncio.gather(*(store.create("t", "c1") for _ in range(8)))
    assert len(set(rows)) == 1
    row = rows[0]
    assert (row.revision, row.messages, row.created_at) == (0, 0, NOW)
    assert await store.conversation("t", "c1") == row
    assert await store.conversation_of_key("t", row.key) == row


async def test_a_tenant_sees_only_its_own(store: SqlStore) -> None:
    mine, theirs = await store.create("t1", "c1"), await store.create("t2", "c1")
    await store.accept(theirs.key, [message(0)], operation("theirs"))
    assert mine.key != theirs.key
    assert await store.conversation_of_key("t1", theirs.key) is None
    assert await store.operation("t1", "op_theirs") is None
    assert await store.operation("t2", "op_theirs") == operation("theirs")
    assert [row.key for row in await store.conversations("t1", after="", limit=9)] == [mine.key]
    for other in ("T1", "t1 ", "*", "t%", "t_"):
        assert await store.conversation(other, "c1") is None


async def test_conversations_are_listed_by_code_point(store: SqlStore) -> None:
    for name in ("b", "a", "B", "é", "_", "日"):
        await store.create("t", name)
    assert [r.conversation_id for r in await store.conversations("t", after="", limit=9)] == [
        "B", "_", "a", "b", "é", "日",
    ]  # fmt: skip
    page = await store.conversations("t", after="_", limit=2)
    assert [r.conversation_id for r in page] == ["a", "b"]


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_comes_back_as_it_was(store: SqlStore, text: str) -> None:
    row = await store.create(text, text)
    given = message(
        0, text, message_id=text, name=text, session_name=text, metadata={text: [text, None, 1.5]}
    )
    await store.accept(row.key, [given], operation("a", conversation_id=text, message_ids=(text,)))
    assert await store.messages(row.key) == [given]
    assert await store.operation(text, "op_a") == operation("a", conversation_id=text, message_ids=(text,))
    await store.save(row.key, revision=0, put=[StateRow("facts", text, {text: text})])
    assert await store.state(row.key) == [StateRow("facts", text, {text: text})]


async def test_text_is_cleaned_and_ids_that_would_be_are_refused(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    given = message(0, "a\0b \ud800", metadata={"x": "\0\ud83d"})
    await store.accept(row.key, [given], operation("a"))
    assert await store.messages(row.key) == [replace(given, content="ab \ufffd")]
    for wrong in ("", "t\0", "\ud800", "x" * 301):
        with pytest.raises(DataError):
            await store.create(wrong, "c")
        with pytest.raises(DataError):
            await store.conversation("t", wrong)


async def test_times_are_unambiguous(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    india = timezone(timedelta(hours=5, minutes=30))
    received = datetime(2026, 1, 1, 3, 0, tzinfo=india)
    await store.accept(row.key, [message(0, received_at=received)], operation("a"))
    (kept,) = await store.messages(row.key)
    assert kept.timestamp == datetime(2026, 2, 28, 23, 59, 59, 999999)
    assert kept.timestamp.tzinfo is None
    assert kept.received_at == received
    assert kept.received_at.utcoffset() == timedelta(0)
    with pytest.raises(DataError, match="has a time zone"):
        await store.accept(row.key, [message(1, timestamp=received)], operation("b"))
    with pytest.raises(DataError, match="has no time zone"):
        await store.accept(row.key, [message(1, received_at=datetime(2026, 1, 1))], operation("b"))


async def test_messages_come_in_order_and_in_parts(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    given = [message(i, operation_id="op_a") for i in range(5)]
    accepted = await store.accept(row.key, given[::-1], operation("a", accepted=5))
    assert accepted.operation == operation("a", accepted=5)
    assert not accepted.repeated
    assert await store.messages(row.key) == given
    assert await store.messages(row.key, after=1, limit=2) == given[2:4]
    counted = await store.conversation("t", "c1")
    assert counted is not None
    assert counted.messages == 5


@pytest.mark.parametrize("taken", [{"message_id": "msg_0"}, {"position": 0}])
async def test_a_taken_id_or_position_stores_nothing(store: SqlStore, taken: dict[str, object]) -> None:
    row = await store.create("t", "c1")
    await store.accept(row.key, [message(0)], operation("a"))
    with pytest.raises(Conflict):
        await store.accept(row.key, [message(1), replace(message(2), **taken)], operation("b"))
    assert await store.messages(row.key) == [message(0)]
    assert await store.operation("t", "op_b") is None
    other = await store.create("t", "c2")
    await store.accept(other.key, [message(0)], operation("c", conversation_id="c2"))


async def test_a_repeated_request_finds_its_first_operation(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    await store.accept(row.key, [message(0)], operation("a"), idempotency=("k", "digest"))
    done = operation("a", status=OperationStatus.DONE)
    await store.put_operation(done)
    again = await store.accept(row.key, [message(1)], operation("b"), idempotency=("k", "digest"))
    assert (again.operation, again.repeated) == (done, True)
    with pytest.raises(Conflict, match="another request"):
        await store.accept(row.key, [message(1)], operation("b"), idempotency=("k", "other"))
    other = await store.create("t2", "c1")
    first = await store.accept(other.key, [message(0)], operation("c"), idempotency=("k", "other"))
    assert not first.repeated
    assert await store.messages(row.key) == [message(0)]


async def test_of_many_equal_requests_at_a_time_one_is_stored(store: SqlStore) -> None:
    row = await store.create("t", "c1")

    async def send(number: int) -> bool:
        sent = await store.accept(row.key, [message(0)], operation(str(number)), idempotency=("k", "digest"))
        return sent.repeated

    repeated = await asyncio.gather(*(send(number) for number in range(20)))
    assert repeated.count(False) == 1
    assert len(await store.unfinished()) == 1


async def test_state_keeps_its_order_and_is_replaced_and_deleted(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    vector = struct.pack("<3f", 1.0, -0.5, 0.25)
    first = [StateRow("b", "1", {"n": 1}, vector), StateRow("a", "1", {"n": 2}), StateRow("a", "2", {})]
    assert await store.save(row.key, revision=0, put=first) == 1
    assert await store.state(row.key) == first
    changed = StateRow("b", "1", {"n": 3, "long": "x" * 9_000})
    put = [changed, StateRow("c", "1", {})]
    assert await store.save(row.key, revision=1, put=put, delete=[("a", "1"), ("a", "absent")]) == 2
    assert await store.state(row.key) == [changed, first[2], put[1]]


async def test_a_writer_that_missed_a_change_is_refused_as_a_whole(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    await store.accept(row.key, [message(0)], operation("a"))
    results = await asyncio.gather(
        *(store.save(row.key, revision=0, put=[StateRow("x", str(i), {})]) for i in range(6)),
        return_exceptions=True,
    )
    assert results.count(1) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 5
    assert len(await store.state(row.key)) == 1
    with pytest.raises(Conflict):
        done = operation("a", status=OperationStatus.DONE)
        await store.save(row.key, revision=0, operations=[done])
    assert await store.operation("t", "op_a") == operation("a")


async def test_save_writes_operations_with_the_state(store: SqlStore) -> None:
    row, other = await store.create("t", "c1"), await store.create("t", "c2")
    await store.accept(row.key, [message(0)], operation("a"))
    done, learn = operation("a", status=OperationStatus.DONE), operation("l", kind="learn")
    await store.save(row.key, revision=0, operations=[done, learn])
    assert await store.operation("t", "op_a") == done
    assert await store.unfinished(row.key) == [learn]
    with pytest.raises(Conflict, match="another conversation"):
        await store.save(other.key, revision=0, operations=[operation("a", conversation_id="c2")])


async def test_what_is_unfinished_is_found_oldest_first(store: SqlStore) -> None:
    row, other = await store.create("t1", "c1"), await store.create("t2", "c1")
    running, failed = OperationStatus.RUNNING, OperationStatus.FAILED
    await store.accept(row.key, [], operation("z", status=running))
    await store.accept(other.key, [], operation("b"))
    await store.accept(row.key, [], operation("a"))
    await store.accept(other.key, [], operation("f", status=failed))
    assert [o.id for o in await store.unfinished()] == ["op_z", "op_b", "op_a"]
    assert [o.id for o in await store.unfinished(row.key)] == ["op_z", "op_a"]
    assert [r.key for r in await store.interrupted()] == [row.key, other.key]
    await store.put_operation(operation("b", status=OperationStatus.DONE))
    assert [r.key for r in await store.interrupted()] == [row.key]
    with pytest.raises(Conflict):
        await store.put_operation(operation("absent"))


async def test_only_a_pending_write_is_withdrawn(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    await store.accept(row.key, [message(0)], operation("a"))
    await store.accept(row.key, [message(1, operation_id="op_b")], operation("b"))
    await store.withdraw(operation("b"))
    assert await store.messages(row.key) == [message(0)]
    assert await store.operation("t", "op_b") == operation("b", status=OperationStatus.CANCELLED)
    left = await store.conversation("t", "c1")
    assert left is not None
    assert left.messages == 1
    await store.put_operation(operation("a", status=OperationStatus.RUNNING))
    for wrong in ("a", "b", "absent"):
        with pytest.raises(Conflict):
            await store.withdraw(operation(wrong))


async def test_erasing_removes_everything_and_nothing_else(store: SqlStore) -> None:
    row, other = await store.create("t", "c1"), await store.create("t", "c2")
    for key, name in ((row.key, "a"), (other.key, "b")):
        kept = message(0, operation_id=f"op_{name}")
        await store.accept(key, [kept], operation(name, conversation_id="c"), idempotency=("k", "d"))
        await store.save(key, revision=0, put=[StateRow("x", "1", {})])
    await store.erase(row.key)
    assert await store.conversation("t", "c1") is None
    assert (await store.messages(row.key), await store.state(row.key)) == ([], [])
    assert await store.operation("t", "op_a") is None
    with pytest.raises(Conflict, match="gone"):
        await store.accept(row.key, [message(5)], operation("x"))
    with pytest.raises(Conflict, match="gone"):
        await store.save(row.key, revision=1)
    assert (len(await store.messages(other.key)), len(await store.state(other.key))) == (1, 1)
    await store.erase(row.key)
    assert (await store.create("t", "c1")).key != row.key


async def test_a_conversation_from_elsewhere_is_adopted_whole_or_not(store: SqlStore) -> None:
    row = ConversationRow("t", "c1", "k3y", 7, 2, AT, AT)
    state = [StateRow("x", "2", {"a": 1}, b"\0\1\2\3"), StateRow("x", "1", {})]
    messages = [message(0), message(1)]
    await store.adopt(row, messages, state, operation("a", kind="import"))
    assert await store.conversation("t", "c1") == row
    assert (await store.messages("k3y"), await store.state("k3y")) == (messages, state)
    for taken in (replace(row, key="other"), replace(row, conversation_id="c2"), replace(row, tenant="t2")):
        with pytest.raises(Conflict):
            await store.adopt(taken, messages, state, operation("b"))
    assert await store.operation("t", "op_b") is None


async def test_usage_adds_up_by_tenant_and_hour(store: SqlStore) -> None:
    once = Usage(prompt_tokens=10, completion_tokens=2, model_calls=1, embedded_texts=3)
    nine = datetime(2026, 3, 1, 9, 59, tzinfo=UTC)
    await asyncio.gather(*(store.add_usage("t", nine, once) for _ in range(5)))
    await store.add_usage("t", nine + timedelta(minutes=1), once, requests=0)
    await store.add_usage("other", nine, once)
    total = await store.usage("t")
    assert (total.requests, total.prompt_tokens, total.embedded_texts) == (5, 60, 18)
    late = await store.usage("t", since=nine + timedelta(minutes=45))
    assert (late.requests, late.model_calls, late.since) == (0, 1, datetime(2026, 3, 1, 10, tzinfo=UTC))
    assert (await store.usage("nobody")).prompt_tokens == 0


async def test_the_audit_log_is_read_backwards(store: SqlStore) -> None:
    entries = [
        AuditEntry(at=AT, key_id="", request_id=f"r{i}", action="erase", target="c1") for i in range(4)
    ]
    for entry in entries:
        await store.add_audit("t", entry)
    await store.add_audit("other", entries[0])
    newest = await store.audit("t", before=None, limit=3)
    assert [entry for _, entry in newest] == entries[:0:-1]
    assert [entry for _, entry in await store.audit("t", before=newest[-1][0], limit=3)] == entries[:1]


async def test_what_was_stored_is_there_after_opening_again(url: str) -> None:
    first = await open_store(url)
    row = await first.create("t", "c1")
    await first.accept(row.key, [message(0)], operation("a"))
    await first.save(row.key, revision=0, put=[StateRow("x", "1", {"a": [1, 2]})])
    await first.close()
    second = await open_store(url)
    await second.ping()
    assert await second.messages(row.key) == [message(0)]
    assert await second.state(row.key) == [StateRow("x", "1", {"a": [1, 2]})]
    await second.close()


async def test_a_store_in_memory_keeps_nothing() -> None:
    first, second = await open_store("sqlite://"), await open_store("sqlite+aiosqlite:///:memory:")
    row = await first.create("t", "c1")
    await asyncio.gather(*(first.accept(row.key, [message(i)], operation(str(i))) for i in range(9)))
    assert len(await first.messages(row.key)) == 9
    assert await second.conversation("t", "c1") is None
    await first.erase(row.key)
    await first.close()
    await second.close()
