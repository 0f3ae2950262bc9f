"""The folder of a job that is no benchmark run: any named tasks, their tables and their model calls.

```text
<path>/
    tasks/<task>/           tables of one task, sealed
    ledgers/<task>.jsonl    every model call of it
    tables/<table>.parquet  all tasks together, in their order
    manifest.json           written last: the tables are whole
```
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memsif_ray.storage.runs import safe_name
from memsif_ray.storage.sealed import SealedFolder


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Paths of one job. Picklable and small."""

    path: Path

    def task(self, name: str) -> SealedFolder:
        """Tables of one task."""
        folder = self.path / "tasks" / safe_name(name)
        return SealedFolder(folder, folder / "task.json")

    def ledger(self, name: str) -> Path:
        """Journal of one task's model calls."""
        return self.path / "ledgers" / f"{safe_name(name)}.jsonl"

    @property
    def tables(self) -> SealedFolder:
        """All tasks together; sealed by the manifest."""
        return SealedFolder(self.path / "tables", self.path / "manifest.json")
