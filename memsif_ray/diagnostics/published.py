"""What the MemSIF paper reports, to print beside our own numbers. Nothing computes with these.

Source: MemSIF, Appendix A.3 and A.4 (embeddings of Qwen3-Embedding-8B) and Appendix B, Table 12. Figures 6
and 7 show more numbers than the text gives; only those in the text are here.
"""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "MemSIF, Appendix A and B"

NCE: Mapping[str, str] = {
    "questions with two or more ids": "409",
    "TED in [0, 0.1)": "156",
    "TED in [0.1, 0.3)": "67",
    "TED in [0.3, 1] = NCE": "186",
    "NCE S-hop": "0",
    "NCE M-hop": "152",
    "NCE Temp": "12",
    "NCE Kno": "22",
    "mean TED of NCE": "0.581",
    "mean span of NCE": "352.6",
}
"""Of LoCoMo, by row of our own table."""

SNTD: Mapping[str, Mapping[int, float]] = {
    "locomo": {1: 0.2098, 8: 0.2811},
    "longmemeval": {1: 0.0191, 8: 0.1491},
}
"""SNTD@k by dataset."""

RANDOM_SNTD: Mapping[str, float] = {"locomo": 0.3387}
"""One draw of the random baseline at k = 1."""

CORPUS: Mapping[str, Mapping[str, str]] = {
    "locomo": {
        "conversations": "10",
        "sessions per history": "27.2 (19–32)",
        "tokens per history": "16,641",
        "date span (days)": "238 (184–293)",
        "S-hop": "841 (54.6%)",
        "M-hop": "282 (18.3%)",
        "Temp": "321 (20.8%)",
        "Kno": "96 (6.2%)",
        "questions": "1,540",
    },
    "longmemeval": {
        "conversations": "470",
        "sessions per history": "47.7 (38–62)",
        "tokens per history": "103,030",
        "date span (days)": "28.6 (0–304)",
        "S-hop": "150 (31.9%)",
        "M-hop": "121 (25.7%)",
        "Temp": "127 (27.0%)",
        "Kno": "72 (15.3%)",
        "questions": "470",
    },
}
"""Table 12 by dataset, by row of our own table. LongMemEval stands for the complete S file."""
