"""The two benchmarks and the bundled sample, as one kind of dataset.

```python
dataset = load(DataConfig(dataset="locomo", path=Path("locomo10.json")))
report = check(Path("some_file.json"))
```
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from memsif_ray.config import DataConfig
from memsif_ray.datasets import locomo, longmemeval, sample
from memsif_ray.datasets.inventory import Inventory
from memsif_ray.datasets.model import Dataset, History, LoadReport, Repair
from memsif_ray.datasets.source import json_files, read_records
from memsif_ray.errors import DataError
from memsif_ray.types import Category, Question

__all__ = ["Dataset", "History", "LoadReport", "Repair", "check", "iter_histories", "load"]

_LAYOUTS = {"locomo": locomo.matches, "longmemeval": longmemeval.matches}


def load(config: DataConfig) -> Dataset:
    """Read a dataset and keep what the configuration selects.

    A conversation whose questions are all left out is left out too.

    Raises:
        ConfigError: When there is nothing at the path, or a selected id is unknown.
        DataError: When the file is not what it says; names the file and the record.
    """
    inventory = Inventory(config.dataset, _path(config))
    kept = list(_selected(inventory.watch(_histories(config)), config))
    inventory.refuse_unknown("conversation", config.conversations)
    inventory.refuse_unknown("question", config.questions)
    return Dataset(
        name=config.dataset,
        conversations=tuple(history.conversation for history in kept),
        questions=tuple(chain.from_iterable(history.questions for history in kept)),
        gold={key: gold for history in kept for key, gold in history.gold.items()},
        strict_evidence={key: ids for history in kept for key, ids in history.strict_evidence.items()},
        report=inventory.report(),
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
    inventory = Inventory(layout, path)
    for _ in inventory.watch(_read(layout, path)):
        pass
    return inventory.report()


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
        wanted = (question for question in history.questions if _is_wanted(question, config))
        questions = tuple(islice(wanted, config.limit))
        if questions or not history.questions:
            kept = [question.question_id for question in questions]
            yield replace(
                history,
                questions=questions,
                gold={name: history.gold[name] for name in kept},
                strict_evidence={name: history.strict_evidence[name] for name in kept},
            )


def _is_wanted(question: Question, config: DataConfig) -> bool:
    if question.category is Category.ADVERSARIAL and not config.adversarial:
        return False
    return not config.questions or question.question_id in config.questions
