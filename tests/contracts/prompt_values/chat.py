"""What the prompts of the chat API are rendered with."""

VALUES = {"chat/recall": {"notes": ["a note", "another"]}}
