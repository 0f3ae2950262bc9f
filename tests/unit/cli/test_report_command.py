import json
from pathlib import Path

import pytest

from tests.unit.analysis.conftest import written


def test_the_latest_run_is_reported_on_inside_its_folder(memsif, finished):
    result = memsif("report")
    assert result.exit_code == 0
    assert Path(result.stdout.replace("\n", "")) == finished / "report" / "report.html"
    assert "ServiceBusy: no reply within 20 s" in (finished / "report" / "report.html").read_text()


def test_json_names_every_file(memsif, finished, tmp_path):
    plain = json.loads(memsif("report", "locomo-abc", "--output", tmp_path / "out", "--json").stdout)
    assert plain["report"] == str(tmp_path / "out" / "report.html")
    assert str(tmp_path / "out" / "tables" / "main.tex") in plain["files"]
    assert all(Path(file).is_file() for file in plain["files"])


def test_a_run_without_questions_has_no_figure(memsif, tmp_path):
    run = written(tmp_path / "runs", "locomo-0", {})
    plain = json.loads(memsif("report", run, "--json").stdout)
    assert {Path(file).parent.name for file in plain["files"]} == {"tables"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("other",), "names no runs"), (("latest", "locomo-abc"), "named twice: locomo-abc123")],
)
def test_a_wrong_run_is_named(memsif, finished, arguments, said):
    result = memsif("report", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
