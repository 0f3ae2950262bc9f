"""A group of commands of which one need not be named."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class RunByDefault(TyperGroup):
    """`group ARGUMENT …` means `group run ARGUMENT …` unless the first argument names a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name in where it is left out."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        return super().parse_args(ctx, args)
