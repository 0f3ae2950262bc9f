"""Ten small conversations, how to run them, and how to compare what two runs left."""

from pathlib import Path

import polars as pl

from memsif_ray.config import RunConfig
from memsif_ray.schemas import VOLATILE
from memsif_ray.storage.runs import RunFolder

CONVERSATIONS = 10
QUESTIONS = 3


def marker(number: int) -> str:
    """A word that is in every request about one conversation and in no other."""
    return f"Place{number:02d}x"


def conversation(number: int) -> dict:
    """In LoCoMo's layout; every message and question names its conversation."""
    place, turns = (
        marker(number),
        ("went to the market", "bought a red kite", "saw an old friend", "came home"),
    )
    sessions = {
        f"session_{s}": [
            {
                "speaker": speaker,
                "dia_id": f"D{s}:{t}",
                "text": f"I {deed} in {place} for the {s}. time, said {speaker}.",
            }
            for t, (speaker, deed) in enumerate(zip(("Ann", "Bo", "Ann", "Bo"), turns, strict=True), start=1)
        ]
        for s in (1, 2)
    }
    dates = {f"session_{s}_date_time": f"1:56 pm on {s} May, 2023" for s in (1, 2)}
    questions = [
        {
            "question": f"What did Ann do in {place}, {q}?",
            "answer": f"bought kite {q}",
            "category": 4,
            "evidence": ["D1:1"],
        }
        for q in range(QUESTIONS)
    ]
    conversation = {"speaker_a": "Ann", "speaker_b": "Bo", **sessions, **dates}
    return {"sample_id": f"conv-{number}", "conversation": conversation, "qa": questions}


def settings(data: Path, output: Path, base_url: str) -> dict:
    """A small run as plain settings."""
    return {
        "data": {"dataset": "locomo", "path": str(data)},
        "methods": ["memsif", "naive-rag"],
        "model": {"base_url": base_url, "model": "scripted", "max_in_flight": 4, "deadline_s": 20},
        "embedder": {"base_url": base_url, "model": "hash-64"},
        "entities": "rules",
        "execution": {"output": str(output), "shards": 2, "units_in_flight": 4},
    }


def run_config(data: Path, output: Path, base_url: str, **changes) -> RunConfig:
    return RunConfig.model_validate(settings(data, output, base_url) | changes)


def tables_of(folder: RunFolder) -> dict[str, pl.DataFrame]:
    """Every table of a finished run, without what may differ between equal runs."""
    manifest = folder.tables.about()
    assert manifest is not None
    return {
        name: pl.from_arrow(folder.tables.read(name)).drop(*VOLATILE, strict=False)
        for name in manifest["tables"]
    }


def assert_same_tables(one: RunFolder, other: RunFolder) -> None:
    left, right = tables_of(one), tables_of(other)
    assert left.keys() == right.keys()
    for name in left:
        assert left[name].equals(right[name]), name
