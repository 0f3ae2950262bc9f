"""Counting, and telling a person about it."""

import time

from memsif_ray.runtime.progress import Board, Tally, shown


def test_counts_of_many_processes_add_up():
    board = Board()
    tallies = [Tally(board.add) for _ in range(3)]
    for tally in tallies:
        for _ in range(5):
            tally.add(asked=1, calls=2)
        tally.flush()
    assert board.counts() == {"asked": 15, "calls": 30}


def test_news_is_passed_on_rarely_and_never_twice():
    said = []
    tally = Tally(said.append)
    for _ in range(1000):
        tally.add(calls=1)
    assert len(said) < 5
    tally.flush()
    tally.flush()
    assert sum(news["calls"] for news in said) == 1000


def test_without_a_terminal_a_last_line_says_what_was_done(capsys):
    with shown(lambda: {"built": 2, "asked": 3, "calls": 9}, {"built": 2, "asked": 3, "graded": 0}):
        time.sleep(0.01)
    line = capsys.readouterr().err.strip()
    assert line.startswith("memories built 2/2, questions asked 3/3, 9 calls")
    assert "graded" not in line


def test_disabled_progress_says_nothing(capsys):
    with shown(lambda: {}, {}, enabled=False):
        pass
    assert capsys.readouterr().err == ""
