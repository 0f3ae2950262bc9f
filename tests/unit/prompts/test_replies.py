"""MC-01, MC-02 and the top level of MC-04: from raw replies to checked values."""

import pytest

from memsif_ray.errors import ReplyInvalid
from memsif_ray.prompts.replies import choose, parse_reply
from memsif_ray.types import ChatReply

SCHEMA = {"type": "object", "properties": {"operations": {"type": "array"}}, "required": ["operations"]}
BIKE = (
    '{"operations": [{"op": "Add", "type": "possession", "subject": "Ilse", '
    '"text": "Ilse owns a red cargo bike", "evidence": ["D1:2"]}]}'
)
EMPTY = '{"operations": []}'


def parse(content, finish_reason="stop"):
    return parse_reply(ChatReply(content, finish_reason, "m"), SCHEMA)


def reason(content, finish_reason="stop"):
    with pytest.raises(ReplyInvalid) as caught:
        parse(content, finish_reason)
    return caught.value.reason


@pytest.mark.parametrize(
    "wrapped",
    [
        f"```json\n{BIKE}\n```",
        f"I found one item.\n{BIKE}\nAnything else {{please}} ask.",
        f'<think>draft {{"operations": [{{"op": "Add", "text": "DRAFT"}}]}}</think>{BIKE}',
        f"maybe {EMPTY}? no.\n</think>\n{BIKE}",
        f"<think>one</think><think>two</think>{BIKE}",
    ],
)
def test_one_object_is_found_in_any_wrapper_and_drafts_never_count(wrapped):
    (operation,) = parse(wrapped)["operations"]
    assert operation["text"] == "Ilse owns a red cargo bike"


def test_backticks_and_braces_inside_a_string_stay_byte_for_byte():
    text = "Ilse tapes a card reading ```{tea}``` to the kettle"
    (operation,) = parse(f'```json\n{{"operations": [{{"op": "Add", "text": "{text}"}}]}}\n```')["operations"]
    assert operation["text"] == text


def test_a_reasoning_tag_inside_a_string_is_data():
    (operation,) = parse('{"operations": [{"text": "Bram named his newsletter </think> twice"}]}')[
        "operations"
    ]
    assert "</think>" in operation["text"]


def test_an_empty_list_is_valid_and_empty():
    assert parse(f"```\n{EMPTY}\n```") == {"operations": []}


@pytest.mark.parametrize(
    ("content", "finish", "wanted"),
    [
        (f"{BIKE}\n{EMPTY}", "stop", "several_objects"),
        ("{'operations': []}", "stop", "not_json"),
        ("There is nothing worth keeping here.", "stop", "not_json"),
        ("", "stop", "no_content"),
        (None, "length", "no_content"),
        (f"<think>still weighing {BIKE}", "length", "truncated"),
        (BIKE[:60], "length", "truncated"),
        (f'{{"facts": [{BIKE}, {EMPTY}, {{"fac', "length", "truncated"),
        ("{}", "stop", "wrong_shape"),
        ("null", "stop", "wrong_shape"),
        ("7", "stop", "wrong_shape"),
        ('{"operations": 7}', "stop", "wrong_shape"),
    ],
)
def test_what_cannot_be_read_is_invalid_with_a_reason_and_never_empty(content, finish, wanted):
    assert reason(content, finish) == wanted


def test_free_text_loses_its_reasoning_and_nothing_else():
    assert parse_reply(ChatReply("<think>hm</think> In May.", "stop", "m"), None) == "In May."


@pytest.mark.parametrize("spelling", ["ADD", " add ", "Add"])
def test_case_and_edge_space_do_not_matter(spelling):
    assert choose(spelling, ("Add", "Update")) == "Add"


@pytest.mark.parametrize("odd", ["NOOP", "Delete", "Replace", "", None, 3, ["Add"]])
def test_an_unknown_word_is_never_mapped_to_a_neighbour(odd):
    with pytest.raises(ReplyInvalid, match="unknown_value"):
        choose(odd, ("Add", "Update", "Merge", "Supersede"))


def test_a_boolean_is_not_an_integer_and_a_string_is_not_a_boolean():
    schema = {"type": "object", "properties": {"continues": {"type": "boolean"}}, "required": ["continues"]}
    for content in ('{"continues": "true"}', '{"continues": 1}'):
        with pytest.raises(ReplyInvalid):
            parse_reply(ChatReply(content, "stop", "m"), schema)
