import json
from pathlib import Path

import pytest


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("other",), "names no runs"), (("latest", "locomo-abc"), "named twice: locomo-abc123")],
)
def test_a_wrong_run_is_named(memsif, finished, arguments, said):
    result = memsif("report", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
