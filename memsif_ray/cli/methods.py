"""`memsif methods`: the compared systems, and in what each differs from its paper."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.output import AsJson, print_result

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from memsif_ray.methods.about import About


def methods(
    name: Annotated[
        str | None,
        typer.Argument(help="A method or a group: tell everything about it.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what `--methods` may name: each system, its paper, its official code, and our deviations.

    With a name, every deviation of that method (or of every method of that group) is printed.
    """
    from memsif_ray.methods import METHODS, expand
    from memsif_ray.methods.about import about

    chosen = tuple(METHODS) if name is None else expand((name,), METHODS)
    found = [about(one, METHODS[one]) for one in chosen]
    shown = _listed(found) if name is None else _told(found)
    print_result([asdict(one) for one in found], shown, as_json=as_json)


def _listed(found: list[About]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption="Deviations: memsif methods NAME")
    for column in ("name", "what", "paper", "official code"):
        table.add_column(column, ratio=None if column == "name" else 1, no_wrap=column == "name")
    table.add_column("deviations", justify="right")
    above = ("", "")
    for one in found:
        said = (one.paper, one.official_code)
        shown = ("as above", "as above") if said == above else said
        table.add_row(one.name, one.what, *shown, str(len(one.deviations)))
        above = said
    return table


def _told(found: list[About]) -> Group:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Text | Padding] = []
    for one in found:
        parts += [
            Text(one.name, style="bold"),
            Text(one.what),
            Text(f"Paper: {one.paper}"),
            Text(f"Official code: {one.official_code}"),
            Text(f"Deviations: {len(one.deviations) or 'none'}"),
            *(Padding(f"- {item}", (0, 0, 0, 2)) for item in one.deviations),
            Text(),
        ]
    return Group(*parts)
