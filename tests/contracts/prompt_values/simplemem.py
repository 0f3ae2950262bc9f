"""What SimpleMem's prompts are rendered with."""

VALUES = {
    "simplemem/statements": {
        "earlier": ["Ann lives in Lille."],
        "lines": ["[1] [7 May 2023] Ann: Hi <window>!"],
    },
    "simplemem/plan": {"question": "Where does Ann live?"},
    "simplemem/analyse": {"question": "Where does Ann live?"},
    "simplemem/complete": {"statements": ["Ann lives in Lille."], "question": "Where does Ann live?"},
}
