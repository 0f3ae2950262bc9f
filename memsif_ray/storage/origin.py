"""Which data a run was begun with, so that nobody goes on with other data by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from memsif_ray.config import RunConfig
from memsif_ray.datasets.source import KNOWN_RELEASES, digest, json_files
from memsif_ray.errors import DataError
from memsif_ray.storage.files import read_json, write_json
from memsif_ray.storage.runs import RunFolder, meaning

_FILE = "data.json"


@dataclass(frozen=True, slots=True)
class Origin:
    """The data of a run, beside its inputs and in its manifest.

    Attributes:
        source: Name of the file or folder.
        sha256: Of the file; of a folder, over the digests of its files in name order.
        release: Name of the published release with this digest; None for any other file.
        settings: Digest of where the data is and of all else that decides the run.
    """

    source: str
    sha256: str
    release: str | None
    settings: str


def origin_of(config: RunConfig, path: Path) -> Origin:
    """The data at `path` as it is now.

    Raises:
        ConfigError: When there is nothing to read, which a digest would not refuse.
    """
    json_files(path)
    sha256 = digest(path)
    settings = meaning(config, str(path.resolve()))
    return Origin(path.name, sha256, KNOWN_RELEASES.get(sha256), settings)


def keep_origin(folder: RunFolder, origin: Origin) -> None:
    """Write it down where a later start finds it."""
    write_json(folder.path / _FILE, asdict(origin))


def refuse_changed_data(origin: Origin, runs: Path) -> None:
    """A run that was not ended may go on only with the data that it was begun with.

    The folder of a run is named after the digest of its data, so that changed data would start a run from
    nothing, in silence. A run that has ended stands for itself, and so does one from before this was kept.

    Args:
        origin: What is about to be run.
        runs: Folder of all runs.

    Raises:
        DataError: When a run in `runs` was begun with the same settings and other data at the same place.
    """
    for folder, begun in _unended(runs):
        if begun.settings == origin.settings and begun.sha256 != origin.sha256:
            raise DataError(
                f"{origin.source} has changed since {folder} was begun: SHA-256 {begun.sha256} then, "
                f"{origin.sha256} now. Put the old file back to go on, or remove that folder to start anew"
            )


def _unended(runs: Path) -> Iterator[tuple[Path, Origin]]:
    for file in sorted(runs.glob(f"*/{_FILE}")):
        if not RunFolder(file.parent).ended():
            yield file.parent, Origin(**read_json(file))
