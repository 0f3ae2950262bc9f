"""The command `memsif`: what the package does, for a person at a terminal.

Results go to stdout, everything else to stderr; with `--json` stdout is exactly one JSON document. Commands
import what they need when they run, so that `memsif --help` loads no model library and no Ray.
"""

from memsif_ray.cli.app import app, main

__all__ = ["app", "main"]
