"""GGUF to OpenVINO, once per model: a folder that loads in 2 s instead of 14 s.

Three things stand between a GGUF file and a usable folder:

- OpenVINO reads few kinds of quantised tensors. A file with any other kind is re-quantised to Q8_0, which is
  finer than what it replaces.
- The tokenizer that OpenVINO makes from a GGUF file cuts every text at 8192 tokens, without a word.
- The conversion is slow, so its result is kept, with a manifest written last.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from memsif_ray.clients.embedded import INSTALL
from memsif_ray.errors import ConfigError, DataError

FORMAT = 1
"""Version of what `convert_gguf` writes; part of the folder's name."""
MODEL_FILE = "openvino_model.xml"
MANIFEST = "manifest.json"

_READABLE = frozenset({"F32", "F16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"})
_FILE_TYPE_Q8_0 = 7
_NO_LIMIT = 2**31 - 1


def is_complete(folder: Path) -> bool:
    """True when `folder` holds all that its manifest lists, in full size."""
    try:
        files: dict[str, dict[str, Any]] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == entry["size"] for name, entry in files.items())
    except (OSError, json.JSONDecodeError):
        return False


def convert_gguf(source: Path, folder: Path, progress: Callable[[str], None]) -> None:
    """Convert `source`, which lies in `folder`, and remove it.

    Raises:
        ConfigError: When the packages for it are missing.
        DataError: When the file or its architecture cannot be read.
    """
    try:
        import gguf
        import openvino_genai
    except ImportError as exc:
        raise ConfigError(f"the embedded model is not installed: {INSTALL}") from exc
    readable = folder / "model.gguf"
    try:
        _make_readable(source, readable, progress, gguf)
        progress("converting to OpenVINO")
        _save_openvino(readable, openvino_genai)
    except (RuntimeError, ValueError, IndexError) as exc:
        raise DataError(f"cannot convert {source.resolve().name} to OpenVINO: {exc}") from exc
    for gguf_file in (source, readable):
        gguf_file.unlink()
    _lift_token_limit(folder)
    _write_manifest(folder)


def _make_readable(source: Path, target: Path, progress: Callable[[str], None], gguf: Any) -> None:
    reader = gguf.GGUFReader(source)
    if {tensor.tensor_type.name for tensor in reader.tensors} <= _READABLE:
        target.symlink_to(source.resolve())
        return
    progress("re-quantising to Q8_0, about half a minute for half a billion parameters")
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    writer = gguf.GGUFWriter(
        target, arch=reader.fields["general.architecture"].contents(), use_temp_file=True
    )
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            value = _FILE_TYPE_Q8_0 if key == "general.file_type" else field.contents()
            writer.add_key_value(key, value, field.types[0], sub_type=_element_type(field, gguf))
    for tensor in reader.tensors:
        data, kind = tensor.data, tensor.tensor_type
        if kind.name not in ("F32", "F16", "Q8_0"):
            data, kind = gguf.quantize(gguf.dequantize(data, kind), q8_0), q8_0
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _element_type(field: Any, gguf: Any) -> Any:
    return field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None


def _save_openvino(gguf_file: Path, genai: Any) -> None:
    genai.Tokenizer(gguf_file, enable_save_ov_model=True)
    scheduler = genai.SchedulerConfig()
    genai.ContinuousBatchingPipeline(gguf_file, scheduler, "CPU", {"enable_save_ov_model": True})


def _lift_token_limit(folder: Path) -> None:
    """Overwrite the constant that the tokenizer takes the minimum of its token count with.

    Edited as data: loading the graph through the OpenVINO API crashes the interpreter at its exit.
    """
    root = ElementTree.parse(folder / "openvino_tokenizer.xml").getroot()
    layers = {layer.get("id"): layer for layer in root.iter("layer")}
    minimum = next((key for key, layer in layers.items() if layer.get("type") == "Minimum"), None)
    inputs = (layers[edge.get("from-layer")] for edge in root.iter("edge") if edge.get("to-layer") == minimum)
    constant = next((layer.find("data") for layer in inputs if layer.get("type") == "Const"), None)
    if constant is None or constant.get("element_type") != "i32":
        raise DataError(f"tokenizer in {folder} has no token limit where OpenVINO 2026.4 puts it")
    with (folder / "openvino_tokenizer.bin").open("r+b") as weights:
        weights.seek(int(constant.get("offset", "0")))
        weights.write(_NO_LIMIT.to_bytes(4, "little"))


def _write_manifest(folder: Path) -> None:
    files = {}
    for path in sorted(folder.glob("openvino_*")):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[path.name] = {"size": path.stat().st_size, "sha256": digest}
    (folder / MANIFEST).write_text(json.dumps(files, indent=2), encoding="utf-8")
