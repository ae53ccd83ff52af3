"""An entry for ann-benchmarks, and what its harness does with it, to be run without it."""
