"""What a person does to a fact: each is one more row of the log, decided by `user`.

Only erasure changes earlier rows: it empties them. The operations stay, so that facts which the erased one
had replaced do not come back to life.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memsif_ray.errors import Conflict, NotFound
from memsif_ray.memory.facts import FactBook
from memsif_ray.text import words
from memsif_ray.types import Fact, FactOperation, Op

BY = "user"


def correction(
    book: FactBook, fact_id: str, at: datetime, *, statement: str | None = None, **validity: datetime | None
) -> FactOperation:
    """Another wording or validity of a fact that is in use.

    Args:
        book: Of the fact.
        fact_id: Which one.
        at: When it is corrected.
        statement: What it should say; None leaves it.
        validity: `valid_from` or `valid_to`, where they should change.

    Raises:
        Conflict: When it is not in use.
        NotFound: When there is none.
    """
    known = _in_use(book, fact_id, "active")
    text = known.statement if statement is None else statement
    changed: dict[str, datetime | None] = {"valid_from": _begins(known), **validity}
    fact = replace(known, statement=text, ingested_at=at, **changed)  # type: ignore[arg-type]
    return FactOperation(book.next_seq, Op.UPDATE, fact, (fact_id,), BY)


def succession(
    book: FactBook, fact_id: str, at: datetime, *, statement: str, since: datetime | None = None
) -> FactOperation:
    """A new fact that replaces one which is no longer true.

    Raises:
        Conflict: When it is not in use, or began later than what should replace it.
        NotFound: When there is none.
    """
    known = _in_use(book, fact_id, "active")
    if since is not None and since < _begins(known):
        raise Conflict(
            f"{fact_id} began at {_begins(known)}, after {since}: correct it instead of replacing it"
        )
    fact = replace(
        known,
        fact_id=book.next_id(known.track.value),
        statement=statement,
        ingested_at=at,
        event_time=None,
        valid_from=since or max(at, _begins(known)),
        valid_to=None,
    )
    return FactOperation(book.next_seq, Op.SUPERSEDE, fact, (fact_id,), BY)


def retraction(book: FactBook, fact_id: str, at: datetime) -> FactOperation:
    """Out of use, in questions about the past too.

    Raises:
        Conflict: When it is retracted already, or lives on in another.
        NotFound: When there is none.
    """
    known = _in_use(book, fact_id, "active", "superseded")
    fact = replace(known, status="retracted", ingested_at=at, valid_from=_begins(known))
    return FactOperation(book.next_seq, Op.RETRACT, fact, (), BY)


def restoration(book: FactBook, fact_id: str, at: datetime) -> FactOperation:
    """Back into use, as it was before it was retracted.

    Raises:
        Conflict: When it is not retracted.
        NotFound: When there is none.
    """
    known = _in_use(book, fact_id, "retracted")
    status = "active" if known.replaced_by is None else "superseded"
    return FactOperation(book.next_seq, Op.RESTORE, replace(known, status=status, ingested_at=at), (), BY)


def erase(book: FactBook, fact_id: str) -> frozenset[tuple[str, ...]]:
    """Empty every row that says what a fact said, refused candidates of the same words included.

    Returns:
        What it said, in the words of each version.

    Raises:
        NotFound: When there is none.
    """
    if not book.knows(fact_id):
        raise NotFound(f"no memory {fact_id!r}")
    said = frozenset(tuple(words(o.fact.statement)) for o in book.operations if o.fact.fact_id == fact_id)
    vectors = {known: vector for known, vector in book.vectors() if known != fact_id}
    book.rewrite([_emptied(o, fact_id, said) for o in book.operations], vectors)
    return said


def _emptied(operation: FactOperation, fact_id: str, said: frozenset[tuple[str, ...]]) -> FactOperation:
    fact = operation.fact
    echo = operation.op is Op.REJECT and tuple(words(fact.statement)) in said
    if fact.fact_id != fact_id and not echo:
        return operation
    blank = replace(
        fact,
        subject="",
        type="",
        attribute="",
        statement="",
        message_ids=(),
        segment_ids=(),
        query_ids=(),
        status="erased",
    )
    return replace(operation, fact=blank, reason="")


def _in_use(book: FactBook, fact_id: str, *wanted: str) -> Fact:
    if not book.knows(fact_id):
        raise NotFound(f"no memory {fact_id!r}")
    fact = book.get(fact_id)
    if fact.status not in wanted:
        raise Conflict(f"{fact_id} is {fact.status}, not {' or '.join(wanted)}")
    return fact


def _begins(fact: Fact) -> datetime:
    """Said out loud, because a correction moves the time of learning, which stands in for it."""
    return fact.valid_from or fact.ingested_at
