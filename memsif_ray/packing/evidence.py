"""Where candidate notes come from: the gold evidence (controlled), or BM25 over the history (retrieved).

Controlled, every action gets the turns that hold the answer, so that only the packing differs (OAS, 4).
Retrieved, it gets what lexical retrieval finds in the whole history (OAS, 7.5).

BM25 has k1 = 1.2 and b = 0.75 as in the paper, which names no variant. Ours is Lucene's, the default of the
library bm25s: idf = ln(1 + (N − n + ½) / (n + ½)) is never negative, and the constant factor k1 + 1 is left
out, which changes no ranking. Compared are stems of content words of a turn and its speaker's name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.memory.reading import message_item
from memsif_ray.text import is_blank
from memsif_ray.types import ContextItem, Message


def gold_notes(messages: Sequence[Message], evidence: Collection[str]) -> tuple[ContextItem, ...]:
    """The turns that hold the answer, in the order in which they were said; none is better than another."""
    return tuple(message_item(m) for m in messages if m.message_id in evidence and not is_blank(m.content))


def retrieved_notes(messages: Sequence[Message], question: str, *, turns: int) -> tuple[ContextItem, ...]:
    """At most `turns` turns that share a word with the question, in the order in which they were said.

    Their score is BM25's; of equal ones the earlier is found first.
    """
    spoken = [m for m in messages if not is_blank(m.content)]
    index = LexicalIndex([lexical_terms(f"{m.speaker}: {m.content}") for m in spoken])
    scores = index.scores(lexical_terms(question))
    best = np.argsort(-scores, kind="stable")[:turns]
    return tuple(message_item(spoken[i], float(scores[i])) for i in sorted(best) if scores[i] > 0)
