"""Tables of what a method remembers, and of how it came to remember it."""

from __future__ import annotations

from memsif_ray.schemas.columns import FLAG, IDS, NUMBER, SCOPE, TEXT, TIME, VECTOR, WHOLE, table

SEGMENTS = table(
    "run",
    **SCOPE,
    segment_id=TEXT,
    start=WHOLE,
    stop=WHOLE,
    message_ids=IDS,
    embedding=VECTOR,
    entities=IDS,
)
TRAJECTORIES = table("run", **SCOPE, trajectory_id=TEXT, segment_ids=IDS, embedding=VECTOR, entities=IDS)
FACT_OPERATIONS = table(
    "run event_time valid_from valid_to replaced_by",
    **SCOPE,
    seq=WHOLE,
    op=TEXT,
    fact_id=TEXT,
    track=TEXT,
    subject=TEXT,
    type=TEXT,
    attribute=TEXT,
    statement=TEXT,
    message_ids=IDS,
    segment_ids=IDS,
    ingested_at=TIME,
    event_time=TIME,
    valid_from=TIME,
    valid_to=TIME,
    status=TEXT,
    replaced_by=TEXT,
    query_ids=IDS,
    targets=IDS,
    decided_by=TEXT,
    reason=TEXT,
)
"""The append-only fact log; each row holds the whole version of the fact that it wrote."""
DECISIONS = table(
    "run score",
    **SCOPE,
    kind=TEXT,
    subject_id=TEXT,
    outcome=TEXT,
    decided_by=TEXT,
    score=NUMBER,
    detail=TEXT,
)
CLUSTERS = table(
    "run promoted_fact_id",
    **SCOPE,
    cluster_id=TEXT,
    subject=TEXT,
    statements=IDS,
    query_ids=IDS,
    queries=IDS,
    sources=IDS,
    message_ids=IDS,
    first_seen=TIME,
    last_seen=TIME,
    promoted_fact_id=TEXT,
)
NOTES = table(
    "run timestamp",
    **SCOPE,
    note_id=TEXT,
    kind=TEXT,
    text=TEXT,
    message_ids=IDS,
    timestamp=TIME,
    links=IDS,
    tags=IDS,
    detail=TEXT,
    active=FLAG,
)
"""What a compared system's memory consists of; of several notes of one id the last is current."""
VECTORS = table("run", **SCOPE, kind=TEXT, unit_id=TEXT, model_id=TEXT, vector=VECTOR, entities=IDS)
