"""What every benchmark shares: keyed rows and their file, the run, timing, provenance, data and peers."""
