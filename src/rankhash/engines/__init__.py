"""Codes in other systems: Dask clusters and PostgreSQL, with the same answers as a local index.

Each engine is an optional extra with a module of its own, `rankhash.engines.dask` and `rankhash.engines.postgres`.
Importing this package imports neither.
"""
