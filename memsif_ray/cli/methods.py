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
    """List what `--methods` may name.

    With a name: that method's paper, its official code, and every deviation from them; a group's one by one.
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

    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption="memsif methods NAME: paper, code, all deviations")
    table.add_column("name", no_wrap=True)
    table.add_column("what", ratio=1)
    table.add_column("deviations", justify="right")
    for one in found:
        table.add_row(one.name, one.what, str(len(one.deviations)))
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
