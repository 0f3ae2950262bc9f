"""A run's own verdicts, and those of later gradings, as one table."""

import polars as pl
import pytest

from analysis.verdicts import own_profile, scan_calls, scan_verdicts
from memsif_ray.schemas import CALLS, VERDICTS
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder, safe_name
from memsif_ray.storage.tables import encode
from tests.unit.analysis.conftest import complete


def _verdicts(outcomes: dict[str, str | None], profile: str):
    row = {"run": 0, "method": "m", "profile": profile, "reason": "", "f1": 0.5, "evidence_recall": None}
    return {
        "verdicts": [
            encode(
                [
                    row | {"question_id": name, "outcome": outcome, "abstained": False, "date_match": None}
                    for name, outcome in outcomes.items()
                ],
                VERDICTS,
            )
        ]
    }


def _rows(run):
    rows = scan_verdicts(run).collect().sort("profile", "question_id")
    return list(rows.select("profile", "question_id", "outcome").iter_rows())


def test_later_gradings_stand_beside_the_runs_own_and_fill_its_gaps(tmp_path):
    RunFolder(tmp_path).tables.write(_verdicts({"a": "right", "b": None, "c": "wrong"}, "memsif"), {})
    assert own_profile(tmp_path) == "memsif"
    assert len(_rows(tmp_path)) == 3
    again = JobFolder(tmp_path / "grades" / "memsif")
    again.tables.write(_verdicts({"a": None, "b": "right", "c": "wrong"}, "memsif"), {})
    lenient = JobFolder(tmp_path / "grades" / "lenient")
    lenient.tables.write(_verdicts({"a": "right"}, "lenient"), {})
    broken_off = JobFolder(tmp_path / "grades" / "strict-exact")
    broken_off.tables.write(_verdicts({"a": "wrong"}, "strict-exact"), {})
    (broken_off.path / "manifest.json").unlink()
    assert _rows(tmp_path) == [
        ("lenient", "a", "right"),
        ("memsif", "a", "right"),
        ("memsif", "b", "right"),
        ("memsif", "c", "wrong"),
    ]


def _calls(*judged: str, model: str):
    rows = [
        complete("calls", {"method": "m", "stage": "judge", "question_id": q, "model": model}) for q in judged
    ]
    return {"calls": [encode(rows, CALLS)]}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        # The run judged a and b; a later start of the same grading judged b anew, and c.
        ("memsif", [("a", "own"), ("b", "again"), ("c", "again")]),
        ("lenient", [("a", "lenient"), ("b", "lenient")]),
        # Only b has a corrected reference; the verdict on a is taken over.
        ("lenient@audited", [("a", "lenient"), ("b", "corrected")]),
        ("memsif@audited", []),  # there is none
        ("strict-exact", []),
    ],
)
def test_the_calls_of_a_judge_are_those_behind_its_verdicts(tmp_path, profile, expected):
    own = _verdicts({"a": "right", "b": None}, "memsif") | _calls("a", "b", model="own")
    RunFolder(tmp_path).tables.write(own, {})
    for name, judged, model in (
        ("memsif", "bc", "again"),
        ("lenient", "ab", "lenient"),
        ("lenient@audited", "b", "corrected"),
    ):
        folder = JobFolder(tmp_path / "grades" / safe_name(name))
        folder.tables.write(_verdicts({}, name) | _calls(*judged, model=model), {"profile": name})
    found = scan_calls(tmp_path, profile).select("question_id", "model").collect()
    assert sorted(found.iter_rows()) == expected


def test_an_ungraded_run_has_a_name_and_no_verdicts(tmp_path):
    assert own_profile(tmp_path) == "memsif"
    assert scan_verdicts(tmp_path).collect().equals(pl.DataFrame(VERDICTS.empty_table()))
