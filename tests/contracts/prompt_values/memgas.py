"""What the prompts of MemGAS are rendered with."""

_SESSION = {"date": "1 May 2024", "lines": ["Ann: I moved to <session> Ghent."]}
VALUES = {
    "memgas/summary": _SESSION,
    "memgas/keywords": _SESSION,
    "memgas/filter": {"lines": ["[1 May 2024] Ann: I moved to Ghent."], "question": "Where?"},
}
