"""Reading records one by one from files that may be broken."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.datasets.source import digest, read_records
from memsif_ray.errors import ConfigError, DataError

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(plain, max_size=4), st.sampled_from([None, 0, 2]))
def test_a_list_gives_its_elements(
    tmp_path_factory: pytest.TempPathFactory, values: list, indent: int
) -> None:
    file = tmp_path_factory.mktemp("records") / "list.json"
    file.write_text(f" {json.dumps(values, indent=indent)}\n", encoding="utf-8")
    assert list(read_records(file)) == values


def test_any_other_value_is_one_record(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text('\ufeff {"a": [1, 2]} \n', encoding="utf-8")
    assert list(read_records(file)) == [{"a": [1, 2]}]


@pytest.mark.parametrize("content", ["", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1] 2", "1 2", "nope"])
def test_broken_text_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"broken\.json"):
        list(read_records(file))


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "latin.json"
    file.write_bytes('["caf\xe9"]'.encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        list(read_records(file))


def test_a_missing_file_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        list(read_records(tmp_path / "absent.json"))


def test_the_digest_of_a_folder_depends_on_every_file(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_text("[]")
    before = digest(tmp_path)
    (tmp_path / "b.json").write_text("[1]")
    assert digest(tmp_path) != before
