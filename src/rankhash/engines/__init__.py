"""Beyond one process: the same codes and the same answers in engines that many machines share.

Each engine is an extra that is imported by its own name, ``rankhash.engines.dask`` for one; importing this package
imports none of them.
"""
