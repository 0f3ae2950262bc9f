"""The tokenizer of an embedded model alone: no server, no weights in memory."""

from __future__ import annotations

from typing import Any

from memsif_ray.clients.embedded import INSTALL
from memsif_ray.clients.embedded.weights import Progress, find_model
from memsif_ray.errors import ConfigError


class EmbeddedTokenCounter:
    """Counts as the embedded engine does, so offline statistics match the budgets of a run."""

    exact = True

    def __init__(self, model: str, *, progress: Progress) -> None:
        """Find the model, which converts it on first use, and load its tokenizer.

        Raises:
            ConfigError: When there is no such model, or OpenVINO GenAI is not installed.
            DataError: When the model's file is damaged.
        """
        try:
            import openvino_genai
        except ImportError as exc:
            raise ConfigError(f"the embedded model is not installed: {INSTALL}") from exc
        self.name = model
        self._tokenizer: Any = openvino_genai.Tokenizer(find_model(model, progress=progress))

    def count(self, text: str) -> int:
        """Number of tokens in `text`, without the chat template; 0 for ""."""
        return int(self._tokenizer.encode(text, add_special_tokens=False).input_ids.get_size())
