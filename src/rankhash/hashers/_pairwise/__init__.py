"""The inside of RSH and SRSH: rank functions learned from labelled pairs, one function at a time.

::

    hasher          PairHasher: points, pool of pairs, diagnostics, report
    boosting        the weights of pairs, by SRSH's own rules and as printed in the paper
    rank_function   learning one rank function from labelled pairs
    start           the scale of RSH's random start
"""
