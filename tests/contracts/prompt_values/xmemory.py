"""What xMemory's prompts are rendered with."""

VALUES = {
    "xmemory/boundary": {"current": ["[7 May 2023] Ann: Hi <episode>!"], "message": "[7 May 2023] Bo: Hi!"},
    "xmemory/narrate": {"lines": ["[7 May 2023] Ann: I moved."]},
    "xmemory/predict": {"facts": ["Ann lives in Lille."], "title": "A move"},
    "xmemory/facts": {"prediction": "Ann moved.", "lines": ["[1] [7 May 2023] Ann: I moved."]},
    "xmemory/theme": {"facts": ["Ann lives in Lille.", "Ann lived in Ghent."]},
    "xmemory/probe": {"lines": ["Ann lives in Lille."], "question": "Where does Ann live?"},
}
