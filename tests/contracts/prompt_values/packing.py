"""What the prompts of packing are rendered with."""

VALUES = {
    "packing/abstract": {"notes": ["a note", "another"], "question": "Where?", "words": 22},
    "packing/merge": {"notes": ["a note", "another"], "question": "Where?", "words": 22},
    "packing/rewrite": {"note": "a note", "question": "Where?", "words": 11},
}
