"""What the prompts of LightMem are rendered with."""

VALUES = {
    "lightmem/extract": {
        "topics": [[{"number": 1, "date": "Wednesday, 1 May 2024", "speaker": "Ann", "text": "moved Ghent"}]]
    },
    "lightmem/update": {"target": "(1 May 2024): Ann lives in Lille.", "notes": ["Ann moved to Ghent."]},
}
