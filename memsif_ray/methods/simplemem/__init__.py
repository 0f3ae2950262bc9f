"""SimpleMem: self-contained statements in three indexes."""
