"""`memsif --help` must not wait for model libraries, and layers must stay layers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HEAVY = {
    "torch",
    "ray",
    "spacy",
    "openvino",
    "openvino_genai",
    "nltk",
    "sentence_transformers",
    "polars",
    "scipy",
}


def loaded_after(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; sys.stdout.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "module", ["memsif_ray.cli", "memsif_ray.config", "memsif_ray.types", "memsif_ray.ports"]
)
def test_importing_loads_no_heavy_library(module):
    assert not loaded_after(f"import {module}") & HEAVY


def test_the_domain_never_loads_ray():
    assert "ray" not in loaded_after(
        "import memsif_ray.methods, memsif_ray.probing, memsif_ray.evaluation.judge"
    )


def test_a_memory_in_a_file_needs_nothing_that_only_the_extra_for_postgresql_brings():
    assert not loaded_after("from memsif_ray import Memory") & {
        "asyncpg",
        "greenlet",
        "sqlalchemy.ext.asyncio",
    }


def test_python_dash_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "memsif_ray", "version"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip()[0].isdigit()


def test_the_import_contracts_hold():
    linter = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("import-linter is not installed")
    done = subprocess.run([linter, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
