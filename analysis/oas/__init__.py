"""What labelling jobs say about packing, and what packing decided in runs (OAS)."""
