"""What GAM's prompts are rendered with."""

VALUES = {
    "gam/abstract": {
        "abstracts": ["[1] 1 May 2023: Ann moved."],
        "date": "7 May 2023",
        "lines": ["Ann: Hi!"],
    },
    "gam/plan": {"abstracts": ["[1] 1 May 2023: Ann moved."], "request": "Where does Ann live?"},
    "gam/integrate": {
        "findings": ["Ann moved. (pages 1)"],
        "pages": ["[1] Ann: I live in <page> Ghent."],
        "question": "Where does Ann live?",
    },
    "gam/reflect": {"findings": ["Ann moved."], "question": "Where does Ann live?"},
}
