"""Batch entry points: parse, load the configuration, run, report. Nothing else lives here."""
