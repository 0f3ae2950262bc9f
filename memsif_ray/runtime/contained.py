"""The boundary around a compared system: what its code raises costs its own work and nobody else's."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memsif_ray.errors import MemsifError, MethodFault

LOGGER = logging.getLogger(__name__)


@contextmanager
def contained(method: str) -> Iterator[None]:
    """Put around calls of a method's own code, and around nothing of the harness, whose bugs stop the run.

    Raises:
        MethodFault: For every error that was not raised on purpose; its traceback is in the log.
    """
    try:
        yield
    except MemsifError:
        raise
    # The one place that takes every error of a method: some are other people's packages, and a conversation
    # that one of them cannot take must not end a run of days. Cancellation and Ctrl-C are no `Exception`.
    except Exception as error:
        LOGGER.exception("%s raised", method)
        raise MethodFault(f"{type(error).__name__}: {error} ({_place(error)})") from error


def _place(error: Exception) -> str:
    *_, frame = traceback.extract_tb(error.__traceback__)
    return f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
