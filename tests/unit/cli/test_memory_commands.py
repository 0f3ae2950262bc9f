"""One memory from the command line, over a service; tests/e2e has it in the process."""

import json
import socket

import pytest
from typer.testing import CliRunner

from memsif_ray import Client
from memsif_ray.api.app import make_app
from memsif_ray.cli import app
from tests.unit.api_client.faulty import served
from tests.unit.api_client.plain_backend import PlainBackend


@pytest.fixture
def url():
    with served(make_app(PlainBackend(), None)) as address:
        yield address


@pytest.fixture
def memsif(url):
    def call(*arguments, stdin=None):
        return CliRunner().invoke(app, [*arguments, "--base-url", url], input=stdin)

    return call


def kept(url, conversation="memory"):
    with Client(url) as client:
        return [m.content for m in client.messages(conversation)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.json", '["I have a dog.", {"content": "It is called Comet."}]'),
        ("object.json", '{"messages": [{"content": "I have a dog."}, "It is called Comet."]}'),
        (
            "lines.jsonl",
            '{"content": "I have a dog."}\n\n{"content": "It is called Comet.", "name": "Amy"}\n',
        ),
        ("plain.txt", "\ufeffI have a dog.\r\n\r\nIt is called Comet.\r\n"),
    ],
)
def test_messages_come_from_files_of_any_customary_form(memsif, url, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, newline="", encoding="utf-8")
    done = memsif("ingest", str(path), "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["accepted"] == 2
    assert kept(url) == ["I have a dog.", "It is called Comet."]
    assert "2 of 2 messages" in done.stderr


def test_standard_input_is_a_file_and_evidence_is_shown(memsif):
    assert memsif("ingest", "-", stdin="I have a dog.").exit_code == 0
    found = memsif("search", "dog.", "--top-k", "1")
    assert "I have a dog." in found.stdout
    told = memsif("ask", "dog. ?")
    assert told.stdout.splitlines()[0] == "I have a dog." and "because of" in told.stdout
    assert json.loads(memsif("ask", "dog. ?", "--json").stdout)["evidence"]


def test_many_messages_go_in_steps_in_their_order(memsif, url):
    lines = [f"Line {n}" for n in range(45)]
    done = memsif("ingest", "-", "--conversation", "amy", stdin="\n".join(lines))
    assert done.exit_code == 0 and "45 new" in done.stdout
    assert kept(url, "amy") == lines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no messages"),
        ("[]", "no messages"),
        ("[1]", "message 0 is neither"),
        ('{"content": "a"}\n{"content": ', "line 2"),
        ('["a", {"content": " "}]', "message 1: content: Value error, must say something"),
        ('[{"content": "a", "colour": "red"}]', "colour"),
        (b"\xff\xfe\x00", "not UTF-8 at byte 0"),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(memsif, text, why):
    done = memsif("ingest", "-", stdin=text)
    assert done.exit_code == 2
    assert why in done.stderr and done.stdout == ""


def test_an_answer_that_is_none_fails(memsif):
    memsif("ingest", "-", stdin="I have a dog.")
    assert memsif("ask", "elephants").exit_code == 1


def test_files_that_are_not_there_or_no_bundle(memsif, tmp_path):
    assert memsif("ingest", str(tmp_path / "none.txt")).exit_code == 2
    done = memsif("import", "-", stdin='{"format": "other"}')
    assert done.exit_code == 2 and "no exported conversation" in done.stderr
    assert memsif("export", "--conversation", "nobody").exit_code == 2


def test_nobody_there_is_no_service():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = CliRunner().invoke(app, ["search", "x", "--base-url", address])
    assert done.exit_code == 3
