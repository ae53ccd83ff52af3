"""Time and memory of searches and encoding."""
