"""Tables of a benchmark run and of other jobs: answers, verdicts, calls, units of work."""

from __future__ import annotations

import pyarrow as pa

from memsif_ray.schemas.columns import IDS, NUMBER, SCOPE, TEXT, TIME, WHOLE, table

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
        # "" while memory is built; "*", some question's, if embedded while questions are asked
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("run", pa.int32(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("prompt_fingerprint", pa.string(), nullable=False),
        pa.field("texts", pa.int32(), nullable=False),  # embedded; 0 for a chat call
        pa.field("prompt_tokens", pa.int32()),  # the server's usage, null if none; counted if embedded
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

RETRIEVALS = table(
    "timestamp",
    **SCOPE,
    question_id=TEXT,
    rank=WHOLE,
    item_id=TEXT,
    kind=TEXT,
    text=TEXT,
    message_ids=IDS,
    timestamp=TIME,
    score=NUMBER,
)
"""One row per line of an answer's context, in reading order."""

UNITS = table("run", stage=TEXT, **SCOPE, status=TEXT, failed=WHOLE, reason=TEXT, seconds=NUMBER)
"""One row per unit of work: `status` is done, incomplete (`failed` questions) or failed."""
TASKS = table(name=TEXT, status=TEXT, failed=WHOLE, reason=TEXT, seconds=NUMBER)
"""One row per task of a job that is no benchmark run."""
