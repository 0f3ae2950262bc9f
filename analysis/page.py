"""One report for people: a single HTML file that needs no network, and its tables and figures as files.

```text
FOLDER/report.html      everything, with styles and figures inside
FOLDER/figures/*.svg    each picture
FOLDER/tables/*.csv     each grid, and the same as *.tex for a paper (booktabs)
```
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from memsif_ray.storage.files import write_text

Mark = Literal["", "best", "second"]


@dataclass(frozen=True, slots=True)
class Marked:
    """A table cell that stands out: `best` is bold, `second` underlined, in HTML and LaTeX alike."""

    text: str
    mark: Mark = ""

    def __str__(self) -> str:
        """The text alone, as in CSV."""
        return self.text


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure.

    Attributes:
        name: File name without suffix, of small letters, digits and hyphens.
        title: Heading.
        svg: From [`as_svg`][analysis.figures.style.as_svg]; goes into the page as it is.
        caption: What to see in it.
    """

    name: str
    title: str
    svg: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. The first cell of each row is that row's heading.

    Attributes:
        name: File name without suffix, of small letters, digits and hyphens.
        title: Heading.
        header: One cell per column.
        rows: Cells, as many per row as the header has.
        caption: How to read it.
    """

    name: str
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Marked]]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Something to open on demand: a summary line, and pairs of a term and what there is to say."""

    summary: str
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the page, its paragraphs, then its parts in order."""

    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Picture | Grid | Folded] = ()


def write_page(
    folder: Path, title: str, sections: Sequence[Section], *, facts: Mapping[str, str] | None = None
) -> Path:
    """Write the report, and every table and figure of it as a file; returns the path of `report.html`.

    Args:
        folder: Made when it is missing; files of an earlier report of the same name are replaced.
        title: Of the page.
        sections: In reading order.
        facts: Shown under the title: what was reported on, by what.

    Raises:
        ValueError: When two parts share a name, a name is no plain file name, or a row is of another
            length than its header.
    """
    parts = [part for section in sections for part in section.parts]
    _check(parts)
    for part in parts:
        if isinstance(part, Picture):
            write_text(folder / "figures" / f"{part.name}.svg", part.svg)
        elif isinstance(part, Grid):
            write_text(folder / "tables" / f"{part.name}.csv", as_csv(part))
            write_text(folder / "tables" / f"{part.name}.tex", as_latex(part))
    page = folder / "report.html"
    write_text(page, _template().render(title=title, sections=sections, facts=facts or {}))
    return page


def _check(parts: Sequence[Picture | Grid | Folded]) -> None:
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, Folded):
            continue
        if part.name in seen or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", part.name):
            raise ValueError(f"no name for a file of its own: {part.name!r}")
        seen.add(part.name)
        if isinstance(part, Grid) and any(len(row) != len(part.header) for row in part.rows):
            raise ValueError(f"{part.name}: a row is not as long as the header")


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("analysis"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["picture"] = lambda part: isinstance(part, Picture)
    environment.tests["grid"] = lambda part: isinstance(part, Grid)
    environment.filters["mark"] = lambda cell: cell.mark if isinstance(cell, Marked) else ""
    environment.filters["numeric"] = numeric_columns
    return environment.get_template("page.html.j2")


def numeric_columns(grid: Grid) -> list[bool]:
    """Per column whether it holds numbers, which are set flush right."""
    columns = zip(*grid.rows, strict=True) if grid.rows else [()] * len(grid.header)
    return [n > 0 and all(_is_number(str(cell)) for cell in cells) for n, cells in enumerate(columns)]


def _is_number(text: str) -> bool:
    """Also with something after it, such as an interval; a digest that starts with a digit is none."""
    return re.match(r"[-+−<]?[\d,]*\.?\d(?!\w)|[–-]?$", text) is not None


def as_csv(grid: Grid) -> str:
    """Comma-separated values; cells with commas, quotes or line breaks are quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(grid.header)
    writer.writerows([str(cell) for cell in row] for row in grid.rows)
    return buffer.getvalue()


_LATEX = {
    **{character: f"\\{character}" for character in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "\n": " ",
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))
_COMMANDS = {"best": r"\textbf", "second": r"\underline"}


def as_latex(grid: Grid) -> str:
    """A `table` with caption and label, for a paper that loads the package `booktabs`."""
    columns = "".join("r" if numeric else "l" for numeric in numeric_columns(grid))
    caption = " ".join(filter(None, [f"{grid.title.rstrip('.')}.", grid.caption]))
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_latex(caption)}}}",
            rf"\label{{tab:{grid.name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *_latex_rows([grid.header]),
            r"\midrule",
            *_latex_rows(grid.rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex_rows(rows: Sequence[Sequence[str | Marked]]) -> Iterator[str]:
    for row in rows:
        # The braces keep a cell that opens with a bracket from being read as an option of `\\`.
        yield "{}" + " & ".join(map(_latex_cell, row)) + r" \\"


def _latex_cell(cell: str | Marked) -> str:
    text = _latex(str(cell))
    command = _COMMANDS.get(cell.mark) if isinstance(cell, Marked) else None
    return f"{command}{{{text}}}" if command else text


def _latex(text: str) -> str:
    return _SPECIAL.sub(lambda match: _LATEX[match[0]], text)
