"""A sheet of answers for people to label, without a word on which system gave them.

The sheet is a CSV file; which answer is whose is kept in a key file beside it, to be withheld from those who
label. Everything in a sheet was written by models or users, so no cell may start a formula.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.questions import ADVERSARIAL, scan
from analysis.report.study import read_runs
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.schemas import ANSWERS, CONVERSATIONS
from memsif_ray.storage.files import read_json, write_json

COLUMNS = ("id", "question", "reference", "answer", "label")
_CORRECT = frozenset({"correct", "right", "yes", "true", "c", "1"})
_WRONG = frozenset({"wrong", "incorrect", "no", "false", "w", "0"})
_STARTS_FORMULA = frozenset("=+-@\t\r")


@dataclass(frozen=True, slots=True)
class Drawn:
    """One sampled answer: what the key says about it.

    Attributes:
        answer_id: What the sheet calls it; tells nothing.
        folder: Name of the run folder.
        label: What sets its run apart from others that asked the same method; "" where it is the only one.
    """

    answer_id: str
    dataset: str
    method: str
    folder: str
    run: int
    question_id: str
    label: str = ""

    @property
    def system(self) -> str:
        """The method as a report on the same runs names it: two settings of one method are two systems."""
        return f"{self.method} [{self.label}]" if self.label else self.method


@dataclass(frozen=True, slots=True)
class Sheet:
    """Sampled answers in the order of the sheet, with the texts to show by id."""

    drawn: tuple[Drawn, ...]
    texts: Mapping[str, Mapping[str, str]]


def draw(runs: Sequence[Path], *, per_cell: int, seed: int) -> Sheet:
    """Sample answers evenly: so many of every system and dataset, or all where there are fewer.

    A method in two runs, say of two settings, is two systems. Verdicts play no part in the draw (MemSIF,
    Appendix D.1). Failed answers and questions to abstain from, which have no reference, are left out. The
    draw is by hash, so it is the same on every machine.

    Args:
        runs: Folders of finished runs.
        per_cell: Answers per system and dataset.
        seed: Of the draw.
    """
    cells: defaultdict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _labelled(runs):
        cells[row["dataset"], row["method"], row["label"]].append(row)
    chosen = [row for cell in cells.values() for row in _shuffled(cell, ("draw", seed))[:per_cell]]
    mixed = _shuffled(chosen, ("order", seed))
    width = len(str(len(mixed)))
    named = {f"a{number:0{width}}": row for number, row in enumerate(mixed, start=1)}
    about = ("dataset", "method", "folder", "run", "question_id", "label")
    return Sheet(
        tuple(Drawn(name, **{key: row[key] for key in about}) for name, row in named.items()),
        {name: {key: row[key] for key in COLUMNS[1:4]} for name, row in named.items()},
    )


def _labelled(runs: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Answers of all runs, each with the label of its run where several of them asked its method."""
    answers = [(run.label, _answers(run.path)) for run in read_runs(runs)]
    having = Counter(of for _, rows in answers for of in {(row["dataset"], row["method"]) for row in rows})
    for label, rows in answers:
        for row in rows:
            yield {**row, "label": label if having[row["dataset"], row["method"]] > 1 else ""}


def _answers(run: Path) -> list[dict[str, Any]]:
    tables = run / "tables"
    datasets = scan(tables / "conversations.parquet", CONVERSATIONS).select("conversation_id", "dataset")
    return (
        scan(tables / "answers.parquet", ANSWERS)
        .filter(pl.col("answer").is_not_null() & ~ADVERSARIAL)
        .join(datasets, on="conversation_id")
        .select(
            *("dataset", "method", "run", "question_id", "question", "answer"),
            reference="gold_answer",
            folder=pl.lit(run.name),
        )
        .collect()
        .to_dicts()
    )


def _shuffled(rows: Iterable[dict[str, Any]], salt: tuple[str, int]) -> list[dict[str, Any]]:
    def rank(row: dict[str, Any]) -> bytes:
        place = (row["dataset"], row["method"], row["folder"], row["run"], row["question_id"])
        return hashlib.sha256(repr((*salt, *place)).encode()).digest()

    return sorted(rows, key=rank)


def key_file(sheet: Path) -> Path:
    """Where the key of a sheet is."""
    return sheet.with_suffix(".key.json")


def write_sheet(path: Path, sheet: Sheet) -> None:
    """Write the sheet, and its key beside it.

    Raises:
        ConfigError: When either is there already: somebody may have written labels into it.
    """
    for file in (path, key_file(path)):
        if file.exists():
            raise ConfigError(f"{file} is there already: move it away, or choose another name")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8-sig", newline="") as stream:  # the mark tells Excel that it is UTF-8
        rows = csv.writer(stream, quoting=csv.QUOTE_ALL)
        rows.writerow(COLUMNS)
        for one in sheet.drawn:
            texts = sheet.texts[one.answer_id]
            rows.writerow([one.answer_id, *(as_text(texts[name]) for name in COLUMNS[1:4]), ""])
    write_json(key_file(path), [asdict(one) for one in sheet.drawn])


def as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if {cell[:1], cell.lstrip()[:1]} & _STARTS_FORMULA else cell


def read_key(path: Path) -> tuple[Drawn, ...]:
    """What a key file says.

    Raises:
        ConfigError: When there is none.
        DataError: When it is not what `write_sheet` wrote.
    """
    try:
        rows = read_json(path)
        if rows is None:
            raise ConfigError(f"no key at {path}: name it with --key")
        return tuple(Drawn(**row) for row in rows)
    except (json.JSONDecodeError, TypeError) as exc:
        raise DataError(f"{path}: not the key of a sheet ({exc})") from exc


def read_labels(path: Path) -> dict[str, bool | None]:
    """Labels by answer id, None where a row has none yet; commas or semicolons between the columns.

    Raises:
        ConfigError: When there is no such file.
        DataError: When it is not UTF-8; else naming the line with an unknown label or with an id for a second
            time.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigError(f"cannot read labels {path}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path}: not UTF-8; save it as “CSV UTF-8”") from exc
    header = text.partition("\n")[0]
    rows = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=";" if header.count(";") > header.count(",") else ","
    )
    if not {"id", "label"} <= set(rows.fieldnames or ()):
        raise DataError(f"{path}: needs the columns id and label")
    labels: dict[str, bool | None] = {}
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        if row["id"] in labels:
            raise DataError(f"{where}: {row['id']} is labelled twice")
        labels[row["id"]] = _label(row["label"] or "", where)
    return labels


def _label(text: str, where: str) -> bool | None:
    word = text.strip().casefold()
    if word in _CORRECT or word in _WRONG:
        return word in _CORRECT
    if word:
        raise DataError(f"{where}: label {text!r} is neither correct nor wrong")
    return None
