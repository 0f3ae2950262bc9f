"""What a worker process is built from: small, picklable, and free of secrets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ray

from memsif_ray.config import RunConfig
from memsif_ray.runtime.progress import Tally
from memsif_ray.runtime.toolbox import Toolbox
from memsif_ray.runtime.work import Worker
from memsif_ray.storage.runs import RunFolder


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """How a process gets its models.

    Attributes:
        config: With every endpoint's address filled in.
        board: Name of the actor that counts. (A handle here would make restarts fail: Ray keeps handles
            given to a constructor in the object store.)
        vectors: Folder of the embedding cache on each machine's own disk.
    """

    config: RunConfig
    board: str
    vectors: Path

    def toolbox(self) -> Toolbox:
        """Connections for this process."""
        tally = Tally(ray.get_actor(self.board).add.remote)
        return Toolbox(self.config, tally, vectors=self.vectors)


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """Everything a benchmark's worker needs to know.

    Attributes:
        tools: How it gets its models.
        folder: The run's folder, on storage that every node sees.
    """

    tools: ToolSpec
    folder: RunFolder

    @property
    def config(self) -> RunConfig:
        """The run's, with every endpoint's address filled in."""
        return self.tools.config

    def worker(self) -> Worker:
        """A worker with tools of its own, for this process."""
        return Worker(self.config, self.folder, make_toolbox=self.tools.toolbox)
