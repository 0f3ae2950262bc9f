"""Where a run lands, and when a folder counts."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.config import DataConfig, ExecutionConfig, RunConfig
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.schemas import DECISIONS
from memsif_ray.storage.files import claimed
from memsif_ray.storage.runs import RunFolder, run_folder, safe_name
from memsif_ray.storage.tables import encode
from memsif_ray.types import Decision

HOSTILE = [
    "../../etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "\0",
    "con:",
    "x" * 5_000,
    "\ud800",
    "~",
    "é",
    "e\u0301",
]


@pytest.mark.parametrize("identifier", HOSTILE)
def test_no_id_leaves_its_folder(identifier):
    name = safe_name(identifier)
    assert Path("root", name).resolve().parent == Path("root").resolve()
    assert len(name) < 100
    assert name not in (".", "..")
    assert name.isascii()


@given(st.lists(st.text(), unique=True, max_size=20))
def test_different_ids_have_names_that_differ_on_any_file_system(identifiers):
    names = {unicodedata.normalize("NFC", safe_name(identifier)).casefold() for identifier in identifiers}
    assert len(names) == len(identifiers)


def test_case_and_a_forged_digest_do_not_collide():
    assert (
        len({safe_name(name).casefold() for name in ("Conv-1", "conv-1", "CONV-1", safe_name("Conv-1"))}) == 4
    )


def test_plain_ids_stay_readable():
    assert safe_name("conv-26") == "conv-26"
    assert safe_name("gpt4_2655b836") == "gpt4_2655b836"
    assert safe_name("D1:3 Talk").startswith("d1-3-talk~")


def test_speed_and_place_move_no_run_but_meaning_does(tmp_path):
    base = RunConfig(execution=ExecutionConfig(output=tmp_path))
    fast = base.model_copy(update={"execution": ExecutionConfig(output=tmp_path, shards=9)})
    moved = base.model_copy(update={"data": DataConfig(path=Path("/elsewhere/sample"))})
    other = base.model_copy(update={"seed": 1})
    assert run_folder(base, "x") == run_folder(fast, "x")
    assert run_folder(base, "x").path.name == run_folder(moved, "x").path.name
    assert run_folder(base, "x") != run_folder(other, "x")
    assert run_folder(base, "x") != run_folder(base, "y")


@pytest.fixture
def sealed(tmp_path):
    folder = RunFolder(tmp_path).memory("memsif", "c")
    rows = encode(
        [Decision("boundary", "m", "append", "rule")], DECISIONS, method="m", conversation_id="c", run=None
    )
    folder.write({"decisions": [rows]}, {"status": "done"})
    return folder


def test_a_sealed_folder_says_what_was_said_and_reads_back(sealed):
    assert sealed.about()["status"] == "done"
    assert sealed.read("decisions").num_rows == 1


def test_a_folder_without_its_mark_does_not_count(sealed):
    sealed.mark.unlink()
    assert sealed.about() is None
    with pytest.raises(DataError):
        sealed.read("decisions")


def test_a_truncated_table_does_not_count(sealed):
    path = sealed.file("decisions")
    path.write_bytes(path.read_bytes()[:-1])
    assert sealed.about() is None


def test_a_table_changed_in_place_is_found_on_reading(sealed):
    path = sealed.file("decisions")
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged"):
        sealed.read("decisions")


def test_one_process_at_a_time(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with claimed(folder.path), pytest.raises(ConfigError, match="another process"), claimed(folder.path):
        pass
    with claimed(folder.path):
        pass
