"""The inside of RankQuantizer: codes from which vectors can be decoded.

::

    codebooks    rotation and centroids of product quantisation, by k-means and Procrustes in turn
    refinement   symbols improved jointly by coordinate descent, and the decoder fitted to them
    regression   least squares on symbols
    decoder      the learned arrays: decoding, score tables, checks of files
"""
