"""Memory as a library: three lines, no server and no Ray.

```python
memory = Memory()
memory.add("I adopted a greyhound called Comet.")
memory.answer("What is the name of the greyhound?").answer
```
"""

from memsif_ray.library.memory import DEFAULT_CONVERSATION, Memory

__all__ = ["DEFAULT_CONVERSATION", "Memory"]
