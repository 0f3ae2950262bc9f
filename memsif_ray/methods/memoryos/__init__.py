"""MemoryOS: short, mid and long-term memory of pages."""
