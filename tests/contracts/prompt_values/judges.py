"""What the judges' prompts are rendered with."""

SHOWN = {"question": "When did Ann move?", "reference": "May 2022", "candidate": "In <reference> May 2022."}
VALUES = {
    f"judges/{name}": SHOWN
    for name in (
        "lenient",
        "longmemeval_abstention",
        "longmemeval_fact",
        "longmemeval_preference",
        "longmemeval_temporal",
        "longmemeval_update",
        "strict_exact",
    )
}
