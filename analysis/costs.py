"""What a method costs per question: MemSIF, Table 18 and Appendix H, and what they leave out.

The paper divides construction, retrieval and answering by the number of test questions. A memory is built
once however often its questions are asked, so construction is divided by the questions and the rest by the
answers; with one run both are the same number. Embedding is done for both, and divided alike.
"""

from __future__ import annotations

import polars as pl

_STAGE = pl.col("stage")
_JUDGE, _EMBED, _ANSWER = _STAGE == "judge", _STAGE == "embed", _STAGE == "answer"
_OWN = ~_JUDGE & ~_EMBED
_BUILD = pl.col("question_id") == ""
_BUILD_EMBED = _EMBED & _BUILD & (pl.col("run") == 0)  # rows were once without the mark of a question
_PHASES = {
    "build": _OWN & _BUILD,
    "retrieval": _OWN & ~_BUILD & ~_ANSWER,
    "answer": _OWN & ~_BUILD & _ANSWER,
    "judge": _JUDGE,
    "build_embed": _BUILD_EMBED,
    "ask_embed": _EMBED & ~_BUILD_EMBED,
}
_UNITS = ("tokens", "s", "texts")
_SHOWN = ("build", "retrieval", "answer", "judge", "embed")


def costs(answers: pl.LazyFrame, calls: pl.LazyFrame) -> pl.LazyFrame:
    """One row per method.

    Columns, per question unless they say otherwise: method; questions and answers (counts); tokens and
    model_s, the sums of Table 18, and their parts build_, retrieval_ and answer_tokens and _s; beside them
    judge_tokens, judge_s, embed_tokens (null where some call was not counted, as in runs begun before calls
    were), embedded_texts and embed_s; wall_s, p50_s and p95_s, the wall clock of retrieval and answering of
    one question; unmetered, the number of replies whose server gave no token usage.

    Args:
        answers: Rows of `schemas.ANSWERS`.
        calls: Rows of `schemas.CALLS`.
    """
    answered = pl.col("seconds").filter(pl.col("answer").is_not_null())
    asked = answers.group_by("method").agg(
        questions=pl.struct("conversation_id", "question_id").n_unique(),
        answers=pl.len(),
        wall_s=pl.col("seconds").mean(),
        p50_s=answered.quantile(0.5, "linear"),
        p95_s=answered.quantile(0.95, "linear"),
    )
    unknown = ("build_embed_tokens", "ask_embed_tokens")
    parts = [f"{phase}_{unit}" for phase in _PHASES for unit in _UNITS]
    amounts = [f"{phase}_{unit}" for phase in _SHOWN for unit in ("tokens", "s")] + ["embedded_texts"]
    return (
        asked.join(calls.group_by("method").agg(*_spent()), on="method", how="left")
        # A method without a call spent nothing. Of one with calls, tokens can be unknown.
        .with_columns(pl.when(pl.col("unmetered").is_not_null()).then(pl.col(*unknown)).otherwise(0))
        .with_columns(pl.exclude("method", *unknown, "p50_s", "p95_s").fill_null(0))
        .with_columns(pl.col(name) / _divisor(name) for name in parts)
        .with_columns(
            tokens=pl.sum_horizontal("build_tokens", "retrieval_tokens", "answer_tokens"),
            model_s=pl.sum_horizontal("build_s", "retrieval_s", "answer_s"),
            embed_tokens=pl.col("build_embed_tokens") + pl.col("ask_embed_tokens"),
            embed_s=pl.col("build_embed_s") + pl.col("ask_embed_s"),
            embedded_texts=pl.col("build_embed_texts") + pl.col("ask_embed_texts"),
        )
        .select(
            "method",
            "questions",
            "answers",
            "tokens",
            "model_s",
            *amounts,
            *("wall_s", "p50_s", "p95_s", "unmetered"),
        )
        .sort("method")
    )


def _spent() -> list[pl.Expr]:
    completed = pl.when(_EMBED).then(0).otherwise(pl.col("completion_tokens"))
    used = pl.col("prompt_tokens").cast(pl.Int64) + completed
    replied = ~pl.col("outcome").str.starts_with("error:")
    totals = []
    for phase, rows in _PHASES.items():
        counted = used.filter(rows)
        total = counted.sum()
        if phase.endswith("embed"):  # what nobody counted is not zero
            total = pl.when((rows & replied & used.is_null()).sum() == 0).then(total)
        totals.append(total.alias(f"{phase}_tokens"))
        totals.append(pl.col("latency_s").filter(rows).sum().alias(f"{phase}_s"))
        totals.append(pl.col("texts").filter(rows).sum().alias(f"{phase}_texts"))
    return [*totals, (~_EMBED & replied & used.is_null()).sum().alias("unmetered")]


def _divisor(name: str) -> pl.Expr:
    return pl.col("questions" if name.startswith("build") else "answers")
