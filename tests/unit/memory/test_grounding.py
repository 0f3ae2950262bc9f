"""Statements must be supported by the messages they cite, in their language, names untouched."""

import json
import random
import re
from datetime import datetime

import pytest

from memsif_ray.memory.dates import annotate
from memsif_ray.memory.grounding import grounded

MESSAGES = {
    "D1:1": ("沈墨", "我周五搁在杭州学做陶器。"),
    "D1:2": ("Žofie", "Ik heb mijn fiets aan Bram verkocht."),
    "D1:3": ("نور", "أعمل في مكتبة صغيرة."),
    "D1:4": ("沈墨", "下周去 Ghent 看 Žofie。"),
}
NAMES = ("沈墨", "Žofie", "نور")


@pytest.mark.parametrize("message_id", list(MESSAGES))
def test_a_prompt_example_is_not_grounded_in_any_message(message_id):
    leaked = "The user intends to repaint the garage on Thursday"
    assert not grounded(leaked, [MESSAGES[message_id][1]], names=NAMES).ok
    assert not grounded(leaked, [text for _, text in MESSAGES.values()], names=NAMES).ok


def test_one_shared_word_does_not_let_the_example_through():
    leaked = "The user intends to repaint the garage on Thursday"
    assert grounded(leaked, ["Our garage door squeaks."], names=["Ada"]).reason == "words"


@pytest.mark.parametrize(
    ("message_id", "statement"),
    [
        ("D1:1", "沈墨周五在杭州学做陶器。"),
        ("D1:2", "Žofie heeft haar fiets aan Bram verkocht."),
        ("D1:2", "Z\u030cofie heeft haar fiets aan Bram verkocht."),
        ("D1:3", "نور تعمل في مكتبة صغيرة."),
        ("D1:4", "沈墨下周去 Ghent 看 Žofie。"),
    ],
)
def test_statements_in_the_language_of_their_evidence_pass(message_id, statement):
    assert grounded(statement, [MESSAGES[message_id][1]], names=NAMES).ok


@pytest.mark.parametrize(
    ("message_id", "statement", "reason"),
    [
        ("D1:1", "沈墨 learns pottery in Hangzhou.", "language"),
        ("D1:3", "Noor works in a small library.", "language"),
        ("D1:2", "Žofie sold her bicycle to Bram.", "words"),
        ("D1:2", "我卖了自行车。", "language"),
    ],
)
def test_translations_are_refused(message_id, statement, reason):
    check = grounded(statement, [MESSAGES[message_id][1]], names=NAMES, threshold=0.4)
    assert (check.ok, check.reason) == (False, reason)


def test_a_name_that_nobody_said_is_refused():
    source = ["I sold my old bike to a friend, Bram, at the market."]
    assert grounded("Ada sold her old bike to Bram at the market.", source, names=["Ada"]).ok
    check = grounded("Ada sold her old bike to Abraham at the market.", source, names=["Ada"])
    assert (check.reason, check.missing) == ("names", ("abraham",))


def test_names_dates_pronouns_and_word_forms_are_no_missing_words():
    check = grounded(
        "Ada owns two pianos and sold one on 2023-12-31.",
        ["I own two pianos.", "Yesterday I sold one piano."],
        names=["Ada"],
    )
    assert (check.ok, check.coverage, check.missing) == (True, 1.0, ())
    assert grounded(
        "Ada sold the piano on 31 December 2023.", ["Yesterday I sold it, the piano."], names=["Ada"]
    ).ok


@pytest.mark.parametrize(
    "said", ["Last week I sold it.", "Last year I sold it.", "Last month I sold it.", "I sold it yesterday."]
)
def test_annotated_dates_are_no_missing_words(said):
    statement = annotate(said, datetime(2024, 1, 1, 0, 9))
    assert statement != said
    assert grounded(statement, [said]).missing == ()


@pytest.mark.parametrize("statement", ["", "Ada is.", "The user has it.", "2023-12-31"])
def test_a_statement_that_says_nothing_is_refused(statement):
    check = grounded(statement, ["Ada is here. The user has it since 2023-12-31."], names=["Ada"])
    assert (check.ok, check.coverage) == (False, 0.0)


def test_without_evidence_nothing_is_grounded():
    assert not grounded("Ada sold the piano.", [], names=["Ada"]).ok


def test_real_paraphrases_pass_and_other_sessions_do_not(data_dir):
    conversations = json.loads((data_dir / "locomo" / "locomo10.json").read_text(encoding="utf-8"))
    rng = random.Random(0)
    near, far = [], []
    for record in conversations:
        if record["sample_id"] == "conv-30":
            continue
        turns = {t["dia_id"]: t for s in record["conversation"].values() if isinstance(s, list) for t in s}
        names = (record["conversation"]["speaker_a"], record["conversation"]["speaker_b"])
        for statement, cited in _observations(record):
            session, number = cited.split(":")
            window = [turns.get(f"{session}:{int(number) + step}", {"text": ""}) for step in range(-2, 3)]
            other = rng.choice([i for i in turns if not i.startswith(f"{session}:")])
            near.append(grounded(statement, [_content(turn) for turn in window], names=names).ok)
            far.append(grounded(statement, [_content(turns[other])], names=names).ok)
    assert sum(near) / len(near) > 0.95
    assert sum(far) / len(far) < 0.03


def _observations(record):
    for session in record["observation"].values():
        for statements in session.values():
            for statement, evidence in statements:
                yield statement, re.search(r"D\d+:\d+", str(evidence))[0]


def _content(turn):
    return f"{turn['text']} {turn.get('blip_caption', '')}"
