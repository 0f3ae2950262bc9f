"""Find the run that a person means."""

from __future__ import annotations

from pathlib import Path

from memsif_ray.errors import ConfigError
from memsif_ray.storage.runs import RunFolder

LATEST = "latest"
_SHOWN = 10


def find_run(name: str, root: Path) -> RunFolder:
    """The run called `name`: a folder, `latest`, or how exactly one folder in `root` begins.

    Raises:
        ConfigError: When there is none, there are several, or it was never brought to its end.
    """
    if Path(name).is_dir():
        return _with_tables(Path(name))
    known = sorted((p for p in root.glob("*") if p.is_dir()), key=_age)
    if name == LATEST:
        finished = [path for path in known if RunFolder(path).tables.about() is not None]
        if not finished:
            raise ConfigError(f"no run in {root} has tables yet: start one with `memsif run`")
        return RunFolder(finished[-1].resolve())
    fitting = [path for path in known if path.name.startswith(name)]
    if len(fitting) != 1:
        offered = ", ".join(path.name for path in (fitting or known)[-_SHOWN:]) or "nothing"
        raise ConfigError(f"{name!r} names {len(fitting) or 'no'} runs in {root}; there is {offered}")
    return _with_tables(fitting[0])


def _with_tables(path: Path) -> RunFolder:
    folder = RunFolder(path.resolve())
    if folder.tables.about() is None:
        raise ConfigError(
            f"{path} has no tables yet: bring it to its end with `memsif run {path / 'config.yaml'}`"
        )
    return folder


def _age(path: Path) -> float:
    manifest = path / "manifest.json"
    return (manifest if manifest.exists() else path).stat().st_mtime
