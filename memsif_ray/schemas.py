"""One written Arrow schema per Parquet table: inference would drift with the first batch of nulls."""

from __future__ import annotations

import pyarrow as pa

SCHEMA_VERSION = 1
"""Stored in every file; raised when a column changes its meaning."""

ANSWERS = pa.schema(
    [
        pa.field("run", pa.int32(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("question_index", pa.int32(), nullable=False),
        pa.field("order", pa.int32(), nullable=False),  # place in the online order, from 0
        pa.field("category", pa.string(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("answer", pa.string()),  # null when there is none: then `error` names the reason
        pa.field("error", pa.string(), nullable=False),
        pa.field("gold_answer", pa.string(), nullable=False),
        pa.field("gold_evidence", pa.list_(pa.string()), nullable=False),
        pa.field("context", pa.string(), nullable=False),
        pa.field("context_tokens", pa.int32(), nullable=False),
        pa.field("context_items", pa.int32(), nullable=False),
        pa.field("context_message_ids", pa.list_(pa.string()), nullable=False),
        pa.field("retrieved_ids", pa.list_(pa.string()), nullable=False),  # ranked, best first
        pa.field("seconds", pa.float64(), nullable=False),  # wall clock of retrieval and answering
    ]
)
"""One row per run, method and question, whether it was answered or not."""

VERDICTS = pa.schema(
    [
        pa.field("run", pa.int32(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("profile", pa.string(), nullable=False),
        pa.field("outcome", pa.string()),  # right, wrong or invalid; null when nobody graded
        pa.field("reason", pa.string(), nullable=False),
        pa.field("f1", pa.float64()),  # null when there is no reference
        pa.field("evidence_recall", pa.float64()),  # null when there is no gold evidence
        pa.field("abstained", pa.bool_(), nullable=False),
        pa.field("date_match", pa.bool_()),  # null when the reference is not a bare date
    ]
)
"""One row per answer and judge profile; the scores that need no judge stand beside the outcome."""

CALLS = pa.schema(
    [
        pa.field("call_key", pa.string(), nullable=False),
        pa.field("occurrence", pa.int32(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("conversation_id", pa.string(), nullable=False),
        pa.field("question_id", pa.string(), nullable=False),  # "" while memory is built
        pa.field("run", pa.int32(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt_fingerprint", pa.string(), nullable=False),
        pa.field("texts", pa.int32(), nullable=False),  # embedded; 0 for a chat call
        pa.field("prompt_tokens", pa.int32()),  # the server's usage; null when it gave none
        pa.field("completion_tokens", pa.int32()),
        pa.field("latency_s", pa.float64(), nullable=False),
        pa.field("finish_reason", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),  # ok, invalid:<reason> or error:<type>
        pa.field("attempts", pa.int32(), nullable=False),
        pa.field("error", pa.string(), nullable=False),
        pa.field("content", pa.string()),  # null when the server sent none
        pa.field("mean_logprob", pa.float64()),  # of the reply's tokens; null unless asked for and given
    ]
)
"""One row per model call: the ledger's `Call`, in the order of its fields."""

_TEXT, _WHOLE, _NUMBER, _FLAG = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_TIME = pa.timestamp("us")  # local time without a zone, as the data gives it
_IDS = pa.list_(pa.string())
_VECTOR = pa.list_(pa.float32())  # its length is the embedder's, and a table may hold no vector at all


def _table(optional: str = "", /, **columns: pa.DataType) -> pa.Schema:
    """Columns in order; those named in `optional` may be null."""
    nullable = optional.split()
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])


_SCOPE: dict[str, pa.DataType] = {"method": _TEXT, "conversation_id": _TEXT, "run": _WHOLE}
"""Whose row it is. `run` is null for what building memory made, before any question."""

CONVERSATIONS = _table(conversation_id=_TEXT, dataset=_TEXT, speakers=_IDS)
MESSAGES = _table(
    "caption",
    conversation_id=_TEXT,
    message_id=_TEXT,
    position=_WHOLE,
    session=_WHOLE,
    speaker=_TEXT,
    text=_TEXT,
    timestamp=_TIME,
    caption=_TEXT,
    role=_TEXT,
)
QUESTIONS = _table(
    "asked_at",
    conversation_id=_TEXT,
    question_id=_TEXT,
    index=_WHOLE,
    text=_TEXT,
    category=_TEXT,
    asked_at=_TIME,
)
GOLD = _table(
    "trap",
    question_id=_TEXT,
    answer=_TEXT,
    evidence=_IDS,
    trap=_TEXT,
    abstain=_FLAG,
    kind=_TEXT,
    explanation=_TEXT,
)
"""References, apart from the questions here too."""

SEGMENTS = _table(
    "run",
    **_SCOPE,
    segment_id=_TEXT,
    start=_WHOLE,
    stop=_WHOLE,
    message_ids=_IDS,
    embedding=_VECTOR,
    entities=_IDS,
)
TRAJECTORIES = _table(
    "run", **_SCOPE, trajectory_id=_TEXT, segment_ids=_IDS, embedding=_VECTOR, entities=_IDS
)
FACT_OPERATIONS = _table(
    "run event_time valid_from valid_to replaced_by",
    **_SCOPE,
    seq=_WHOLE,
    op=_TEXT,
    fact_id=_TEXT,
    track=_TEXT,
    subject=_TEXT,
    type=_TEXT,
    attribute=_TEXT,
    statement=_TEXT,
    message_ids=_IDS,
    segment_ids=_IDS,
    ingested_at=_TIME,
    event_time=_TIME,
    valid_from=_TIME,
    valid_to=_TIME,
    status=_TEXT,
    replaced_by=_TEXT,
    query_ids=_IDS,
    targets=_IDS,
    decided_by=_TEXT,
    reason=_TEXT,
)
"""The append-only fact log; each row holds the whole version of the fact that it wrote."""
DECISIONS = _table(
    "run score",
    **_SCOPE,
    kind=_TEXT,
    subject_id=_TEXT,
    outcome=_TEXT,
    decided_by=_TEXT,
    score=_NUMBER,
    detail=_TEXT,
)
CLUSTERS = _table(
    "run promoted_fact_id",
    **_SCOPE,
    cluster_id=_TEXT,
    subject=_TEXT,
    statements=_IDS,
    query_ids=_IDS,
    queries=_IDS,
    sources=_IDS,
    message_ids=_IDS,
    first_seen=_TIME,
    last_seen=_TIME,
    promoted_fact_id=_TEXT,
)
NOTES = _table(
    "run timestamp",
    **_SCOPE,
    note_id=_TEXT,
    kind=_TEXT,
    text=_TEXT,
    message_ids=_IDS,
    timestamp=_TIME,
    links=_IDS,
    tags=_IDS,
    detail=_TEXT,
    active=_FLAG,
)
"""What a compared system's memory consists of; of several notes of one id the last is current."""
VECTORS = _table("run", **_SCOPE, kind=_TEXT, unit_id=_TEXT, model_id=_TEXT, vector=_VECTOR, entities=_IDS)

RETRIEVALS = _table(
    "timestamp",
    **_SCOPE,
    question_id=_TEXT,
    rank=_WHOLE,
    item_id=_TEXT,
    kind=_TEXT,
    text=_TEXT,
    message_ids=_IDS,
    timestamp=_TIME,
    score=_NUMBER,
)
"""One row per line of an answer's context, in reading order."""
PACKINGS = _table(
    **_SCOPE,
    question_id=_TEXT,
    policy=_TEXT,
    budget=_WHOLE,
    action=_TEXT,
    reason=_TEXT,  # why a router retained although another action promised more
    flag=_TEXT,  # nothing_found, no_budget or nothing_fits; "" when something was packed
    candidates=_WHOLE,  # lines on offer
    candidate_tokens=_WHOLE,
    packed=_WHOLE,  # lines that the answer prompt shows
    tokens=_WHOLE,
    shortened=_FLAG,
    fallbacks=_WHOLE,  # texts that a model failed to write, so that raw lines stand in their place
    utilities=pa.list_(_NUMBER),  # predicted, in the order retain, merge, abstract, rewrite; empty: no router
    feature_names=_IDS,
    features=pa.list_(_NUMBER),
)
"""One row per question of a run with a token budget: what was decided, and what became of it."""
LABELS = _table(
    "answer utility prompt_tokens completion_tokens",
    conversation_id=_TEXT,
    question_id=_TEXT,
    budget=_WHOLE,
    action=_TEXT,
    realisation=_WHOLE,
    text=_TEXT,  # as the answer prompt shows it
    message_ids=_IDS,
    tokens=_WHOLE,
    flag=_TEXT,  # as in PACKINGS
    shortened=_FLAG,
    fallbacks=_WHOLE,
    answer=_TEXT,
    error=_TEXT,
    grader=_TEXT,  # f1, rules, or a judge's profile
    utility=_NUMBER,  # in [0, 1]; null when nobody could grade
    calls=_WHOLE,  # that the row takes by itself, also where rows share a reply
    prompt_tokens=_WHOLE,
    completion_tokens=_WHOLE,
)
"""One row per question, budget, action and realisation: what came of it."""
INSTANCES = _table(
    "evidence_recall",
    conversation_id=_TEXT,
    question_id=_TEXT,
    category=_TEXT,
    evidence=_TEXT,
    budget=_WHOLE,
    notes=_WHOLE,
    note_tokens=_WHOLE,
    evidence_recall=_NUMBER,  # of the candidates
    embedder=_TEXT,
    feature_names=_IDS,  # the extended set; the paper's eleven come first
    features=pa.list_(_NUMBER),
)
"""One row per question and budget: what was known before anything was generated."""
UNITS = _table("run", stage=_TEXT, **_SCOPE, status=_TEXT, failed=_WHOLE, reason=_TEXT, seconds=_NUMBER)
"""One row per unit of work: `status` is done, incomplete (`failed` questions) or failed."""
TASKS = _table(name=_TEXT, status=_TEXT, failed=_WHOLE, reason=_TEXT, seconds=_NUMBER)
"""One row per task of a job that is no benchmark run."""

EVIDENCE_SPREADS = _table(
    "span ted",
    conversation_id=_TEXT,
    question_id=_TEXT,
    category=_TEXT,
    reading=_TEXT,
    message_ids=_IDS,
    length=_WHOLE,
    span=_WHOLE,
    ted=_NUMBER,
    reason=_TEXT,
    nce=_FLAG,
)
"""One row per scored question: how far apart its gold evidence lies."""
HISTORY_STATISTICS = _table(
    "first last days",
    conversation_id=_TEXT,
    messages=_WHOLE,
    sessions=_WHOLE,
    tokens=_WHOLE,
    first=_TIME,
    last=_TIME,
    days=_WHOLE,
    questions=_WHOLE,
    reason=_TEXT,
)
TSM_MEASURES = _table(
    "k value error",
    conversation_id=_TEXT,
    measure=_TEXT,
    segment_length=_WHOLE,
    k=_WHOLE,
    segments=_WHOLE,
    value=_NUMBER,
    error=_NUMBER,
    reason=_TEXT,
)
"""One row per conversation and measure; a missing value has a reason."""
_PAIR: dict[str, pa.DataType] = {"conversation_id": _TEXT, "left": _WHOLE, "right": _WHOLE}
ADJACENT_PAIRS = _table(**_PAIR, similarity=_NUMBER, volatility=_NUMBER, score=_NUMBER)
NEIGHBOUR_PAIRS = _table(**_PAIR, similarity=_NUMBER, distance=_NUMBER)
PAIR_SAMPLES = _table(
    pair_id=_TEXT,
    kind=_TEXT,
    bucket=_TEXT,
    **_PAIR,
    left_message_ids=_IDS,
    right_message_ids=_IDS,
    left_text=_TEXT,
    right_text=_TEXT,
    value=_NUMBER,
)
"""Pairs of segments for a model to judge, which never sees `bucket` and `value`."""

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
}
VOLATILE = frozenset({"latency_s", "seconds", "attempts"})
"""Columns that say how it went, not what came out: two equal runs may differ in them, and in no other."""
