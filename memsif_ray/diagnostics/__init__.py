"""The measurements behind MemSIF's two claims, TSM and DUM (Appendix A)."""
