"""LightMem: compressed input, segments, and updates while asleep."""
