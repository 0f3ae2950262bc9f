"""What the MemSIF paper reports, to print beside our own numbers. Nothing is computed from these.

Sources: Appendix A.3 and Table 5 for NCE, Appendix A.4 for SNTD@k (embeddings of Qwen3-Embedding-8B), and
Table 12 for the datasets. Figures 6 and 7 show more than the text tells; only what the text tells is here.
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
