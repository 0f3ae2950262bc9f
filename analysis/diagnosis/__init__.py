"""Diagnoses (MemSIF, Appendix A) as tables and pages, with the paper's numbers beside ours."""
