import json

from memsif_ray.methods import METHODS
from memsif_ray.methods.groups import CONTROLS


def test_every_method_is_a_row_with_the_number_of_its_deviations(memsif):
    plain = json.loads(memsif("methods", "--json").stdout)
    assert [row["name"] for row in plain] == list(METHODS)
    shown = memsif("methods").stdout
    (line,) = [line for line in shown.splitlines() if line.split()[:1] == ["oracle"]]
    (oracle,) = [row for row in plain if row["name"] == "oracle"]
    assert line.split()[-1] == str(len(oracle["deviations"])) == "3"


def test_a_terminal_of_80_columns_shows_every_method_in_few_lines(memsif, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = memsif("methods").stdout.splitlines()
    assert max(map(len, shown)) <= 80
    assert not [line for line in shown if "…" in line]
    assert len(shown) <= 4 * len(METHODS)


def test_one_method_tells_all_its_deviations(memsif):
    (plain,) = json.loads(memsif("methods", "naive-rag", "--json").stdout)
    shown = " ".join(memsif("methods", "naive-rag").stdout.split())
    assert plain["name"] == "naive-rag" and len(plain["deviations"]) > 1
    assert all(" ".join(item.split()) in shown for item in plain["deviations"])
    assert "bm25" not in [line.strip() for line in shown.splitlines()]


def test_a_group_is_told_member_by_member_and_an_unknown_name_is_exit_code_2(memsif):
    assert [row["name"] for row in json.loads(memsif("methods", "controls", "--json").stdout)] == list(
        CONTROLS
    )
    wrong = memsif("methods", "memsiff")
    assert wrong.exit_code == 2
    assert "did you mean memsif" in wrong.stderr
