"""A run's own verdicts, and those of later gradings, as one table."""

import polars as pl

from analysis.verdicts import own_profile, scan_verdicts
from memsif_ray.schemas import VERDICTS
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode


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


def test_an_ungraded_run_has_a_name_and_no_verdicts(tmp_path):
    assert own_profile(tmp_path) == "memsif"
    assert scan_verdicts(tmp_path).collect().equals(pl.DataFrame(VERDICTS.empty_table()))
