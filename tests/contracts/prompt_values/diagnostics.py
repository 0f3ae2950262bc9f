"""What the prompts of the diagnostics are rendered with."""

LOCAL = {"before": ["Ann: Hello.", "Bo: Hi, how are you?"], "utterance": "Ann: I moved to Ghent in May."}
EXCERPTS = {"excerpts": ["I moved to Ghent.", "The flat in Ghent is small."]}
VALUES = {
    "diagnostics/salience": LOCAL,
    "diagnostics/utility": {**LOCAL, "question": "When did Ann move?"},
    "diagnostics/recovery": {
        "memory": ["[1 May 2022] Ann: I moved to Ghent."],
        "question": "When did Ann move?",
        "fact": "[1 May 2022] Ann: I moved to Ghent.",
    },
    "diagnostics/correctness": {
        "question": "When did Ann move?",
        "reference": "May 2022",
        "candidate": "In May.",
    },
    "diagnostics/shift": EXCERPTS,
    "diagnostics/thread": EXCERPTS,
}
