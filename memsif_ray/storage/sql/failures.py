"""What a driver's error means for a caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from memsif_ray.errors import ConfigError, Conflict, MemsifError, ServiceBusy

# Of PostgreSQL's codes: no such user, wrong password, no such database, not allowed.
_FOR_A_PERSON = ("28000", "28P01", "3D000", "42501")


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of a driver into ours. No message repeats a statement, a parameter or a URL.

    Raises:
        Conflict: When something unique is taken.
        ConfigError: When the database refuses the user, or is no database.
        ServiceBusy: When it does not answer, is locked or full.
    """
    try:
        yield
    except exc.IntegrityError as error:
        raise Conflict("it is there already, or what it belongs to is gone") from error
    except exc.DBAPIError as error:
        raise _meaning(error) from error
    except exc.StatementError as error:
        if isinstance(error.orig, MemsifError):  # a column refused a value
            raise error.orig from None
        raise
    except exc.TimeoutError as error:
        raise ServiceBusy("all connections to the store are in use", "store_busy", 1.0) from error
    except OSError as error:
        raise ServiceBusy("the store does not answer", "store_gone", 1.0) from error


def _meaning(error: exc.DBAPIError) -> MemsifError:
    cause = str(error.orig).splitlines()[0] if error.orig and str(error.orig) else type(error).__name__
    code = getattr(error.orig, "sqlstate", None)
    if code in _FOR_A_PERSON or "not a database" in cause or "unable to open" in cause:
        return ConfigError(f"the store refuses to be opened: {cause}")
    return ServiceBusy(f"the store failed: {type(error.orig).__name__}", "store_busy", 1.0)
