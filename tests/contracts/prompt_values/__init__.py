"""Values that every prompt can be rendered with, a module per folder of prompts, each with `VALUES`."""

import pkgutil
from importlib import import_module

VALUES: dict[str, dict] = {}
for module in pkgutil.iter_modules(__path__):
    VALUES |= import_module(f"{__name__}.{module.name}").VALUES
