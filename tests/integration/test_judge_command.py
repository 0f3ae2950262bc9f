"""`memsif judge` on a finished run: nothing is asked again, and a second start does only what is left."""

import json
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from analysis.verdicts import own_profile, scan_verdicts
from memsif_ray.cli import app
from memsif_ray.clients.scripted import reasonable
from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.config import RunConfig
from memsif_ray.runtime.benchmark import run_benchmark
from memsif_ray.schemas import CALLS
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode
from tests.integration.scenario import QUESTIONS, marker, settings

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]

ANSWERS = 3 * QUESTIONS


def accepts(request):
    """A judge that finds everything right, under every profile."""
    if request.stage != "judge":
        return reasonable(request)
    (key,) = {"label", "answer"} & request.schema["properties"].keys()
    return json.dumps({"reason": "So it is.", key: request.schema["properties"][key]["enum"][0]})


@pytest.fixture(scope="module")
def finished(ten_conversations, tmp_path_factory):
    """A run over three conversations, graded by a judge that draws lots."""
    with scripted_server() as server:
        output = tmp_path_factory.mktemp("judged")
        plain = settings(ten_conversations, output, server.base_url) | {"methods": ["naive-rag"]}
        plain["data"]["conversations"] = [f"conv-{n}" for n in range(3)]
        config = RunConfig.model_validate(plain)
        return run_benchmark(config, progress=False).folder


def judge(folder, server, *arguments):
    return CliRunner().invoke(
        app, ["judge", str(folder.path), "--judge-base-url", server.base_url, "--json", *arguments]
    )


def outcomes(folder, profile):
    rows = scan_verdicts(folder.path).filter(pl.col("profile") == profile).collect()
    return rows.sort("question_id")["outcome"].to_list()


def sealed(folder):
    return {path: path.read_bytes() for path in (folder.path / "tables").iterdir()}


def test_what_a_failure_left_undone_is_done_by_the_next_call(finished):
    before = sealed(finished)

    def refuses(arrival, body):
        return Fault(400, message="too long") if marker(1) in body["messages"][-1]["content"] else None

    with scripted_server(accepts, faults=refuses) as server:
        first = judge(finished, server, "--profile", "lenient")
        assert (first.exit_code, len(server.bodies)) == (1, ANSWERS)
        assert "lenient: incomplete: naive-rag/conv-1/0" in first.stderr
    assert outcomes(finished, "lenient").count("right") == ANSWERS - QUESTIONS
    with scripted_server(accepts) as server:
        second = judge(finished, server, "--profile", "lenient")
        assert (second.exit_code, len(server.bodies)) == (0, QUESTIONS)
        third = judge(finished, server, "--profile", "lenient")
        assert (third.exit_code, len(server.bodies)) == (0, QUESTIONS)
    assert outcomes(finished, "lenient") == ["right"] * ANSWERS
    assert sealed(finished) == before
    assert own_profile(finished.path) == "memsif"
    totals = [row for row in json.loads(third.stdout)["scores"] if row["category"] == "Total"]
    assert {row["profile"] for row in totals} >= {"memsif", "lenient"}
    assert [row["acc"] for row in totals if row["profile"] == "lenient"] == [1.0]


def test_several_profiles_and_votes_are_metered_calls_of_the_judge_alone(finished):
    with scripted_server(accepts) as server:
        done = judge(
            finished, server, "--profile", "longmemeval", "--profile", "strict-exact", "--votes", "3"
        )
        assert done.exit_code == 0
        assert len(server.bodies) == server.requests["/v1/chat/completions"] == 2 * 3 * ANSWERS
    assert outcomes(finished, "strict-exact+3-votes") == ["right"] * ANSWERS
    calls = JobFolder(next(finished.path.glob("grades/longmemeval-3-votes*"))).tables.read("calls")
    assert set(calls["stage"].to_pylist()) == {"judge"}
    assert set(calls["outcome"].to_pylist()) == {"ok"}
    assert calls.num_rows == 3 * ANSWERS


def test_the_runs_own_grading_is_not_repeated(finished):
    with scripted_server(accepts) as server:
        assert judge(finished, server).exit_code == 0
        assert not server.bodies


def test_a_run_that_was_graded_with_another_prompt_is_graded_anew(finished, tmp_path):
    copy = RunFolder(shutil.copytree(finished.path, tmp_path / finished.path.name))
    tables = {name: copy.tables.read(name) for name in copy.tables.names()}
    rows = [row | {"prompt_fingerprint": "old"} for row in tables["calls"].to_pylist()]
    tables["calls"] = encode(rows, CALLS)
    copy.tables.write({name: [table] for name, table in tables.items()}, copy.tables.about())
    with scripted_server(accepts) as server:
        done = judge(copy, server)
        assert (done.exit_code, len(server.bodies)) == (0, ANSWERS)
    assert "memsif: the run was graded with other prompts than today's; graded anew" in done.stderr
    assert outcomes(copy, "memsif") == ["right"] * ANSWERS


def test_another_judge_has_a_name_of_its_own(finished):
    own = outcomes(finished, "memsif")
    with scripted_server(accepts, model="other") as server:
        assert judge(finished, server, "--judge-model", "other").exit_code == 0
        assert len(server.bodies) == ANSWERS
    assert outcomes(finished, "memsif+other") == ["right"] * ANSWERS
    assert outcomes(finished, "memsif") == own


def test_audited_references_are_graded_beside_the_released_ones(finished, tmp_path):
    correction = {
        "question_id": "locomo_0_qa1",
        "question": f"What did Ann do in {marker(0)}, 1?",
        "golden_answer": "bought kite 1",
        "correct_answer": "flew a kite",
        "error_type": "HALLUCINATION",
    }
    cited = correction | {"question_id": "locomo_0_qa0", "error_type": "WRONG_CITATION"}
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps([correction, cited | {"question": f"What did Ann do in {marker(0)}, 0?"}]))
    with scripted_server(accepts) as server:
        done = judge(finished, server, "--gold", "audited", "--audit", str(audit))
        (body,) = server.bodies
    assert done.exit_code == 0
    assert "<reference>flew a kite</reference>" in body["messages"][-1]["content"]
    assert json.loads(done.stdout)["ceilings"] == {
        "released": 1 - 1 / ANSWERS,
        "audited": 1.0,
        "questions": ANSWERS,
        "wrong": 1,
    }
    released, audited = outcomes(finished, "memsif"), outcomes(finished, "memsif@audited")
    assert (released[:1] + released[2:], audited[1]) == (audited[:1] + audited[2:], "right")
    rows = scan_verdicts(finished.path).filter(pl.col("question_id") == "conv-0_q1").collect()
    f1 = dict(rows.select("profile", "f1").iter_rows())
    assert f1["memsif"] != f1["memsif@audited"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gold", "audited"), "belong together"),
        (("--gold", "better"), "released or audited"),
        (("--profile", "kind"), "judging.profile"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(finished, arguments, said):
    with scripted_server(accepts) as server:
        done = judge(finished, server, *arguments)
        assert (done.exit_code, len(server.bodies)) == (2, 0)
    assert said in done.stderr


def test_a_judge_is_probed_and_its_finished_calls_are_kept(tmp_path):
    kinds = {"specific_wrong": [False, True, False], "full_context": [True, True, True]}
    rows = [
        {
            "source": kind,
            "question_id": f"locomo_0_qa{n}",
            "category": 4,
            "question": f"What did Ann buy, {n}?",
            "gold": "a kite",
            "answer": "a boat" if kind == "specific_wrong" else "a kite",
            "verdicts": votes,
        }
        for kind, votes in kinds.items()
        for n in range(4)
    ]
    data = tmp_path / "probe.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    with scripted_server(accepts) as server:
        command = ["judge", "probe", "--data", str(data), "--profile", "lenient", "--limit", "2", "--json"]
        where = ["--judge-model", "scripted", "--judge-base-url", server.base_url, "--output", str(tmp_path)]
        first, second = (CliRunner().invoke(app, [*command, *where]) for _ in range(2))
        assert len(server.bodies) == 4
    assert first.exit_code == second.exit_code == 0
    assert first.stdout == second.stdout
    wrong, right, every = json.loads(first.stdout)["kinds"]
    assert (wrong["answers"], wrong["false_accepts"], wrong["theirs"], wrong["agreement"]) == (
        2,
        1.0,
        0.0,
        0.0,
    )
    assert (right["false_accepts"], right["accepted"], right["agreement"]) == (None, 1.0, 1.0)
    assert (every["answers"], every["agreement"], every["kappa"]["point"]) == (4, 0.5, 0.0)
