"""One written Arrow schema per Parquet table: inference would drift with the first batch of nulls."""

from __future__ import annotations

from memsif_ray.schemas.diagnostics import (
    ADJACENT_PAIRS,
    COMPACTED_ANSWERS,
    COMPACTION_LOSSES,
    EVIDENCE_SCORES,
    EVIDENCE_SPREADS,
    HISTORY_STATISTICS,
    NEIGHBOUR_PAIRS,
    PAIR_JUDGEMENTS,
    PAIR_SAMPLES,
    RECOVERIES,
    TSM_MEASURES,
)
from memsif_ray.schemas.inputs import CONVERSATIONS, GOLD, MESSAGES, QUESTIONS
from memsif_ray.schemas.memories import (
    CLUSTERS,
    DECISIONS,
    FACT_OPERATIONS,
    NOTES,
    SEGMENTS,
    TRAJECTORIES,
    VECTORS,
)
from memsif_ray.schemas.packing import INSTANCES, LABELS, PACKINGS
from memsif_ray.schemas.runs import ANSWERS, CALLS, RETRIEVALS, TASKS, UNITS, VERDICTS

SCHEMA_VERSION = 2
"""Stored in every file; raised when a column changes its meaning."""

TABLES = {
    "conversations": CONVERSATIONS,
    "messages": MESSAGES,
    "questions": QUESTIONS,
    "gold": GOLD,
    "segments": SEGMENTS,
    "trajectories": TRAJECTORIES,
    "fact_operations": FACT_OPERATIONS,
    "decisions": DECISIONS,
    "clusters": CLUSTERS,
    "notes": NOTES,
    "vectors": VECTORS,
    "retrievals": RETRIEVALS,
    "packings": PACKINGS,
    "labels": LABELS,
    "instances": INSTANCES,
    "answers": ANSWERS,
    "verdicts": VERDICTS,
    "calls": CALLS,
    "units": UNITS,
    "tasks": TASKS,
    "evidence_spreads": EVIDENCE_SPREADS,
    "history_statistics": HISTORY_STATISTICS,
    "tsm_measures": TSM_MEASURES,
    "adjacent_pairs": ADJACENT_PAIRS,
    "neighbour_pairs": NEIGHBOUR_PAIRS,
    "pair_samples": PAIR_SAMPLES,
    "pair_judgements": PAIR_JUDGEMENTS,
    "evidence_scores": EVIDENCE_SCORES,
    "recoveries": RECOVERIES,
    "compacted_answers": COMPACTED_ANSWERS,
    "compaction_losses": COMPACTION_LOSSES,
}
VOLATILE = frozenset({"latency_s", "seconds", "attempts"})
"""Columns that say how it went, not what came out: two equal runs may differ in them, and in no other."""

__all__ = [
    "ADJACENT_PAIRS",
    "ANSWERS",
    "CALLS",
    "CLUSTERS",
    "COMPACTED_ANSWERS",
    "COMPACTION_LOSSES",
    "CONVERSATIONS",
    "DECISIONS",
    "EVIDENCE_SCORES",
    "EVIDENCE_SPREADS",
    "FACT_OPERATIONS",
    "GOLD",
    "HISTORY_STATISTICS",
    "INSTANCES",
    "LABELS",
    "MESSAGES",
    "NEIGHBOUR_PAIRS",
    "NOTES",
    "PACKINGS",
    "PAIR_JUDGEMENTS",
    "PAIR_SAMPLES",
    "QUESTIONS",
    "RECOVERIES",
    "RETRIEVALS",
    "SCHEMA_VERSION",
    "SEGMENTS",
    "TABLES",
    "TASKS",
    "TRAJECTORIES",
    "TSM_MEASURES",
    "UNITS",
    "VECTORS",
    "VERDICTS",
    "VOLATILE",
]
