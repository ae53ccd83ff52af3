"""One module per group of cases; each has ``run(case) -> Outcome`` and reads ``configs/<its name>.json``."""
