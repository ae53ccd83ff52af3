"""The inside of JRSH: all rank functions learned together by gradient ascent on an objective of soft codes.

::

    training data ─▶ data (sample, frame, pairs) ─▶ batches ─▶ learner ─▶ model (learned arrays) ─▶ calibration
                                                                ├─ schedule    steps, rate, noise, sharpness
                                                                ├─ soft_codes  expected agreement of two codes, Adam
                                                                ├─ objectives  maximised, one per kind of labels
                                                                └─ lists       nearest neighbours against false hits
    held-out vectors ─▶ check: learned codes, or those of ITQ
"""
