"""Time and memory of fits."""
