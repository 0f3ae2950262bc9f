"""The run folder: what a run means decides where it lands, and what is in it says what is left to do.

```text
<output>/<dataset>-<fingerprint>/
    config.yaml                                  what was asked for, readable
    data.json                                    which data it was begun with
    inputs/<conversation>/                       messages, questions, references
    memories/<method>/<conversation>/            what building made
    answers/<method>/<conversation>/<run>/       what asking made
    ledgers/<method>/<conversation>/<name>.jsonl every model call
    tables/<table>.parquet                       all units together, in a fixed order
    manifest.json                                written last: the tables are whole
```

Every folder is sealed by a mark written after its tables, so a kill at any moment leaves either a whole
folder or one that does not count.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from memsif_ray import prompts
from memsif_ray.config import RunConfig, fingerprint
from memsif_ray.packing.router import load_router
from memsif_ray.storage.files import write_text
from memsif_ray.storage.sealed import SealedFolder

LOGIC_VERSION = 3
"""Part of every fingerprint; raised by a change of code that changes results."""

_PLAIN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")


def safe_name(identifier: str) -> str:
    """A file name for any id: short, readable, and different for different ids on any file system.

    Ids of lower-case letters, digits, `_` and `-` stand for themselves. Every other gets what is readable
    of it, `~`, and a digest; `~` keeps the two kinds apart.
    """
    if _PLAIN_ID.fullmatch(identifier):
        return identifier
    readable = _NOT_PLAIN.sub("-", identifier.casefold()).strip("-")[:40]
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"{readable}~{digest}"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run. Picklable and small: workers get this, never its contents."""

    path: Path

    def inputs(self, conversation_id: str) -> SealedFolder:
        """Tables of one conversation as the dataset gave it."""
        return _unit(self.path / "inputs" / safe_name(conversation_id))

    def memory(self, method: str, conversation_id: str) -> SealedFolder:
        """Tables of one method's memory of one conversation, before any question."""
        return _unit(self.path / "memories" / safe_name(method) / safe_name(conversation_id))

    def answers(self, method: str, conversation_id: str, run: int) -> SealedFolder:
        """Tables of one independent run of the questions about one conversation."""
        folder = self.path / "answers" / safe_name(method) / safe_name(conversation_id)
        return _unit(folder / str(run))

    def ledger(self, method: str, conversation_id: str, run: int | None) -> Path:
        """Journal of the model calls that built (`run` None) or asked."""
        name = "build" if run is None else f"run-{run}"
        return self.path / "ledgers" / safe_name(method) / safe_name(conversation_id) / f"{name}.jsonl"

    @property
    def tables(self) -> SealedFolder:
        """All units together; sealed by the manifest."""
        return SealedFolder(self.path / "tables", self.path / "manifest.json")

    def ended(self) -> bool:
        """Whether the tables are whole and no unit is left to do. Answers may be missing all the same."""
        said = self.tables.about()
        return said is not None and bool(
            said.get("ended", said["complete"])
        )  # manifests were once without it


def run_folder(config: RunConfig, data_sha256: str) -> RunFolder:
    """Where this run belongs: the same meaning gives the same folder, whatever the machine or speed."""
    name = f"{config.data.dataset}-{meaning(config, data_sha256)}"
    return RunFolder(config.execution.output.resolve() / name)


def meaning(config: RunConfig, data: str) -> str:
    """Digest of all that decides the results of a run; `data` says with which data, e.g. by its digest."""
    used = prompts.fingerprints(_prompt_folders(config))
    return fingerprint(_plain_meaning(config.identity()), used, data, LOGIC_VERSION)


def write_config(folder: RunFolder, config: RunConfig) -> None:
    """Keep what was asked for beside the results."""
    text = yaml.safe_dump(config.model_dump(mode="json"), allow_unicode=True, sort_keys=False)
    write_text(folder.path / "config.yaml", text)


def _prompt_folders(config: RunConfig) -> set[str]:
    """Those whose prompts the run may use: of methods, of packing when it generates, of the other judges."""
    used = {method.partition(":")[0] for method in config.methods}
    if config.packing.policy != "retain":
        used.add("packing")
    if config.judging.profile != "memsif":
        used.add("judges")
    return used


def _plain_meaning(identity: dict[str, Any]) -> dict[str, Any]:
    """Digests of the data and the router stand for their paths, which may differ from machine to machine."""
    meaning = {**identity, "data": {**identity["data"], "path": None}}
    router = identity.get("packing", {}).get("router")
    if router is not None:
        content = load_router(Path(router)).model_dump(mode="json")
        meaning["packing"] = {**identity["packing"], "router": fingerprint(content)}
    return meaning


def _unit(path: Path) -> SealedFolder:
    return SealedFolder(path, path / "unit.json")
