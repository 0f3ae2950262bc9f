"""MemGAS: a graph of sessions at four granularities."""
