import json

from memsif_ray.datasets.sample import FOLDER


def test_a_file_is_named_and_counted(memsif):
    shown = memsif("data", "check", FOLDER / "two_people.json")
    assert shown.exit_code == 0
    assert "two_people.json: locomo" in shown.stdout and "no published release" in shown.stdout


def test_the_report_as_json_is_one_document(memsif):
    plain = json.loads(memsif("data", "check", FOLDER / "two_people.json", "--json").stdout)
    assert plain["dataset"] == "locomo" and plain["release"] is None
    assert len(plain["sha256"]) == 64
    assert sum(plain["categories"].values()) == plain["counts"]["questions"]


def test_a_published_release_is_recognised(memsif, data_dir):
    file = next((data_dir / "locomo").rglob("locomo10.json"), data_dir / "locomo")
    plain = json.loads(memsif("data", "check", file, "--json").stdout)
    assert plain["counts"]["scored_questions"] == 1540


def test_neither_nor_is_an_error(memsif, tmp_path):
    (tmp_path / "x.json").write_text('[{"a": 1}]')
    result = memsif("data", "check", tmp_path / "x.json")
    assert result.exit_code == 2 and "neither a LoCoMo conversation nor" in result.stderr
