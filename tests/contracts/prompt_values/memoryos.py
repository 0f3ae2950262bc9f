"""What MemoryOS's prompts are rendered with."""

from datetime import datetime

from memsif_ray.types import Message

MESSAGE = Message("c", "D1:1", 0, 1, "Ann", "I moved to <page> Ghent.", datetime(2024, 5, 1))
VALUES = {
    "memoryos/continuity": {"before": [MESSAGE], "messages": [MESSAGE]},
    "memoryos/chain": {"summary": "Ann looks for a house.", "messages": [MESSAGE]},
    "memoryos/topics": {"limit": 2, "messages": [MESSAGE]},
    "memoryos/profile": {"user": "Ann", "profile": "Ann lives in Lille.", "pages": [[MESSAGE]]},
    "memoryos/knowledge": {"user": "Ann", "other": "Bo", "pages": [[MESSAGE]]},
}
