"""Tables of the diagnoses."""

from __future__ import annotations

import pyarrow as pa

from memsif_ray.schemas.columns import FLAG, IDS, NUMBER, TEXT, TIME, WHOLE, table

EVIDENCE_SPREADS = table(
    "span ted",
    conversation_id=TEXT,
    question_id=TEXT,
    category=TEXT,
    reading=TEXT,
    message_ids=IDS,
    length=WHOLE,
    span=WHOLE,
    ted=NUMBER,
    reason=TEXT,
    nce=FLAG,
)
"""One row per scored question: how far apart its gold evidence lies."""
HISTORY_STATISTICS = table(
    "first last days",
    conversation_id=TEXT,
    messages=WHOLE,
    sessions=WHOLE,
    tokens=WHOLE,
    first=TIME,
    last=TIME,
    days=WHOLE,
    questions=WHOLE,
    reason=TEXT,
)
TSM_MEASURES = table(
    "k value error",
    conversation_id=TEXT,
    measure=TEXT,
    segment_length=WHOLE,
    k=WHOLE,
    segments=WHOLE,
    value=NUMBER,
    error=NUMBER,
    reason=TEXT,
)
"""One row per conversation and measure; a missing value has a reason."""
_PAIR: dict[str, pa.DataType] = {"conversation_id": TEXT, "left": WHOLE, "right": WHOLE}
ADJACENT_PAIRS = table(**_PAIR, similarity=NUMBER, volatility=NUMBER, score=NUMBER)
NEIGHBOUR_PAIRS = table(**_PAIR, similarity=NUMBER, distance=NUMBER)
PAIR_SAMPLES = table(
    pair_id=TEXT,
    kind=TEXT,
    bucket=TEXT,
    **_PAIR,
    left_message_ids=IDS,
    right_message_ids=IDS,
    left_text=TEXT,
    right_text=TEXT,
    value=NUMBER,
)
"""Pairs of segments for a model to judge, which never sees `bucket` and `value`."""
PAIR_JUDGEMENTS = table(
    "label",
    pair_id=TEXT,
    kind=TEXT,
    bucket=TEXT,
    conversation_id=TEXT,
    label=TEXT,
    reason=TEXT,
    votes=IDS,
)
"""One row per judged pair; without a majority there is no label, but a reason."""
_QUESTION: dict[str, pa.DataType] = {"conversation_id": TEXT, "question_id": TEXT, "category": TEXT}
EVIDENCE_SCORES = table(
    "salience utility",
    **_QUESTION,
    message_id=TEXT,
    salience=WHOLE,  # of the utterance, hence the same in every row about it
    salience_reason=TEXT,
    utility=WHOLE,
    utility_reason=TEXT,
)
"""One row per question and utterance of its evidence; a missing score has a reason."""
RECOVERIES = table(
    "capacity label",
    **_QUESTION,
    capacity=WHOLE,  # utterances that memory keeps; null: the raw evidence
    message_id=TEXT,
    label=TEXT,
    reason=TEXT,
    votes=IDS,
)
"""One row per memory and gold fact: whether the fact can be told from the memory."""
COMPACTED_ANSWERS = table(
    "capacity answer label",
    **_QUESTION,
    capacity=WHOLE,  # as in RECOVERIES
    kept=IDS,
    dropped=WHOLE,
    answer=TEXT,
    label=TEXT,
    reason=TEXT,
    votes=IDS,
)
"""One row per memory and question: the answer from that memory alone, and its grade."""
COMPACTION_LOSSES = table(
    "cdl qad", **_QUESTION, capacity=WHOLE, mode=TEXT, cdl=NUMBER, qad=NUMBER, reason=TEXT
)
"""One row per mode, memory and question: what compaction lost of its facts and of its answer."""
