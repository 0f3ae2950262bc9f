"""What packing decided, in the report of a run."""

from analysis.oas.packings import packings
from analysis.report.study import read_runs
from analysis.report.writing import write_report
from tests.unit.analysis.conftest import small_run


def packing(action: str, **more) -> dict:
    plain = {"method": "memsif", "policy": "router-safe", "budget": 64, "candidate_tokens": 100, "packed": 2}
    return plain | {"action": action, "tokens": 50} | more


def test_chosen_actions_are_counted_by_hand(write_run, tmp_path):
    from memsif_ray.schemas import TABLES
    from memsif_ray.storage.tables import encode, write_table
    from tests.unit.analysis.conftest import complete

    path = write_run("one", small_run({"memsif": "rrwr"}))
    rows = [
        packing("retain", reason="advantage below the safe threshold"),
        packing("retain", packed=0, tokens=0, candidate_tokens=300),
        packing("merge", fallbacks=1),
        packing("abstract"),
    ]
    table = encode([complete("packings", row) for row in rows], TABLES["packings"])
    write_table(path / "tables" / "packings.parquet", table)
    (section,) = packings(read_runs([path]))
    assert section.parts[0].rows == [
        (
            "memsif", "router-safe", "64", "4", "50.0", "25.0", "25.0", "0.0",
            "150.0", "37.5", "25.0", "25.0", "1",
        )
    ]  # fmt: skip
    assert "Packing under a budget" in write_report([path], tmp_path / "report").read_text()


def test_a_run_without_a_budget_has_no_such_section(write_run):
    assert packings(read_runs([write_run("one", small_run({"memsif": "rrwr"}))])) == []
