"""The append-only fact log and its views.

Operations are rows; what memory believes is their fold. Nothing is rewritten, so "what did memory hold
at time t, and why?" is answered by folding fewer rows. Erasure alone touches rows: it empties them and leaves
them in place, so that the log still folds and no id is ever given again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memsif_ray.types import Fact, FactOperation, Matrix, Op, Vector

_TOLD = frozenset({"active", "superseded"})
"""What a question about the past may be told; merged facts live on in another."""


def fold(
    operations: Iterable[FactOperation], *, as_of: datetime | None = None, valid_at: datetime | None = None
) -> dict[str, Fact]:
    """The latest version of every fact, by id, replaced ones included.

    Args:
        operations: The log, in order.
        as_of: Only what memory had learned by then (`ingested_at`).
        valid_at: Only what held in the world then (`valid_from` inclusive, `valid_to` exclusive).
    """
    facts: dict[str, Fact] = {}
    for operation in operations:
        if operation.op is Op.REJECT or (as_of is not None and operation.fact.ingested_at > as_of):
            continue
        _apply(facts, operation)
    if valid_at is None:
        return facts
    return {i: f for i, f in facts.items() if f.status in _TOLD and holds(f, valid_at)}


def holds(fact: Fact, moment: datetime) -> bool:
    """Does `fact` hold at `moment`? An open side never excludes."""
    begun = fact.valid_from is None or fact.valid_from <= moment
    return begun and (fact.valid_to is None or moment < fact.valid_to)


def _apply(facts: dict[str, Fact], operation: FactOperation) -> None:
    new = operation.fact
    facts[new.fact_id] = new
    for target in operation.targets:
        old = facts.get(target)
        if old is None or old.status == "erased" or target == new.fact_id:
            continue
        if operation.op is Op.MERGE:
            facts[target] = replace(old, status="merged", replaced_by=new.fact_id)
        elif operation.op is Op.SUPERSEDE:
            _retire(facts, old, new)


def _retire(facts: dict[str, Fact], old: Fact, new: Fact) -> None:
    """Event time decides who is current: a late report about the past never retires the present."""
    if _begins(new) >= _begins(old):
        facts[old.fact_id] = replace(
            old, status="superseded", replaced_by=new.fact_id, valid_to=_earliest(old.valid_to, _begins(new))
        )
    elif new.status != "erased":
        facts[new.fact_id] = replace(
            new, status="superseded", replaced_by=old.fact_id, valid_to=_earliest(new.valid_to, _begins(old))
        )


def _begins(fact: Fact) -> datetime:
    return fact.valid_from or fact.ingested_at


def _earliest(known: datetime | None, limit: datetime) -> datetime:
    return limit if known is None else min(known, limit)


class FactBook:
    """The log with its current view and an exact index over the active statements.

    One matrix product over all statements is exact, and for the thousands of facts of a
    conversation faster than an approximate index.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.operations: list[FactOperation] = []
        self._facts: dict[str, Fact] = {}
        self._rows: dict[str, int] = {}
        self._by_subject: defaultdict[str, list[str]] = defaultdict(list)
        self._ids: list[str] = []
        self._vectors: Matrix = np.zeros((0, 0), dtype=np.float32)
        self._alive = np.zeros(0, dtype=bool)
        self._dated = np.zeros(0, dtype=bool)
        self._shared = False  # a copy uses the same matrix

    def __len__(self) -> int:
        """Number of active facts."""
        return int(self._alive[: len(self._ids)].sum())

    def write(self, operation: FactOperation, vector: Vector | None) -> None:
        """Append one operation; `vector` embeds its statement (None for `Reject`)."""
        self.operations.append(operation)
        if operation.op is Op.REJECT:
            return
        if operation.fact.fact_id not in self._facts:
            self._by_subject[operation.fact.subject].append(operation.fact.fact_id)
        _apply(self._facts, operation)
        if vector is not None:
            self._place(operation.fact.fact_id, vector)
        for fact_id in (operation.fact.fact_id, *operation.targets):
            if fact_id in self._rows:
                status = self._facts[fact_id].status
                self._alive[self._rows[fact_id]] = status == "active"
                self._dated[self._rows[fact_id]] = status in _TOLD

    def copy(self) -> FactBook:
        """An independent book with the same content. Embeddings are shared until one of the two changes."""
        other = FactBook()
        other.operations, other._facts = list(self.operations), dict(self._facts)
        other._rows, other._ids = dict(self._rows), list(self._ids)
        other._by_subject.update((subject, list(ids)) for subject, ids in self._by_subject.items())
        other._alive, other._dated = self._alive.copy(), self._dated.copy()
        other._vectors = self._vectors
        self._shared = other._shared = True
        return other

    def revert(self, earlier: FactBook) -> None:
        """Become what a copy of this book is, e.g. one made before a write that failed."""
        self.__dict__.update(earlier.__dict__)

    def rewrite(self, operations: Iterable[FactOperation], vectors: Mapping[str, Vector]) -> None:
        """Begin anew from another log; facts without a vector are not searched."""
        fresh = FactBook()
        for operation in operations:
            fresh.write(operation, vectors.get(operation.fact.fact_id))
        self.revert(fresh)

    def get(self, fact_id: str) -> Fact:
        """The latest version of a fact, whatever its status.

        Raises:
            KeyError: When there is none of that id.
        """
        return self._facts[fact_id]

    def knows(self, fact_id: str) -> bool:
        """Is there a fact of that id that was not erased?"""
        return fact_id in self._facts and self._facts[fact_id].status != "erased"

    def active(self) -> list[Fact]:
        """Every fact that currently holds, in order of first appearance."""
        return [f for f in self._facts.values() if f.status == "active"]

    def about(self, subject: str) -> list[Fact]:
        """Every active fact about one canonical subject."""
        return [
            self._facts[i] for i in self._by_subject.get(subject, ()) if self._facts[i].status == "active"
        ]

    def search(self, query: Vector, k: int, *, replaced: bool = False) -> list[tuple[Fact, float]]:
        """The k facts with the highest cosine, best first; ties go to the older fact.

        Args:
            query: Unit vector, shape (dim,).
            k: How many at most.
            replaced: Also superseded versions, for questions about the past; merged ones never.
        """
        n = len(self._ids)
        if n == 0 or k < 1:
            return []
        allowed = self._dated[:n] if replaced else self._alive[:n]
        scores = np.where(allowed, self._vectors[:n] @ query, -np.inf)
        keep = np.argpartition(-scores, k - 1)[:k] if n > k else np.arange(n)
        order = keep[np.lexsort((keep, -scores[keep]))]
        return [(self._facts[self._ids[i]], float(scores[i])) for i in order if np.isfinite(scores[i])]

    def vector(self, fact_id: str) -> Vector:
        """The embedding of a fact's statement, shape (dim,)."""
        row: Vector = self._vectors[self._rows[fact_id]]
        return row

    def vectors(self) -> list[tuple[str, Vector]]:
        """(fact id, embedding of its latest statement), for storage."""
        return [(fact_id, self._vectors[row]) for fact_id, row in self._rows.items()]

    def next_id(self, prefix: str) -> str:
        """A sortable id that no fact of this book has."""
        return f"{prefix}_{len(self._facts):05d}"

    @property
    def next_seq(self) -> int:
        """Position of the next operation in the log."""
        return len(self.operations)

    def _place(self, fact_id: str, vector: Vector) -> None:
        if self._shared:
            self._vectors, self._shared = self._vectors.copy(), False
        row = self._rows.setdefault(fact_id, len(self._ids))
        if row == len(self._ids):
            self._ids.append(fact_id)
            self._reserve(len(vector))
        self._vectors[row] = vector

    def _reserve(self, dim: int) -> None:
        if len(self._ids) <= len(self._alive):
            return
        size = max(64, 2 * len(self._alive))
        grown = np.zeros((size, dim), dtype=np.float32)
        if len(self._alive):
            grown[: len(self._alive)] = self._vectors
        self._vectors = grown
        self._alive = _padded(self._alive, size)
        self._dated = _padded(self._dated, size)


def _padded(flags: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    return np.concatenate([flags, np.zeros(size - len(flags), dtype=bool)])
