"""Figures of the reports: drawn without a display, the same bytes for the same data."""
