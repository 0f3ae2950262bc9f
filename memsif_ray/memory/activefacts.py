"""ActiveFacts: from query-local evidence to candidate clusters to promoted facts (MemSIF 3.4).

Updates see the statement, its provenance and the triggering query; never the answer, its grade or gold.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from memsif_ray.config import ActiveFactConfig
from memsif_ray.memory.evidence import undated
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.matching import Normalisation, coherence
from memsif_ray.text import words
from memsif_ray.types import (
    CandidateCluster,
    Evidence,
    Fact,
    FactOperation,
    Matrix,
    Message,
    Op,
    Question,
    StoredVector,
    Track,
    Vector,
)

Synthesiser = Callable[[str, Sequence[str]], Awaitable[tuple[str, str]]]
"""(subject, statements) → (normalised statement, who decided)."""
Embed = Callable[[str], Awaitable[Vector]]


@dataclass(frozen=True, slots=True)
class Scores:
    """Score_src and Score_qry of equations (2) and (3), both in [0, 1)."""

    source: float
    query: float


def support(count: int, vectors: Matrix, how: Normalisation) -> float:
    """(1 − 1/|R|) · Coh(X), and likewise for queries; 0 for a single source or query."""
    return 0.0 if count < 1 else (1 - 1 / count) * coherence(vectors, how)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidate clusters at one moment; clusters that change later do not show.

    Attributes:
        clusters: In the order in which they were opened.
        statements: Embeddings of each cluster's statements.
        queries: Embeddings of each cluster's queries.
        how: Normalisation of cosines.
    """

    clusters: tuple[CandidateCluster, ...]
    statements: tuple[Matrix, ...]
    queries: tuple[Matrix, ...]
    how: Normalisation

    def scores(self, index: int) -> Scores:
        """Source support and query demand of one cluster."""
        cluster = self.clusters[index]
        return Scores(
            support(len(cluster.sources), self.statements[index], self.how),
            support(len(cluster.queries), self.queries[index], self.how),
        )


def independent_sources(
    message_ids: Sequence[str], messages: Mapping[str, Message], unit_of: Mapping[str, str]
) -> tuple[str, ...]:
    """Distinct interaction units behind a cluster, the system's own echoes not counted.

    What an assistant says may only repeat what memory told it. So assistant turns count as one source
    together, and as none where a person said it too.
    """
    said = [m for m in message_ids if messages[m].role != "assistant"]
    counted = said or list(message_ids[:1])
    return tuple(dict.fromkeys(unit_of.get(m, m) for m in counted))


class ActiveFacts:
    """The candidate clusters of one conversation, and the promotions they lead to.

    Args:
        book: Fact book of the ActiveFact track.
        config: Thresholds.
        how: Normalisation of cosines, the same as φ's.
        synthesise: Writes one statement from a cluster's.
        embed: Embeds that statement.
    """

    def __init__(
        self,
        book: FactBook,
        *,
        config: ActiveFactConfig,
        how: Normalisation,
        synthesise: Synthesiser,
        embed: Embed,
    ) -> None:
        """Start without clusters."""
        self._book, self._config, self._how = book, config, how
        self._synthesise, self._embed = synthesise, embed
        self.clusters: list[CandidateCluster] = []
        self._statements: list[Matrix] = []
        self._queries: list[Matrix] = []

    async def observe(
        self,
        question: Question,
        query: Vector,
        evidence: Sequence[tuple[Evidence, Vector]],
        *,
        messages: Mapping[str, Message],
        unit_of: Mapping[str, str],
    ) -> list[str]:
        """Accumulate one question's evidence, then promote or update; returns the touched cluster ids."""
        touched = dict.fromkeys(
            self._accumulate(question, query, item, vector, messages=messages, unit_of=unit_of)
            for item, vector in evidence
        )
        for index in touched:
            await self._maintain(index)
        return [self.clusters[i].cluster_id for i in touched]

    def candidates(self) -> Candidates:
        """As they are now; embeddings are shared, since they are replaced and never written to."""
        return Candidates(tuple(self.clusters), tuple(self._statements), tuple(self._queries), self._how)

    def vectors(self, kind: str, cluster_id: str) -> Matrix:
        """Embeddings of a cluster's statements (`statement`) or queries, shape (n, dim)."""
        index = int(cluster_id.removeprefix("cand_"))
        return (self._statements if kind == "statement" else self._queries)[index]

    def stored_vectors(self, model_id: str) -> list[StoredVector]:
        """Embeddings of every cluster's statements and queries, numbered under the cluster's id."""
        return [
            StoredVector(kind, f"{cluster.cluster_id}/{j:04d}", model_id, row)
            for i, cluster in enumerate(self.clusters)
            for kind, matrix in (("statement", self._statements[i]), ("query", self._queries[i]))
            for j, row in enumerate(matrix)
        ]

    def restore(self, clusters: Sequence[CandidateCluster], vectors: Sequence[tuple[Matrix, Matrix]]) -> None:
        """Take over stored clusters with their statement and query embeddings."""
        self.clusters = list(clusters)
        self._statements = [statements for statements, _ in vectors]
        self._queries = [queries for _, queries in vectors]

    def forget(self, fact_id: str, said: Set[tuple[str, ...]]) -> None:
        """Remove statements that say what an erased fact said; what was promoted to it is emptied.

        A cluster without statements keeps its place, and takes nothing in any more.

        Args:
            fact_id: The erased fact.
            said: The words of each of its versions.
        """
        for index, cluster in enumerate(self.clusters):
            kept = [
                j
                for j, statement in enumerate(cluster.statements)
                if cluster.promoted_fact_id != fact_id and tuple(words(undated(statement))) not in said
            ]
            if len(kept) == len(cluster.statements):
                continue
            self._statements[index] = self._statements[index][kept]
            self._change(index, statements=tuple(cluster.statements[j] for j in kept))
            if not kept:
                self._queries[index] = self._queries[index][:0]
                self._change(index, subject="", query_ids=(), queries=(), sources=(), message_ids=())

    def _accumulate(
        self,
        question: Question,
        query: Vector,
        item: Evidence,
        vector: Vector,
        *,
        messages: Mapping[str, Message],
        unit_of: Mapping[str, str],
    ) -> int:
        index = self._home(item, vector)
        if index is None:
            index = self._open(item, vector)
        elif not self._known_statement(index, item, vector):
            self._statements[index] = np.vstack([self._statements[index], vector])
            self._change(index, statements=(*self.clusters[index].statements, item.statement))
        cluster = self.clusters[index]
        ids = tuple(dict.fromkeys((*cluster.message_ids, *item.message_ids)))
        self._change(
            index,
            message_ids=ids,
            sources=independent_sources(ids, messages, unit_of),
            first_seen=min(cluster.first_seen, item.timestamp),
            last_seen=max(cluster.last_seen, item.timestamp),
        )
        self._demand(index, question, query)
        return index

    def _home(self, item: Evidence, vector: Vector) -> int | None:
        """The cluster of the same subject whose statements are compatible, most compatible first."""
        fits = [
            (float(np.mean(self._statements[i] @ vector)), -i)
            for i, cluster in enumerate(self.clusters)
            if cluster.subject == item.subject and cluster.statements
        ]
        best = max(fits, default=None)
        return -best[1] if best is not None and best[0] >= self._config.tau_compatible else None

    def _open(self, item: Evidence, vector: Vector) -> int:
        index = len(self.clusters)
        self.clusters.append(
            CandidateCluster(
                cluster_id=f"cand_{index:05d}",
                subject=item.subject,
                statements=(item.statement,),
                query_ids=(),
                queries=(),
                sources=(),
                message_ids=(),
                first_seen=item.timestamp,
                last_seen=item.timestamp,
            )
        )
        self._statements.append(vector[None, :])
        self._queries.append(np.zeros((0, len(vector)), dtype=np.float32))
        return index

    def _known_statement(self, index: int, item: Evidence, vector: Vector) -> bool:
        twin = max(self._statements[index] @ vector) >= self._config.tau_duplicate_query
        return bool(twin) or any(words(s) == words(item.statement) for s in self.clusters[index].statements)

    def _demand(self, index: int, question: Question, query: Vector) -> None:
        """A near-duplicate of a known query is the same demand and counts once."""
        seen = self._queries[index]
        if len(seen) and float(np.max(seen @ query)) >= self._config.tau_duplicate_query:
            return
        cluster = self.clusters[index]
        self._queries[index] = np.vstack([seen, query])
        self._change(
            index,
            query_ids=(*cluster.query_ids, question.question_id),
            queries=(*cluster.queries, question.text),
        )

    async def _maintain(self, index: int) -> None:
        """Promote a cluster that has earned it; bring a promoted entry up to date."""
        cluster, scores = self.clusters[index], self.candidates().scores(index)
        earned = scores.source >= self._config.theta_source and scores.query >= self._config.theta_query
        if cluster.promoted_fact_id is None and not earned:
            return
        known = None if cluster.promoted_fact_id is None else self._book.get(cluster.promoted_fact_id)
        if known is not None and set(known.message_ids) == set(cluster.message_ids):
            return
        statement, decided_by = await self._synthesise(cluster.subject, cluster.statements)
        fact = self._entry(
            cluster, statement, self._book.next_id("active") if known is None else known.fact_id
        )
        op = Op.PROMOTE if known is None else Op.UPDATE
        reason = f"Score_src {scores.source:.3f}, Score_qry {scores.query:.3f}"
        self._book.write(
            FactOperation(self._book.next_seq, op, fact, (), decided_by, reason), await self._embed(statement)
        )
        self._change(index, promoted_fact_id=fact.fact_id)

    def _entry(self, cluster: CandidateCluster, statement: str, fact_id: str) -> Fact:
        return Fact(
            fact_id=fact_id,
            track=Track.ACTIVE,
            subject=cluster.subject,
            type="",
            attribute="",
            statement=statement,
            message_ids=cluster.message_ids,
            segment_ids=cluster.sources,
            ingested_at=cluster.last_seen,
            valid_from=cluster.first_seen,
            query_ids=cluster.query_ids,
        )

    def _change(self, index: int, **changes: object) -> None:
        self.clusters[index] = replace(self.clusters[index], **changes)  # type: ignore[arg-type]
