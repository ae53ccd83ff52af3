"""Feature maps and directions that several methods share.

::

    anchors       RBF features of distances to anchors, and the base of hashers that project them
    anchor_graph  vectors joined to their nearest anchors, and the base of hashers on that graph
    pca           principal axes of vectors that are read in batches
    span          few vectors of many dimensions, in coordinates of the space that they span
    reduced       whether vectors are principal components of unit vectors, and neighbours among such
    orthogonal    random directions, independent or orthogonal
    rotation      the rotation of principal components that ITQ learns
"""
