"""The measurements behind MemSIF's two claims (MemSIF, Appendix A): pure functions over data and vectors.

What cannot be measured is never NaN: it is None, with a reason.
"""
