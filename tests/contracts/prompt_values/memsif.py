"""What MemSIF's own and the shared prompts are rendered with."""

from datetime import datetime
from types import SimpleNamespace

from memsif_ray.types import Message

MESSAGE = Message("c", "D1:1", 0, 1, "Ann", "I moved to <notes> Ghent.", datetime(2024, 5, 1))
VALUES = {
    "answer": {"context": "[2024-05-01] Ann: …", "question": "Where?", "asked_at": "Monday"},
    "boundary": {"current": [MESSAGE], "message": MESSAGE, "following": [MESSAGE]},
    "consolidate": {
        "candidate": SimpleNamespace(attribute="home", statement="Ann lives in Ghent."),
        "date": "2024-05-01",
        "existing": [
            {"label": "F1", "attribute": "home", "date": "2024-01-01", "statement": "Ann lives in Lille."}
        ],
    },
    "distil": {"limit": 5, "notes": ["a note"], "question": "Where?"},
    "extract": {"types": {"Event": "what happened"}, "date": "2024-05-01", "messages": [MESSAGE]},
    "judge_memsif": {"question": "Where?", "reference": "Ghent", "candidate": "in Ghent"},
    "promote": {"subject": "Ann", "notes": ["a note"]},
    "sufficiency": {"facts": ["a fact"], "question": "Where?"},
    "trajectory": {
        "date": "2024-05-01",
        "messages": [MESSAGE],
        "candidates": [{"label": "T1", "dates": "2024-01-01 to 2024-02-01", "messages": [MESSAGE]}],
    },
}
