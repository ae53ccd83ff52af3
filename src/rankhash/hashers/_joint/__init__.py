"""The inside of JRSH: all rank functions learned together by gradient ascent on an objective of soft codes.

::

    training data ─▶ data (sample, frame, pairs) ─▶ batches ─▶ learner ─▶ model (learned arrays) ─▶ calibration
                                                                ├─ schedule    steps, rate, noise, sharpness
                                                                ├─ soft_codes  expected agreement of two codes, Adam
                                                                ├─ objectives  maximised; targets chooses one
                                                                └─ lists       nearest neighbours against false hits
    few classes ─▶ posteriors (leave-one-out class scores) ─▶ learner with the objective of regression
    held-out vectors ─▶ check: learned codes, or those of ITQ
"""
