"""Dates resolve against the message's own time, to the granularity that the words give."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.memory.dates import annotate, event_time, parse_question_time, resolve

MONDAY = datetime(2024, 1, 1, 0, 9)  # "12:09 am on 1 January, 2024"
WEDNESDAY = datetime(2023, 7, 12, 15, 0)


def labels(text, anchor=WEDNESDAY):
    return [ref.label for ref in resolve(text, anchor)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Yesterday I sold the piano.", "2023-12-31"),
        ("Last Friday my boiler broke.", "2023-12-29"),
        ("Two weeks ago I met Wim.", "2023-12-18"),
        ("Last year I ran a marathon.", "2023"),
        ("Next month I fly to Quito.", "2024-02"),
        ("I recently took up chess.", None),
    ],
)
def test_imported_history_keeps_its_own_dates(text, wanted):
    ref = event_time(text, MONDAY)
    assert (ref.label if ref else None) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the day before yesterday", "2023-07-10"),
        ("last night", "2023-07-11"),
        ("I ran this morning", "2023-07-12"),
        ("see you tonight", "2023-07-12"),
        ("tomorrow!", "2023-07-13"),
        ("the day after tomorrow", "2023-07-14"),
        ("last week", "2023-07-03/2023-07-09"),
        ("this week", "2023-07-10/2023-07-16"),
        ("next week", "2023-07-17/2023-07-23"),
        ("last weekend", "2023-07-08/2023-07-09"),
        ("this past weekend", "2023-07-08/2023-07-09"),
        ("this weekend", "2023-07-15/2023-07-16"),
        ("two weekends ago", "2023-07-01/2023-07-02"),
        ("the week before last", "2023-06-26/2023-07-02"),
        ("last month", "2023-06"),
        ("this year", "2023"),
        ("last Wednesday", "2023-07-05"),
        ("this Wednesday", "2023-07-12"),
        ("next Wednesday", "2023-07-19"),
        ("last Fri", "2023-07-07"),
        ("this Monday", "2023-07-17"),
        ("last summer", "2022-06/2022-08"),
        ("this summer", "2023-06/2023-08"),
        ("next winter", "2023-12/2024-02"),
        ("the summer of 2019", "2019-06/2019-08"),
        ("last July", "2022-07"),
        ("last May", "2023-05"),
        ("next May", "2024-05"),
        ("10 days ago", "2023-07-02"),
        ("a week ago", "2023-07-05"),
        ("seven months ago", "2022-12"),
        ("three years ago", "2020"),
        ("in 3 days", "2023-07-15"),
        ("in two months", "2023-09"),
        ("3 days from now", "2023-07-15"),
        ("back in 2019", "2019"),
        ("since 2019", "2019"),
        ("on 23 July, 2023", "2023-07-23"),
        ("the 23rd of July", "2023-07-23"),
        ("July 23, 2023", "2023-07-23"),
        ("May 7th", "2023-05-07"),
        ("Feb. 5", "2023-02-05"),
        ("July 2023", "2023-07"),
        ("in May", "2023-05"),
        ("by December", "2023-12"),
        ("2023-12-31", "2023-12-31"),
        ("in 2024-02", "2024-02"),
        ("2023/05/30 (Tue)", "2023-05-30"),
        ("last\u00a0 week", "2023-07-03/2023-07-09"),
    ],
)
def test_phrases(text, wanted):
    assert labels(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        "I recently took up chess, and soon go; lately I paint.",
        "a few days ago",
        "a couple of years ago",
        "the other day",
        "for ten years",
        "in the last year",
        "over the next week",
        "It may 7 or may not; we march 5 miles in line.",
        "This may be it. What's next? At last!",
        "February 30 and 2023-13-41 and 2023-13",
        "9000 years ago",
        "the 1990s, in 2000s style",
        "It feels like yesterday",
        "3/4/2023",
        "",
        "下周去 Ghent 看 Žofie。",
    ],
)
def test_what_names_no_date_gives_none(text):
    assert labels(text) == []
    assert event_time(text, WEDNESDAY) is None


def test_the_longest_phrase_wins_and_spans_point_at_it():
    text = "In May 2023, then on 23 July, 2023 and last Friday night."
    refs = resolve(text, WEDNESDAY)
    assert [ref.text for ref in refs] == ["May 2023", "23 July, 2023", "last Friday"]
    assert all(text[slice(*ref.span)] == ref.text for ref in refs)
    assert [ref.explicit for ref in refs] == [True, True, False]


def test_months_run_across_the_turn_of_the_year():
    assert labels("last month", MONDAY) == ["2023-12"]
    assert labels("last weekend", MONDAY) == ["2023-12-30/2023-12-31"]
    assert labels("in December", MONDAY) == ["2023-12"]
    assert labels("this winter", MONDAY) == ["2023-12/2024-02"]
    assert labels("three years ago", datetime(2, 5, 1)) == []


def test_event_time_prefers_when_over_since_and_the_narrower_date():
    assert event_time("Since 2019 I bake, and last Friday I won a prize.", WEDNESDAY).label == "2023-07-07"
    assert event_time("I have lived here since 2019.", WEDNESDAY).label == "2019"
    assert event_time("Last month, on June 7, we moved.", WEDNESDAY).label == "2023-06-07"
    assert event_time("Yesterday I booked a flight for next month.", WEDNESDAY).label == "2023-07-11"


@pytest.mark.parametrize(
    ("text", "asked_at", "wanted"),
    [
        ("Which milk did she drink in May 2023?", None, "2023-05"),
        ("Which milk did she drink in May?", datetime(2024, 1, 5), "2023-05"),
        ("What happened on November 3?", datetime(2023, 10, 1), "2022-11-03"),
        ("What happened on July 20?", WEDNESDAY, "2022-07-20"),
        ("What did he cook last Friday?", WEDNESDAY, "2023-07-07"),
        ("Which milk did she drink in May?", None, None),
        ("What did he cook last Friday?", None, None),
        ("Which milk does she drink?", WEDNESDAY, None),
    ],
)
def test_question_time(text, asked_at, wanted):
    ref = parse_question_time(text, asked_at)
    assert (ref.label if ref else None) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "31 December 2023"),
        ("next month", "February 2024"),
        ("last year", "2023"),
        ("last week", "25 December 2023 to 31 December 2023"),
    ],
)
def test_dates_are_spoken_as_fine_as_they_are_known(text, said):
    (ref,) = resolve(text, MONDAY)
    assert ref.spoken == said


def test_annotation_says_what_relative_words_mean_and_nothing_else():
    assert annotate("Yesterday I sold the piano.", MONDAY) == "Yesterday [31 December 2023] I sold the piano."
    assert annotate("On 23 July, 2023 and back in 2019.", MONDAY) == "On 23 July, 2023 and back in 2019."
    assert annotate("I recently took up chess.", MONDAY) == "I recently took up chess."
    twice = "We met last week and, on May 7th, moved."
    once = "We met last week [3 July 2023 to 9 July 2023] and, on May 7th [7 May 2023], moved."
    assert annotate(twice, WEDNESDAY) == annotate(once, WEDNESDAY) == once


@given(st.text(), st.datetimes())
def test_any_text_at_any_time_is_safe(text, anchor):
    for ref in resolve(text + " last week, May 7th, in 9 years", anchor):
        assert date.min <= ref.start <= ref.end <= date.max
