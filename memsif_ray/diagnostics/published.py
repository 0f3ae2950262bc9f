"""What the MemSIF paper reports, to print beside our own numbers. Nothing is computed from these.

Sources: Appendix A.3 and Table 5 for NCE and LSHU, Appendix A.4 with Tables 6 and 7 for SNTD@k (embeddings
of Qwen3-Embedding-8B) and its validation, Appendix A.5 with Tables 8 to 10 for DUM, and Table 12 for the
datasets. GPT-4o scored and judged. Figures show more than the text tells; only what the text tells is here.
"""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "paper"
"""Heading of the column that shows them."""

NCE: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "questions": "1,540",
        "dispersed": "409",
        "near": "156",
        "between": "67",
        "far": "186",
        "S-hop": "0 (0.0%)",
        "M-hop": "152 (81.7%)",
        "Temp": "12 (6.5%)",
        "Kno": "22 (11.8%)",
        "mean_ted": "0.581",
        "mean_span": "352.6",
    }
}
"""By dataset, then by what is counted."""

SNTD: Mapping[str, Mapping[int, float]] = {
    "locomo": {1: 0.2098, 8: 0.2811},
    "longmemeval": {1: 0.0191, 8: 0.1491},
}
"""SNTD@k by dataset and k."""

RANDOM_SNTD: Mapping[str, Mapping[int, float]] = {"locomo": {1: 0.3387}}
"""The random baseline, likewise."""

CORPUS: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "conversations": "10",
        "sessions": "27.2 (19–32)",
        "tokens": "16,641",
        "days": "238 (184–293)",
        "S-hop": "841 (54.6%)",
        "M-hop": "282 (18.3%)",
        "Temp": "321 (20.8%)",
        "Kno": "96 (6.2%)",
        "questions": "1,540",
    },
    "longmemeval": {
        "conversations": "470",
        "sessions": "47.7 (38–62)",
        "tokens": "103,030",
        "days": "28.6 (0–304)",
        "S-hop": "150 (31.9%)",
        "M-hop": "121 (25.7%)",
        "Temp": "127 (27.0%)",
        "Kno": "72 (15.3%)",
        "questions": "470",
    },
}
"""Likewise, by attribute of [`CorpusSummary`][memsif_ray.diagnostics.corpus.CorpusSummary]."""

VALIDATION: Mapping[str, Mapping[tuple[str, str], float]] = {
    "locomo": {
        ("adjacent", "high"): 0.23,
        ("adjacent", "mid"): 0.03,
        ("adjacent", "low"): 0.03,
        ("neighbour", "near"): 0.82,
        ("neighbour", "mid"): 0.74,
        ("neighbour", "far"): 0.70,
    },
    "longmemeval": {
        ("adjacent", "high"): 0.47,
        ("adjacent", "mid"): 0.20,
        ("adjacent", "low"): 0.12,
        ("neighbour", "near"): 0.59,
        ("neighbour", "mid"): 0.37,
        ("neighbour", "far"): 0.05,
    },
}
"""Rate of shifts (adjacent) and of same threads (neighbours) by dataset, kind of pair and bucket."""

LSHUR: Mapping[str, Mapping[str, str]] = {
    "locomo": {"pairs": "41.55%", "questions": "43.71%", "all questions": "27.53%"}
}
"""Rate by dataset and level: 430 of 1,035 pairs, 424 of 970 questions and of all 1,540."""

LSHU: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "S-hop": "271 (63.9%)",
        "M-hop": "44 (10.4%)",
        "Temp": "109 (25.7%)",
        "Kno": "0 (0.0%)",
        "total": "424",
    }
}
"""The subset by dataset and category."""

CDL: Mapping[str, Mapping[int | None, tuple[float, float]]] = {
    "locomo": {
        None: (0.1781, 0.1267),
        2: (0.5616, 0.5479),
        4: (0.5000, 0.4897),
        8: (0.4932, 0.4726),
    }
}
"""Strict and lenient, by dataset and utterances kept; None is the raw evidence."""

QAD: Mapping[str, Mapping[int | None, tuple[float, float]]] = {
    "locomo": {2: (0.25, 0.23), 4: (0.25, 0.18), 8: (0.16, 0.12)}
}
"""Likewise."""

CORRELATION: Mapping[str, Mapping[tuple[str, str], float]] = {
    "locomo": {
        ("memories", "strict"): 0.58,
        ("memories", "lenient"): 0.94,
        ("questions", "strict"): 0.39,
        ("questions", "lenient"): 0.36,
    }
}
"""Pearson's r of CDL and QAD by dataset, what is correlated, and what a part counts."""
