"""xMemory: themes over facts over episodes."""
