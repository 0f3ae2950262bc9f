"""What a compared system is, and in what it differs from its paper: read from the docstring of its module.

```text
One sentence that says what it is.

Paper:
    Authors, title, year.
Official code:
    Where it is, under which licence, and what of it was read.
Variants:
    - system:variant: one sentence.
Deviations:
    - One item each, with the reason; or "None."
```

So what a reader of the code sees and what `memsif methods` prints are one text. `Variants` may be absent.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

SECTIONS = ("Paper", "Official code", "Variants", "Deviations")

_SECTION = re.compile(rf"({'|'.join(SECTIONS)}):(?:\s+(.*))?", re.I)
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True)
class About:
    """One compared system.

    Attributes:
        name: As `--methods` takes it.
        what: What it is, in a sentence.
        paper: Where it was published.
        official_code: What became of the authors' own code.
        deviations: In what this implementation differs from the paper and the code, one item each.
    """

    name: str
    what: str
    paper: str
    official_code: str
    deviations: tuple[str, ...]


def about(name: str, maker: Callable[..., Any]) -> About:
    """What the module that makes a method says of it.

    Args:
        name: Of the method; one listed under `Variants` is described by its entry there.
        maker: The method's class, a function that makes it, or a `partial` of either.
    """
    made_by = maker.func if isinstance(maker, partial) else maker
    text = inspect.cleandoc(sys.modules[made_by.__module__].__doc__ or "")
    sections = _sections(text.splitlines())
    variants = dict(item.partition(": ")[::2] for item in _items(sections.get("variants", ())))
    deviations = _items(sections.get("deviations", ()))
    return About(
        name,
        variants.get(name, _first_paragraph(text)),
        " ".join(sections.get("paper", ())),
        " ".join(sections.get("official code", ())),
        () if deviations == ["None."] else tuple(deviations),
    )


def _sections(lines: Iterable[str]) -> Mapping[str, list[str]]:
    """Section name in lower case → its lines without indentation."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        header = _SECTION.fullmatch(line)
        if header:
            current = found[header[1].casefold()] = [header[2]] if header[2] else []
        elif line.strip():
            current.append(line.strip())
    return found


def _items(lines: Iterable[str]) -> list[str]:
    """Items of a list; a line without a bullet goes on with the item before it."""
    items: list[str] = []
    for line in lines:
        bullet = _BULLET.match(line)
        if bullet or not items:
            items.append(line[bullet.end() :] if bullet else line)
        else:
            items[-1] += f" {line}"
    return items


def _first_paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())
