"""MemSIF itself: pure Python and NumPy; models come in through the ports."""
