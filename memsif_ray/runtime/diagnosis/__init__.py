"""The diagnoses of MemSIF, Appendix A, as commands and jobs carry them out."""
