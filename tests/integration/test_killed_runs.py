"""A run that is killed again and again ends like one that was left alone (MC-27)."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from memsif_ray.cli.failures import INTERRUPTED
from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.storage.runs import RunFolder
from tests.integration.scenario import CONVERSATIONS, assert_same_tables, marker, settings

pytestmark = pytest.mark.ray

METHODS, IN_FLIGHT = 2, 4
ALL_UNITS = CONVERSATIONS * METHODS * 2


def sealed_units(folder: Path) -> set[Path]:
    return {mark.parent for stage in ("memories", "answers") for mark in folder.glob(f"{stage}/**/unit.json")}


def inside_a_write(folder: Path) -> bool:
    """Tables without their mark, or a draft: some unit is being written right now, after three were."""
    written = {table.parent for table in folder.glob("answers/**/*.parquet")}
    drafts = next(folder.glob("answers/**/.*.draft"), None)
    return len(sealed_units(folder)) > 3 and (drafts is not None or bool(written - sealed_units(folder)))


KILL_POINTS: dict[str, Callable[[Path, int], bool]] = {
    "before the first write": lambda folder, calls: calls > 0,
    "after three units": lambda folder, calls: len(sealed_units(folder)) >= 3,
    "inside the write of a later one": lambda folder, calls: inside_a_write(folder),
    "after the last unit, before the manifest": lambda folder, calls: len(sealed_units(folder)) == ALL_UNITS,
    "during the merge": lambda folder, calls: any(folder.glob("tables/*")),
}


def start(config: Path, root: Path, cache: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.benchmark", str(config)],
        cwd=root,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_when(due: Callable[[], bool], child: subprocess.Popen) -> None:
    """SIGKILL our own child at the first moment that `due` says so."""
    while child.poll() is None and not due():
        time.sleep(0.001)
    assert child.poll() is None, f"ended before it could be killed: {child.stderr.read()}"
    child.send_signal(signal.SIGKILL)
    child.wait()


def test_killed_at_five_points_then_finished_equals_undisturbed(ten_conversations, tmp_path, pytestconfig):
    root = pytestconfig.rootpath
    with scripted_server(latency_s=0.01) as server:

        def configured(name: str) -> Path:
            path = tmp_path / f"{name}.yaml"
            path.write_text(yaml.safe_dump(settings(ten_conversations, tmp_path / name, server.base_url)))
            return path

        clean = start(configured("clean"), root, tmp_path / "cache")
        assert clean.wait() == 0, clean.stderr.read()
        undisturbed = Counter(map(str, server.bodies))

        config, seen = configured("killed"), len(server.bodies)
        for point, due in KILL_POINTS.items():
            finished = whole_conversations(tmp_path / "killed")
            begun = len(server.bodies)
            child = start(config, root, tmp_path / "cache")
            kill_when(
                lambda due=due, begun=begun: due(run_folder(tmp_path / "killed"), len(server.bodies) - begun),
                child,
            )
            for body in map(str, server.bodies[begun:]):
                assert not any(place in body for place in finished), f"{point}: asked again"
        begun = len(server.bodies)
        last = start(config, root, tmp_path / "cache")
        assert last.wait() == 0, last.stderr.read()
        assert len(server.bodies) == begun, "every unit was finished, so no model was called"
        repeated = Counter(map(str, server.bodies[seen:])) - undisturbed
    assert repeated.total() <= len(KILL_POINTS) * 2 * IN_FLIGHT * 2, "only calls in flight at a kill repeat"
    assert not undisturbed - Counter(map(str, server.bodies[seen:]))
    killed, left_alone = (RunFolder(run_folder(tmp_path / name)) for name in ("killed", "clean"))
    assert_same_tables(killed, left_alone)
    assert not list(killed.path.glob("**/.*.draft"))


def test_sigterm_ends_a_run_as_ctrl_c_does_and_it_goes_on(ten_conversations, tmp_path, pytestconfig):
    root, output = pytestconfig.rootpath, tmp_path / "run"
    with scripted_server(latency_s=0.01) as server:
        config = tmp_path / "run.yaml"
        config.write_text(yaml.safe_dump(settings(ten_conversations, output, server.base_url)))
        child = start(config, root, tmp_path / "cache")
        while child.poll() is None and len(sealed_units(run_folder(output))) < 3:
            time.sleep(0.001)
        child.send_signal(signal.SIGTERM)
        assert child.wait() == INTERRUPTED, child.stderr.read()
        said = child.stderr.read()
        assert "interrupted; the same job goes on" in said and "Traceback" not in said
        last = start(config, root, tmp_path / "cache")
        assert last.wait() == 0, last.stderr.read()
    assert len(sealed_units(run_folder(output))) == ALL_UNITS


def run_folder(output: Path) -> Path:
    return next(output.glob("locomo-*"), output / "none yet")


def whole_conversations(output: Path) -> set[str]:
    """Markers of the conversations whose every unit is finished."""
    units = Counter(
        unit.parent.name if unit.name.isdigit() else unit.name for unit in sealed_units(run_folder(output))
    )
    return {marker(int(name.removeprefix("conv-"))) for name, count in units.items() if count == METHODS * 2}
