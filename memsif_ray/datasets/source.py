"""Reading files that others wrote: one record at a time, clean text, and one error that names the place."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from memsif_ray.errors import ConfigError, DataError
from memsif_ray.text import clean

KNOWN_RELEASES = {
    "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": "LoCoMo, locomo10.json",
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": (
        "LongMemEval-S, longmemeval_s_cleaned.json"
    ),
}
"""SHA-256 of published files."""

_NOT_SPACE = re.compile(r"\S|\Z")
_SEPARATOR = re.compile(r"\s*(?:,\s*(?!\])|(?=\]))")
_END = re.compile(r"\]\s*\Z")

T = TypeVar("T", bound=BaseModel)


class Lenient(BaseModel):
    """A record of somebody else's file: keys we do not use are ignored, those we use are checked."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _as_clean_text(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _as_answer(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return clean(value).strip() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_as_clean_text)]
"""Text made valid Unicode before it is checked, so that one bad character refuses no file."""
Answer = Annotated[str, BeforeValidator(_as_answer)]
"""An answer as stripped text; both benchmarks hold some as numbers."""


def validated(model: type[T], data: Any, where: str) -> T:
    """`data` as `model`.

    Raises:
        DataError: Naming `where` and the first thing that is wrong there.
    """
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(map(str, first["loc"])) or "record"
        raise DataError(f"{where}: {place}: {first['msg']}") from exc


def read_records(path: Path) -> Iterator[Any]:
    """Elements of a file's top-level JSON list one by one, or its single top-level value.

    Elements are decoded lazily: of a 270 MB file, only the text and the current record are held.

    Raises:
        ConfigError: When there is no such file.
        DataError: When it is not JSON in UTF-8.
    """
    text = _read_text(path)
    position = _after_space(text, 0)
    if not text.startswith("[", position):
        record, position = _decode(text, position, path)
        yield record
        if text[position:].strip():
            raise DataError(f"{path}: more than one JSON value (character {position})")
        return
    position = _after_space(text, position + 1)
    while not _END.match(text, position):
        record, position = _decode(text, position, path)
        yield record
        position = _after_separator(text, position, path)


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, over the digests of its JSON files in name order."""
    if path.is_dir():
        inner = "".join(digest(file) for file in json_files(path))
        return hashlib.sha256(inner.encode()).hexdigest()
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def json_files(path: Path) -> list[Path]:
    """The file itself, or the JSON files of a folder in name order.

    Raises:
        ConfigError: When there is nothing to read.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise ConfigError(f"no data at {path}: give a JSON file, or a folder of JSON files")
    return files


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigError(f"cannot read data file {path}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path}: not UTF-8 text: {exc}") from exc


def _decode(text: str, position: int, path: Path) -> tuple[Any, int]:
    try:
        return json.JSONDecoder().raw_decode(text, position)
    except json.JSONDecodeError as exc:
        raise DataError(f"{path}: not JSON: {exc}") from exc


def _after_space(text: str, position: int) -> int:
    found = _NOT_SPACE.search(text, position)
    return found.start() if found else len(text)


def _after_separator(text: str, position: int, path: Path) -> int:
    found = _SEPARATOR.match(text, position)
    if found is None:
        raise DataError(f"{path}: the list of records breaks off at character {position}")
    return found.end()
