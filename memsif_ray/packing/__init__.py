"""OAS: what to do with retrieved notes under a token budget (the second paper)."""
