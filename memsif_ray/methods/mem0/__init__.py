"""Mem0, in its 2025 and its 2026 profile, and the official package."""
