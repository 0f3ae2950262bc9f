"""Adapters to models: chat endpoints, embedders, the embedded engine, and the ledger that records calls."""
