"""The two benchmarks and the bundled sample, as one kind of dataset.

```python
dataset = load(DataConfig(dataset="locomo", path=Path("locomo10.json")))
report = check(Path("some_file.json"))
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from memsif_ray.config import DataConfig
from memsif_ray.datasets import locomo, longmemeval, sample
from memsif_ray.datasets.model import Dataset, History, LoadReport, Repair, count_history
from memsif_ray.datasets.source import KNOWN_RELEASES, digest, json_files, read_records
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.types import Category

__all__ = ["Dataset", "History", "LoadReport", "Repair", "check", "iter_histories", "load"]

_SHOWN_IDS = 50
_LAYOUTS = {"locomo": locomo.matches, "longmemeval": longmemeval.matches}


class _Inventory:
    """Counts what passes by, so that one reading of a file serves report, checks and selection."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.categories: Counter[Category] = Counter()
        self.repairs: list[Repair] = []
        self.conversation_ids: dict[str, None] = {}
        self.question_ids: dict[str, None] = {}

    def watch(self, histories: Iterator[History]) -> Iterator[History]:
        for history in histories:
            conversation_id = history.conversation.conversation_id
            if conversation_id in self.conversation_ids:
                raise DataError(f"conversation {conversation_id} occurs more than once")
            self.conversation_ids[conversation_id] = None
            self.question_ids.update(dict.fromkeys(history.gold))
            self.counts.update(count_history(history))
            self.categories.update(question.category for question in history.questions)
            self.repairs.extend(history.repairs)
            yield history

    def report(self, dataset: str, path: Path) -> LoadReport:
        sha256 = digest(path)
        return LoadReport(
            dataset=dataset,
            source=path.name,
            sha256=sha256,
            release=KNOWN_RELEASES.get(sha256),
            counts=dict(self.counts),
            categories={category: self.categories[category] for category in Category},
            repairs=tuple(self.repairs),
        )

    def refuse_unknown(self, config: DataConfig) -> None:
        for kind, wanted, known in (
            ("conversation", config.conversations, self.conversation_ids),
            ("question", config.questions, self.question_ids),
        ):
            unknown = [name for name in wanted if name not in known]
            if unknown:
                raise ConfigError(f"unknown {kind} {', '.join(unknown)}; known are {_listed(list(known))}")


def load(config: DataConfig) -> Dataset:
    """Read a dataset and keep what the configuration selects.

    A conversation whose questions are all left out is left out too.

    Raises:
        ConfigError: When there is nothing at the path, or a selected id is unknown.
        DataError: When the file is not what it says; names the file and the record.
    """
    inventory = _Inventory()
    kept = list(_selected(inventory.watch(_histories(config)), config))
    inventory.refuse_unknown(config)
    return Dataset(
        name=config.dataset,
        conversations=tuple(history.conversation for history in kept),
        questions=tuple(chain.from_iterable(history.questions for history in kept)),
        gold={key: gold for history in kept for key, gold in history.gold.items()},
        strict_evidence={key: ids for history in kept for key, ids in history.strict_evidence.items()},
        report=inventory.report(config.dataset, _path(config)),
    )


def iter_histories(config: DataConfig) -> Iterator[History]:
    """The selected histories one at a time, for files whose conversations should not all be held.

    Raises:
        ConfigError: When there is nothing at the path.
        DataError: When the file is not what it says; names the file and the record.
    """
    yield from _selected(_histories(config), config)


def check(path: Path = sample.FOLDER) -> LoadReport:
    """Read any file or folder, say which dataset it is and what is in it.

    Raises:
        ConfigError: When there is nothing at the path.
        DataError: When it is neither benchmark's; names the file and the record.
    """
    layout = _layout(path)
    inventory = _Inventory()
    for _ in inventory.watch(_read(layout, path)):
        pass
    return inventory.report(layout, path)


def _histories(config: DataConfig) -> Iterator[History]:
    path = _path(config)
    layout = _layout(path)
    if layout != config.dataset:
        raise DataError(f"{path}, record 0: this is {layout} data, not {config.dataset}")
    return _read(layout, path, point_in_time=config.point_in_time)


def _path(config: DataConfig) -> Path:
    return config.path or sample.FOLDER


def _read(layout: str, path: Path, *, point_in_time: bool = False) -> Iterator[History]:
    if layout == "sample":
        return sample.histories()
    if layout == "locomo":
        return locomo.histories(path)
    return longmemeval.histories(path, point_in_time=point_in_time)


def _layout(path: Path) -> str:
    if path == sample.FOLDER:
        return "sample"
    file = json_files(path)[0]
    first = next(read_records(file), None)
    for layout, matches in _LAYOUTS.items():
        if matches(first):
            return layout
    raise DataError(f"{file}, record 0: neither a LoCoMo conversation nor a LongMemEval question")


def _selected(histories: Iterator[History], config: DataConfig) -> Iterator[History]:
    for history in histories:
        if config.conversations and history.conversation.conversation_id not in config.conversations:
            continue
        questions = tuple(
            question
            for question in history.questions
            if (config.adversarial or question.category is not Category.ADVERSARIAL)
            and (not config.questions or question.question_id in config.questions)
        )[: config.limit]
        if questions or not history.questions:
            yield replace(
                history,
                questions=questions,
                gold={question.question_id: history.gold[question.question_id] for question in questions},
                strict_evidence={
                    question.question_id: history.strict_evidence[question.question_id]
                    for question in questions
                },
            )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_IDS} more" if len(names) > _SHOWN_IDS else ""
    return ", ".join(names[:_SHOWN_IDS]) + more
