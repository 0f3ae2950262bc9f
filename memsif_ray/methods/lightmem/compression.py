"""Prompt compression by LLMLingua-2, where the package is installed.

It is a local token classifier, not a language model that is asked something: its calls are neither metered
nor replayed, and give the same on every start.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from memsif_ray.errors import ConfigError

MODEL = "microsoft/llmlingua-2-bert-base-multilingual-cased-meetingbank"
_LAYERS = slice(8, 12)
"""Layers of the classifier whose attention shows topics."""
_EDGE = 3
"""Tokens at either end whose attention says nothing: they attract it whatever they are."""
_LONGEST = 512
"""Tokens the classifier reads at once; a text that is longer after compression is compressed again."""


class Compressor(Protocol):
    """Shortens texts, and shows by its attention where their topic changes."""

    def compress(self, text: str, *, rate: float) -> str:
        """The tokens worth keeping, about a share `rate` of them; where none would be left, the text."""
        ...

    def attention(self, texts: Sequence[str]) -> list[float]:
        """Of the attention each text but the first pays to those before it, the share of the last one."""
        ...


@lru_cache
def llmlingua(model: str) -> Compressor:
    """The compressor of this process; its weights are loaded when it is first used.

    Args:
        model: Hub id or folder of an LLMLingua-2 token classifier.

    Raises:
        ConfigError: When the package is not installed.
    """
    if importlib.util.find_spec("llmlingua") is None:
        raise ConfigError(
            "lightmem compresses with LLMLingua-2, which is not installed: pip install "
            f"'memsif-ray[compressor]', whose weights ({model}) come from a model hub or the folder named by "
            "baselines.lightmem.compressor; or run lightmem:nocompress"
        )
    return _LLMLingua(model)


class _LLMLingua:
    """Implements `Compressor`; one thread at a time, as the tokenizer is not made for more."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()

    def compress(self, text: str, *, rate: float) -> str:
        with self._lock:
            kept = self._compressed(text, rate)
            while self._length(kept) >= _LONGEST and len(shorter := self._compressed(kept, rate)) < len(kept):
                kept = shorter
        return kept

    def attention(self, texts: Sequence[str]) -> list[float]:
        with self._lock:
            spans, weights = self._attended(texts)
        return [share_of_neighbour(weights, spans[: i + 1]) for i in range(1, len(spans))]

    def _compressed(self, text: str, rate: float) -> str:
        tokenizer = self._engine.tokenizer
        if set(tokenizer.encode(text)) <= set(tokenizer.all_special_ids):
            return text  # only unknown tokens, e.g. emoji: llmlingua 0.2 raises IndexError on these
        return str(self._engine.compress_prompt([text], rate=rate)["compressed_prompt"]).strip() or text

    def _length(self, text: str) -> int:
        return len(self._engine.tokenizer.encode(text))

    @cached_property
    def _engine(self) -> Any:
        from llmlingua import PromptCompressor

        try:
            return PromptCompressor(
                self._model,
                device_map="cpu",
                model_config={"attn_implementation": "eager"},  # the others give no attention weights
                use_llmlingua2=True,
            )
        except OSError as exc:
            raise ConfigError(
                f"cannot load the compressor {self._model} ({exc}); set baselines.lightmem.compressor "
                "to a folder that holds it, or run lightmem:nocompress"
            ) from exc

    def _attended(self, texts: Sequence[str]) -> tuple[list[range], np.ndarray]:
        """Where each text's tokens lie, and mean attention between tokens, shape (tokens, tokens)."""
        import torch

        tokenizer = self._engine.tokenizer
        ids = [tokenizer.cls_token_id]
        spans = []
        for text in texts:
            own = tokenizer.encode(text, add_special_tokens=False)[: _LONGEST - 1 - len(ids)]
            spans.append(range(len(ids), len(ids) + len(own)))
            ids += own
        ids.append(tokenizer.sep_token_id)
        with torch.no_grad():
            layers = self._engine.model(torch.tensor([ids]), output_attentions=True).attentions[_LAYERS]
        weights = torch.stack(list(layers)).mean(dim=(0, 2))[0].numpy()
        inner = range(_EDGE, len(ids) - _EDGE) if len(ids) >= 2 * _EDGE else range(len(ids))
        return [range(max(s.start, inner.start), min(s.stop, inner.stop)) for s in spans], weights


def share_of_neighbour(weights: np.ndarray, spans: Sequence[range]) -> float:
    """Of the attention that the last span's tokens pay to the spans before it, the share of the nearest one.

    Args:
        weights: Attention from each token (row) to each token, shape (tokens, tokens).
        spans: Token ranges, at least two; an empty one neither pays nor gets attention.
    """
    *earlier, own = spans
    paid = [weights[own.start : own.stop, s.start : s.stop].sum() for s in earlier]
    return float(paid[-1] / sum(paid)) if sum(paid) > 0 else 0.0
