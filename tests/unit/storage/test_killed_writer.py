"""A writer killed in the middle of a write, for real: what it leaves behind counts for nobody."""

import signal
import subprocess
import sys

from memsif_ray.schemas import DECISIONS
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode
from memsif_ray.types import Decision

WRITER = """
import os, signal, sys
from pathlib import Path
from memsif_ray.schemas import DECISIONS
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode
from memsif_ray.types import Decision

def parts():
    rows = [Decision("boundary", str(n), "append", "rule") for n in range(70_000)]
    yield encode(rows, DECISIONS, method="m", conversation_id="c", run=None)
    yield encode(rows, DECISIONS, method="m", conversation_id="c", run=None)
    os.kill(os.getpid(), signal.SIGKILL)

RunFolder(Path(sys.argv[1])).memory("m", "c").write({"decisions": parts()}, {})
"""


def test_a_killed_writer_leaves_a_folder_that_does_not_count(tmp_path):
    killed = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    folder = RunFolder(tmp_path).memory("m", "c")
    left = list(folder.path.iterdir())
    assert left
    assert all(path.name.startswith(".") and path.suffix == ".draft" for path in left)
    assert list(tmp_path.glob("**/*.parquet")) == []
    assert folder.about() is None
    folder.write({"decisions": [encode([], DECISIONS)]}, {})
    assert [path.name for path in sorted(folder.path.iterdir())] == ["decisions.parquet", "unit.json"]
    assert folder.read("decisions").num_rows == 0


def test_a_value_survives_next_to_the_killed_write(tmp_path):
    other = RunFolder(tmp_path).memory("m", "other")
    value = Decision("boundary", "1", "append", "rule")
    other.write({"decisions": [encode([value], DECISIONS, method="m", conversation_id="o", run=None)]}, {})
    subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], check=False)
    assert other.read("decisions").num_rows == 1
