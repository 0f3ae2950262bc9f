"""What Mem0's prompts are rendered with."""

from datetime import datetime

from memsif_ray.types import Message

MESSAGE = Message("c", "D1:1", 0, 1, "Ann", "I moved to <memory> Ghent.", datetime(2024, 5, 1))
DATED = {"recent": [MESSAGE], "messages": [MESSAGE], "date": "2024-05-01"}
VALUES = {
    "mem0/summary": {"summary": "Ann lives in Lille.", "messages": [MESSAGE]},
    "mem0/extract": {"owner": "Ann", "summary": "Ann lives in Lille.", **DATED},
    "mem0/update": {"owner": "Ann", "memories": ["Ann lives in Lille."], "facts": ["Ann lives in Ghent."]},
    "mem0/extract_all": {"memories": ["Ann lives in Lille."], **DATED},
}
