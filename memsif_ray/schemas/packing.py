"""Tables of packing under a token budget, and of the labels that its router learns from."""

from __future__ import annotations

import pyarrow as pa

from memsif_ray.schemas.columns import FLAG, IDS, NUMBER, SCOPE, TEXT, WHOLE, table

PACKINGS = table(
    **SCOPE,
    question_id=TEXT,
    policy=TEXT,
    budget=WHOLE,
    action=TEXT,
    reason=TEXT,  # why a router retained although another action promised more
    flag=TEXT,  # nothing_found, no_budget or nothing_fits; "" when something was packed
    candidates=WHOLE,  # lines on offer
    candidate_tokens=WHOLE,
    packed=WHOLE,  # lines that the answer prompt shows
    tokens=WHOLE,
    shortened=FLAG,
    fallbacks=WHOLE,  # texts that a model failed to write, so that raw lines stand in their place
    utilities=pa.list_(NUMBER),  # predicted, in the order retain, merge, abstract, rewrite; empty: no router
    feature_names=IDS,
    features=pa.list_(NUMBER),
)
"""One row per question of a run with a token budget: what was decided, and what became of it."""
LABELS = table(
    "answer utility prompt_tokens completion_tokens",
    conversation_id=TEXT,
    question_id=TEXT,
    budget=WHOLE,
    action=TEXT,
    realisation=WHOLE,
    text=TEXT,  # as the answer prompt shows it
    message_ids=IDS,
    tokens=WHOLE,
    flag=TEXT,  # as in PACKINGS
    shortened=FLAG,
    fallbacks=WHOLE,
    answer=TEXT,
    error=TEXT,
    grader=TEXT,  # f1, rules, or a judge's profile
    utility=NUMBER,  # in [0, 1]; null when nobody could grade
    calls=WHOLE,  # that the row takes by itself, also where rows share a reply
    prompt_tokens=WHOLE,
    completion_tokens=WHOLE,
)
"""One row per question, budget, action and realisation: what came of it."""
INSTANCES = table(
    "evidence_recall",
    conversation_id=TEXT,
    question_id=TEXT,
    category=TEXT,
    evidence=TEXT,
    budget=WHOLE,
    notes=WHOLE,
    note_tokens=WHOLE,
    evidence_recall=NUMBER,  # of the candidates
    embedder=TEXT,
    feature_names=IDS,  # the extended set; the paper's eleven come first
    features=pa.list_(NUMBER),
)
"""One row per question and budget: what was known before anything was generated."""
