"""Benchmarks of true neighbours: recall over time of vector indexes, and how time grows with the number of vectors."""
