"""How near orchestration comes to the ideal: 10 conversations of 100 questions, one scripted endpoint.

    python tests/benchmarks/orchestration.py

The endpoint takes a fixed time per call and works on a fixed number of calls at once. The ideal is the
larger of the total work over that capacity and the longest chain of calls that must wait for one another
(all answers of a conversation, one after the other, and the last grade). Printed as wall time over ideal,
with the start of Ray and its workers, and without it (from the first chat call to the end of the last).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from memsif_ray.clients.scripted_server import ScriptedServer, scripted_server
from memsif_ray.config import RunConfig
from memsif_ray.runtime.benchmark import run_benchmark

CONVERSATIONS, QUESTIONS = 10, 100


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--latency", type=float, default=0.25, help="seconds per call")
    parser.add_argument("--capacity", type=int, default=16, help="calls worked on at once")
    parser.add_argument("--shards", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        with scripted_server(latency_s=arguments.latency, capacity=arguments.capacity) as server:
            config = _config(Path(folder), server, arguments.shards)
            started = time.monotonic()
            result = run_benchmark(config, progress=False)
            cold_s = time.monotonic() - started
            warm_s = server.arrivals[-1] + arguments.latency - server.arrivals[0]
    assert result.exit_code == 0, result.report()
    calls = len(server.arrivals)
    total_s = calls * arguments.latency / arguments.capacity
    chain_s = (QUESTIONS + 1) * arguments.latency
    ideal_s = max(total_s, chain_s)
    print(f"{calls} calls; total work {total_s:.1f} s, longest chain {chain_s:.1f} s, ideal {ideal_s:.1f} s")
    print(f"first to last call {warm_s:.1f} s = {warm_s / ideal_s:.2f} of ideal")
    print(f"with the start of Ray {cold_s:.1f} s = {cold_s / ideal_s:.2f} of ideal")
    print(f"most calls open {server.max_open}, most worked on {server.max_busy} of {arguments.capacity}")


def _config(folder: Path, server: ScriptedServer, shards: int) -> RunConfig:
    data = folder / "ten.json"
    data.write_text(json.dumps([_conversation(n) for n in range(CONVERSATIONS)]))
    return RunConfig.model_validate(
        {
            "data": {"dataset": "locomo", "path": data},
            "methods": ["naive-rag"],
            "model": {"base_url": server.base_url, "model": "scripted", "max_in_flight": 64},
            "embedder": {"base_url": server.base_url, "model": "hash-64"},
            "entities": "rules",
            "execution": {"output": folder / "runs", "shards": shards, "units_in_flight": CONVERSATIONS},
        }
    )


def _conversation(number: int) -> dict[str, object]:
    turns = [
        {
            "speaker": "Ann" if t % 2 else "Bo",
            "dia_id": f"D1:{t}",
            "text": f"Thing {t} happened in town {number}.",
        }
        for t in range(1, 201)
    ]
    questions = [
        {
            "question": f"Where did thing {q} of {number} happen?",
            "answer": f"town {number}",
            "category": 4,
            "evidence": [],
        }
        for q in range(QUESTIONS)
    ]
    conversation = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1": turns}
    conversation["session_1_date_time"] = "1:56 pm on 8 May, 2023"
    return {"sample_id": f"conv-{number}", "conversation": conversation, "qa": questions}


if __name__ == "__main__":
    main()
