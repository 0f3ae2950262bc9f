"""Files: a run's folder, its Parquet tables, and when either may be trusted."""
