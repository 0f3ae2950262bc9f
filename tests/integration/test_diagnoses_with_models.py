"""`memsif diagnose dum` and `validate`: blind, resumable, and honest about what could not be read."""

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jobs.diagnose import main
from memsif_ray.cli import app
from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.config import DataConfig
from memsif_ray.datasets import load
from memsif_ray.storage.jobs import JobFolder

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]

PLACES = ("Ghent", "Bruges", "Ostend")


def history(place):
    """Six utterances and three questions, of which the last has two utterances of evidence."""
    turns = [
        {"speaker": "AB"[n % 2], "dia_id": f"D1:{n}", "text": f"I went to {place} on trip {n}."}
        for n in range(6)
    ]
    asked = [
        {
            "question": f"canary-question {n} about {place}?",
            "answer": f"canary-answer {place} {n}",
            "category": 4 if n < 2 else 1,
            "evidence": [f"D1:{k}" for k in ids],
        }
        for n, ids in enumerate([(3,), (3,), (4, 5, 2)])
    ]
    conversation = {
        "speaker_a": "A",
        "speaker_b": "B",
        "session_1": turns,
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    return {"sample_id": place, "conversation": conversation, "qa": asked}


@pytest.fixture
def data(tmp_path) -> Path:
    path = tmp_path / "three.json"
    path.write_text(json.dumps([history(place) for place in PLACES]))
    return path


def scorer(request):
    """Low salience and high utility throughout; facts are found where they are shown."""
    match request.stage:  # the name of the schema; an answer has none
        case "salience":
            return '{"label": "KEEP"}' if "trip 5." in request.user else '{"label": "MAYBE"}'
        case "utility":
            return '{"label": "CRITICAL"}'
        case "recovery":
            memory, fact = request.user.split("</memory>")
            found = fact.split("<reference>")[1].split("</reference>")[0] in memory
            return json.dumps({"label": "FULL" if found else "NONE"})
        case "":
            return f"{request.user.count('trip')} trips"
    labels = request.schema["properties"]["label"]["enum"]
    return json.dumps(
        {
            "label": labels[0]
            if "canary-answer" not in request.user or "3 trips" in request.user
            else labels[-1]
        }
    )


def sent(server):
    """System and user text of each chat request."""
    return ["\n".join(message["content"] for message in body["messages"]) for body in server.bodies]


def diagnose(kind, data, server, *arguments):
    where = ["--data", str(data), "--model", "scripted", "--base-url", server.base_url]
    where += ["--output", str(data.parent / "runs"), "--set", "model.deadline_s=20"]
    return CliRunner().invoke(app, ["diagnose", kind, *where, "--json", *arguments])


def hidden(texts):
    salience = [text for text in texts if "archive of a running conversation" in text]
    utility = [text for text in texts if "How useful is the last utterance" in text]
    assert salience and utility
    assert not any("canary" in text for text in salience)
    assert all("canary-question" in text and "canary-answer" not in text for text in utility)
    return salience, utility


def test_scores_are_blind_and_losses_add_up(data):
    with scripted_server(scorer) as server:
        done = diagnose("dum", data, server)
        salience, utility = hidden(sent(server))
        before = len(server.bodies)
        again = diagnose("dum", data, server)
        assert len(server.bodies) == before
    assert done.exit_code == again.exit_code == 0, done.stderr
    assert done.stdout == again.stdout
    # Four distinct utterances per conversation, and five pairs.
    assert (len(salience), len(utility)) == (12, 15)
    plain = json.loads(done.stdout)
    # The utterance of trip 5 was worth keeping; the others are low and critical.
    assert (plain["lshur"]["pairs"]["hits"], plain["lshur"]["pairs"]["of"]) == (12, 15)
    assert (plain["lshur"]["questions"]["hits"], plain["lshu"]) == (
        9,
        {"S-hop": 6, "M-hop": 3, "Temp": 0, "Kno": 0},
    )
    ids = Path(plain["questions_file"]).read_text().split()
    assert len(load(DataConfig(dataset="locomo", path=data, questions=tuple(ids))).questions) == 9
    raw, two, *others = plain["cdl"]
    # Of the three facts of the last question two are kept: that of trip 5, and of equals the earliest.
    assert (raw["whole"], two["whole"], two["nothing"]) == (15, 12, 3)
    assert two["strict"]["value"] == pytest.approx(3 / 15)
    assert [one["strict"]["value"] for one in others] == [0.0, 0.0]
    # Its answer is right only from all three.
    assert [one["strict"]["value"]["value"] for one in plain["qad"][1:]] == pytest.approx([3 / 9, 0, 0])
    assert plain["correlation"]["strict"]["questions"]["r"]["value"] == pytest.approx(1.0, abs=0.02)
    folder = JobFolder(Path(plain["folder"]))
    calls = Counter(folder.tables.read("calls")["stage"].to_pylist())
    assert calls == {"salience": 12, "utility": 15}
    rows = folder.tables.read("evidence_scores").to_pylist()
    assert {row["salience"] for row in rows if row["message_id"] == "D1:5"} == {3}
    assert (folder.path / "figures" / "cdl-qad-points.svg").is_file()


def test_replies_that_cannot_be_read_are_missing_and_counted(data):
    def mumbles(request):
        if request.stage == "salience" and "went to Ghent on trip 3.</utterance>" in request.user:
            return "I would keep it"
        if request.stage == "recovery" and "Bruges" in request.user:
            return "hm"
        return scorer(request)

    with scripted_server(mumbles) as server:
        done = diagnose("dum", data, server)
    assert done.exit_code == 0, done.stderr
    plain = json.loads(done.stdout)
    salience, _ = plain["scores"]
    assert salience["reasons"] == {"unreadable: not_json": 1}
    assert (plain["lshur"]["pairs"]["of"], plain["lshur"]["pairs"]["missing"]) == (13, 2)
    assert (plain["lshur"]["questions"]["of"], plain["lshur"]["questions"]["missing"]) == (7, 2)
    assert (plain["cdl"][0]["whole"], plain["cdl"][0]["missing"]) == (8, 5)
    folder = JobFolder(Path(plain["folder"]) / "compaction")
    rows = [row for row in folder.tables.read("recoveries").to_pylist() if row["label"] is None]
    assert {row["conversation_id"] for row in rows} == {"Bruges"}
    assert {row["reason"] for row in rows} == {"unreadable"}


def test_what_a_service_failed_is_done_by_the_next_start_alone(data):
    def refuses(arrival, body):
        text = body["messages"][-1]["content"]
        return Fault(400, message="too long") if "trip 4.</utterance>" in text and "Ostend" in text else None

    with scripted_server(scorer, faults=refuses) as server:
        first = diagnose("dum", data, server)
    assert first.exit_code == 1
    assert "incomplete: Ostend" in first.stderr
    plain = json.loads(first.stdout)
    assert (plain["sample"], plain["cdl"][0]["missing"]) == (0, 0)  # compaction waits for the scores
    with scripted_server(scorer) as server:
        second = diagnose("dum", data, server)
        texts = sent(server)
    assert second.exit_code == 0, second.stderr
    salience = [text for text in texts if "archive of a running conversation" in text]
    utility = [text for text in texts if "How useful is the last utterance" in text]
    assert (len(salience), len(utility)) == (1, 1)
    assert json.loads(second.stdout)["lshur"]["pairs"]["missing"] == 0


def test_a_limit_draws_questions_over_categories(data):
    with scripted_server(scorer) as server:
        plain = json.loads(diagnose("dum", data, server, "--limit", "3").stdout)
    assert (plain["questions"], plain["lshu"]) == (3, {"S-hop": 2, "M-hop": 1, "Temp": 0, "Kno": 0})


def test_pairs_are_judged_blind_once_and_with_their_failures_told(data):
    def judge(request):
        return "well" if "trip 2" in request.user and "Ghent" in request.user else scorer(request)

    hashed = ("--embedder", "hash-64")
    with scripted_server(judge) as server:
        where = (*hashed, "--set", f"embedder.base_url={server.base_url}")
        first = diagnose("validate", data, server, *where)
        calls = len(server.bodies)
        second = diagnose("validate", data, server, *where)
        assert len(server.bodies) == calls
    assert first.exit_code == second.exit_code == 0, first.stderr
    assert first.stdout == second.stdout
    plain = json.loads(first.stdout)
    rows = JobFolder(Path(plain["folder"])).tables.read("pair_judgements").to_pylist()
    judged, missing = (sum(one[key] for one in plain["rates"]) for key in ("judged", "missing"))
    assert judged + missing == len(rows) == 3 * (2 + 3)  # three segments each: two adjacent, three neighbours
    unread = [row for row in rows if row["label"] is None]
    assert missing == len(unread) > 0
    assert {row["reason"] for row in unread} == {"unreadable"}
    assert sum(one["unreadable"] for one in plain["rates"]) == 3 * missing
    assert calls == 3 * judged + 2 * 3 * missing


def test_the_job_measures_every_kind(data, tmp_path, capsys):
    config = tmp_path / "run.yaml"
    with scripted_server(scorer) as server:
        plain = {
            "data": {"dataset": "locomo", "path": str(data)},
            "model": {"base_url": server.base_url, "model": "scripted"},
            "embedder": {"base_url": server.base_url, "model": "hash-64"},
            "execution": {"output": str(tmp_path / "jobs")},
        }
        config.write_text(json.dumps(plain))  # JSON is YAML
        shown = {}
        for kind in ("nce", "stats", "tsm", "validate", "dum"):
            assert main([kind, str(config), "--set", "diagnosis.questions=3"]) == 0
            shown[kind] = capsys.readouterr()
    titles = {
        "nce": "Non-contiguous evidence",
        "stats": "locomo",
        "tsm": "Adjacent Semantic Volatility",
        "validate": "Table 6",
        "dum": "Table 8",
    }
    assert all(title in shown[kind].out for kind, title in titles.items())
    assert all("report.html" in one.err for one in shown.values())
    assert main(["nce", str(tmp_path / "absent.yaml")]) == 2
