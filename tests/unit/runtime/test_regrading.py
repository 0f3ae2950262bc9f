"""One unit graded again, without Ray."""

from dataclasses import asdict, replace

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.ledger import Call
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import DataConfig, JudgingConfig, ModelConfig
from memsif_ray.datasets import load
from memsif_ray.datasets.audit import Audit
from memsif_ray.errors import RequestRefused, ServiceBusy
from memsif_ray.methods.base import Tools
from memsif_ray.prompts import load as load_prompt
from memsif_ray.runtime.regrading import GradeUnit, Grading, is_own, outdated
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.runtime.units import Unit
from memsif_ray.schemas import ANSWERS, CALLS, VERDICTS
from memsif_ray.storage.inputs import write_inputs
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode

UNIT = Unit("naive-rag", "vera", 0)
GRADING = Grading(JudgingConfig(profile="lenient"), ModelConfig(base_url="http://x/v1", model="m"))
EMPTY = {"context": "", "context_tokens": 0, "context_items": 0, "context_message_ids": []}


def _write_answers(folder, dataset, missing=()):
    rows = [
        {
            "question_id": question.question_id,
            "question_index": question.index,
            "order": order,
            "category": question.category,
            "question": question.text,
            "answer": None if order in missing else f"answer {order}",
            "error": "ServiceBusy: gone" if order in missing else "",
            "gold_answer": dataset.gold[question.question_id].answer,
            "gold_evidence": [],
            "retrieved_ids": [],
            "seconds": 0.0,
            **EMPTY,
        }
        for order, question in enumerate(dataset.questions)
    ]
    scope = {"run": 0, "method": UNIT.method, "conversation_id": UNIT.conversation_id}
    UNIT.folder(folder).write({"answers": [encode(rows, ANSWERS, **scope)]}, {})


@pytest.fixture
def dataset():
    return load(DataConfig(conversations=("vera",), limit=6, adversarial=False))


@pytest.fixture
def folder(tmp_path, dataset):
    folder = RunFolder(tmp_path / "run")
    write_inputs(folder, dataset)
    _write_answers(folder, dataset, missing={1})
    return folder


async def _run(task, script):
    chat = ScriptedChat(script)
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter(), scope=task.scope)
    result = await task.run(Bench(tools, chat))
    return result, chat.requests


async def test_a_missing_answer_is_wrong_and_all_others_are_judged(folder):
    result, requests = await _run(GradeUnit(folder, UNIT, GRADING), lambda _: "CORRECT")
    assert [row["outcome"] for row in result.tables["verdicts"]] == ["right", "wrong", *["right"] * 4]
    assert {row["profile"] for row in result.tables["verdicts"]} == {"lenient"}
    assert {row["method"] for row in result.tables["verdicts"]} == {"naive-rag"}
    assert (len(requests), result.failed) == (5, 0)


async def test_a_refused_answer_stays_ungraded_and_the_others_go_on(folder):
    def script(request):
        return RequestRefused("too long") if "answer 3" in request.user else "WRONG"

    result, requests = await _run(GradeUnit(folder, UNIT, GRADING), script)
    assert [row["outcome"] for row in result.tables["verdicts"]].count(None) == 1
    assert (len(requests), result.failed, result.reason) == (5, 1, "RequestRefused: too long")


async def test_a_judge_that_is_gone_is_not_asked_for_ever(folder):
    result, requests = await _run(GradeUnit(folder, UNIT, GRADING), lambda _: ServiceBusy("gone"))
    assert len(result.tables["verdicts"]) == 6
    assert result.failed >= 5 and result.reason == "ServiceBusy: gone"
    assert 3 <= len(requests) <= 5


async def test_what_an_audit_leaves_alone_is_taken_from_the_released_grading(folder, dataset):
    first = dataset.questions[0]
    gold = dataset.gold[first.question_id]
    audit = Audit({(first.index, first.text, gold.answer): "something else"})
    released = GradeUnit(folder, UNIT, GRADING)
    graded, _ = await _run(released, lambda _: "WRONG")
    part = GRADING.folder(folder).task(released.name)
    part.write({"verdicts": [encode(graded.tables["verdicts"], VERDICTS)]}, {})
    result, (request,) = await _run(GradeUnit(folder, UNIT, GRADING.against(audit)), lambda _: "CORRECT")
    assert "<reference>something else</reference>" in request.user
    assert [row["outcome"] for row in result.tables["verdicts"]] == ["right", *["wrong"] * 5]
    assert {row["profile"] for row in result.tables["verdicts"]} == {"lenient@audited"}


@pytest.mark.parametrize(("prompt", "asked"), [("judges/lenient", 0), ("judges/strict_exact", 5)])
async def test_verdicts_made_with_another_prompt_are_not_taken_over(folder, prompt, asked):
    answers = UNIT.folder(folder).read("answers")
    graded, _ = await _run(GradeUnit(folder, UNIT, GRADING), lambda _: "WRONG")
    own = {"answers": [answers], "verdicts": [encode(graded.tables["verdicts"], VERDICTS)]}
    UNIT.folder(folder).write(own, {})
    _write_merged(folder, prompt, graded.tables["verdicts"])
    unit = GradeUnit(folder, UNIT, GRADING, takes_own=not outdated(folder, GRADING))
    _, requests = await _run(unit, lambda _: "CORRECT")
    assert len(requests) == asked


def _write_merged(folder, prompt, verdicts):
    """What a run keeps of verdicts and of the judge's calls, one for all."""
    about = {"call_key": "k", "occurrence": 0, "stage": "judge", "model": "m", **asdict(UNIT.scope)}
    call = Call(prompt_fingerprint=load_prompt(prompt).fingerprint, **about)
    tables = {"calls": [encode([asdict(call)], CALLS)], "verdicts": [encode(verdicts, VERDICTS)]}
    folder.tables.write(tables, {})


async def test_only_verdicts_of_the_same_name_can_be_outdated(folder):
    graded, _ = await _run(GradeUnit(folder, UNIT, GRADING), lambda _: "WRONG")
    _write_merged(folder, "judges/strict_exact", graded.tables["verdicts"])
    audited = GRADING.against(Audit({}))
    others = (JudgingConfig(profile="memsif"), JudgingConfig(profile="lenient", votes=3))
    assert outdated(folder, GRADING) and outdated(folder, audited)
    assert not any(outdated(folder, replace(GRADING, judging=judging)) for judging in others)


async def test_a_later_grading_of_another_prompt_is_not_taken_for_the_runs_own(folder):
    graded, _ = await _run(GradeUnit(folder, UNIT, GRADING), lambda _: "WRONG")
    _write_merged(folder, "judges/lenient", graded.tables["verdicts"])
    assert is_own(folder, GRADING)
    GRADING.folder(folder).path.mkdir(parents=True)
    assert not is_own(folder, GRADING)


def test_a_meaning_changes_with_whatever_the_verdicts_depend_on(folder, dataset):
    def meaning(grading):
        return GradeUnit(folder, UNIT, grading).meaning()

    first = dataset.questions[0]
    audit = Audit({(first.index, first.text, dataset.gold[first.question_id].answer): "x"})
    known = [
        meaning(GRADING),
        meaning(replace(GRADING, judging=JudgingConfig(profile="memsif"))),
        meaning(replace(GRADING, judging=JudgingConfig(profile="lenient", votes=3))),
        meaning(replace(GRADING, model=ModelConfig(base_url="http://x/v1", model="other"))),
        meaning(GRADING.against(audit)),
    ]
    assert len(set(known)) == len(known)
    assert meaning(replace(GRADING, model=ModelConfig(base_url="http://moved/v1", model="m"))) == known[0]
    _write_answers(folder, dataset)
    assert meaning(GRADING) != known[0]


def test_a_name_tells_profile_votes_judge_and_references():
    grading = replace(GRADING, judging=JudgingConfig(profile="memsif", votes=3), apart=True)
    assert grading.label == "memsif+3-votes+m"
    assert grading.against(Audit({})).label == "memsif+3-votes+m@audited"
    assert grading.against(Audit({})).released == grading
