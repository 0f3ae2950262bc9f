"""JSON schemas as our prompts have them."""


def object_of(**properties):
    """An object of these properties, all required, and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
