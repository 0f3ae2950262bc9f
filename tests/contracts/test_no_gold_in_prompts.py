"""No reference answer, trap, evidence id or evidence mark reaches any prompt but the judge's.

Canaries are planted in everything that only evaluation may read; then every method builds its memory and
answers every question, with each LLM decision switched on, and all prompts are searched.

A method that is told the gold message ids (`SeesEvidence`: the oracle and no other, as test_methods proves)
is told them here too. It may show what those messages say, and nothing else that only evaluation may read.
"""

import json
import re
from pathlib import Path

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import DataConfig, RunConfig
from memsif_ray.datasets import load
from memsif_ray.methods import make_method
from memsif_ray.methods.base import AnswersItself, SeesEvidence, Tools
from memsif_ray.runtime.asking import ask_in_order
from tests.contracts.test_methods import NAMES

CANARY = re.compile(r"canary", re.I)
MESSAGE_ID = re.compile(r"\bD\d+:\d+\b|\bhaystack_\w+:\d+\b")
MARKS = re.compile(r"has_answer|question_type|multi-session|knowledge-update|adversarial|\bS-hop\b|_abs\b")

DAYS = ("went to the market", "bought a red kite", "lost the kite", "found the kite again", "sold the kite")


def locomo(folder: Path) -> DataConfig:
    sessions = {
        f"session_{s}": [
            {"speaker": speaker, "dia_id": f"D{s}:{t}", "text": f"I {deed} on trip {s}, says {speaker}."}
            for t, (speaker, deed) in enumerate(zip(("Ann", "Bo") * 3, DAYS, strict=False), start=1)
        ]
        for s in (1, 2, 3)
    }
    dates = {f"session_{s}_date_time": f"1:56 pm on {s} May, 2023" for s in (1, 2, 3)}
    record = {
        "sample_id": "conv-1",
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bo", **sessions, **dates},
        "qa": [
            {
                "question": "What did Ann buy on trip 1?",
                "answer": "canary-one",
                "category": 4,
                "evidence": ["D1:2"],
            },
            {
                "question": "When did Bo sell the kite?",
                "answer": "canary-two",
                "category": 2,
                "evidence": ["D2:5"],
            },
            {
                "question": "What did Ann buy on trip 1 again?",
                "answer": "canary-3",
                "category": 1,
                "evidence": ["D1:2"],
            },
            {
                "question": "Whom did Bo marry?",
                "adversarial_answer": "canary-trap",
                "category": 5,
                "evidence": ["D3:1"],
            },
        ],
    }
    path = folder / "locomo.json"
    path.write_text(json.dumps([record]))
    return DataConfig(dataset="locomo", path=path)


def longmemeval(folder: Path) -> DataConfig:
    turns = [
        {"role": "user", "content": "I collect stamps from Malta.", "has_answer": True},
        {"role": "assistant", "content": "Malta has lovely stamps."},
    ]
    records = [
        {
            "question_id": f"q{n}{suffix}",
            "question_type": kind,
            "question": f"Which country are my stamps from, {n}?",
            "answer": f"canary-{n}",
            "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_session_ids": ["answer_canary_1", "plain_1"],
            "haystack_dates": ["2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"],
            "haystack_sessions": [turns, [{"role": "user", "content": "Is it going to rain today?"}]],
            "answer_session_ids": ["answer_canary_1"],
        }
        for n, (kind, suffix) in enumerate(
            [("single-session-user", ""), ("multi-session", ""), ("knowledge-update", "_abs")]
        )
    ]
    path = folder / "longmemeval.json"
    path.write_text(json.dumps(records))
    return DataConfig(dataset="longmemeval", path=path)


@pytest.mark.parametrize("method_name", NAMES)
@pytest.mark.parametrize("write", [locomo, longmemeval])
async def test_no_prompt_holds_what_only_evaluation_may_know(write, method_name, tmp_path):
    dataset = load(write(tmp_path))
    chat = ScriptedChat()
    config = RunConfig(data=write(tmp_path))
    for conversation in dataset.conversations:
        tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter())
        method = make_method(method_name, config, tools)
        await method.ingest(conversation)
        if isinstance(method, SeesEvidence):
            method.see_evidence({name: gold.evidence for name, gold in dataset.gold.items()})
        asked = [q for q in dataset.questions if q.conversation_id == conversation.conversation_id]
        answered = [done async for done in ask_in_order(method, asked, tools=tools, config=config)]
        assert len(answered) == len(asked) > 0
    stages = {request.stage for request in chat.requests}
    assert "answer" in stages or isinstance(method, AnswersItself)
    assert method_name != "memsif" or {"extract", "sufficiency"} <= stages
    for request in chat.requests:
        shown = f"{request.system}\n{request.user}\n{json.dumps(request.schema)}"
        for secret in (CANARY, MESSAGE_ID, MARKS):
            assert not secret.search(shown), f"{request.stage}: {secret.search(shown)}"


@pytest.mark.parametrize("write", [locomo, longmemeval])
def test_the_canaries_are_in_the_data(write, tmp_path):
    """Otherwise the test above would prove nothing."""
    dataset = load(write(tmp_path))
    gold = [value for one in dataset.gold.values() for value in (one.answer, one.trap or "", one.explanation)]
    assert any(CANARY.search(value) for value in gold)
    assert any(one.evidence for one in dataset.gold.values())
