"""From errors to exit codes: one line on stderr says what is wrong, the code says who must act."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from memsif_ray.cli.output import note
from memsif_ray.errors import MemsifError, ServiceError

SOME_FAILED = 1
WRONG_INPUT = 2
NO_SERVICE = 3
INTERRUPTED = 130

EPILOG = (
    "Exit codes: 0 all done; 1 a unit or question failed, start again to retry it; 2 the configuration or "
    "the data is wrong; 3 a service is not available; 130 interrupted."
)


class CommandGroup(TyperGroup):
    """Turns the errors that this project raises on purpose into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            Exit: With the code of the error.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as exc:
            note("interrupted; what is finished is kept, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from exc
        except MemsifError as exc:
            if ctx.params.get("debug"):
                raise
            note(f"{type(exc).__name__}: {exc}")
            raise typer.Exit(NO_SERVICE if isinstance(exc, ServiceError) else WRONG_INPUT) from exc
