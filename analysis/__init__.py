"""Parquet → Polars → tables with intervals. Reads finished runs only; never starts Ray."""
