"""The claims of the paper in our own words, each with the rule by which it is judged."""

from __future__ import annotations

from drawing import claim_tests as tests
from drawing.cases import SHORT, Claim

LOOK_UPS = "Results, third and fourth figure"
AP = "Results, first figure"
CLAIMS = (
    Claim(
        "Average precision grows with the code length for almost every method.",
        AP,
        "LSH, WTA, RSH, SRSH and MLH lose by more than chance from no length to the next",
        tests.grows,
    ),
    Claim(
        "Spectral hashing is the exception: beyond 24 to 32 it gains nothing or loses a little.",
        AP,
        "its average precision gains less than .02 from 32 to 48, the last length below 64",
        tests.spectral,
    ),
    Claim("RSH is much better than WTA.", AP, "RSH leads at every length", tests.rsh_over_wta),
    Claim(
        "Learning the functions one after another helps a lot: SRSH is well ahead of RSH on every set.",
        AP,
        "SRSH leads at every length",
        tests.srsh_over_rsh,
    ),
    Claim(
        "SRSH has the best average precision of all methods that are compared.",
        AP,
        "SRSH leads RSH, WTA, MLH, spectral hashing and LSH at most lengths, and none of them leads it at any",
        tests.srsh_best,
        tuned=True,
    ),
    Claim(
        "Its lead over MLH is about a tenth.",
        AP,
        "the mean over the lengths of the relative lead is 5 % or more; above 15 % it is called larger",
        tests.lead_over_mlh,
        tuned=True,
    ),
    Claim(
        "RSH and SRSH are exceptionally good with very short codes.",
        AP,
        f"at {SHORT} both lead WTA, MLH, spectral hashing and LSH",
        tests.short,
        tuned=True,
    ),
    Claim(
        "At 32 the curve of precision over recall of SRSH lies above all others, and that of RSH above WTA's.",
        "Results, second figure",
        "at no recall from .1 to .9 another method leads SRSH, and at all of them RSH and SRSH lead WTA",
        tests.recall_curve,
        tuned=True,
    ),
    Claim(
        "In look-ups within a small radius, methods that rank do better than those that compare values.",
        LOOK_UPS,
        "the mean precision of WTA, RSH and SRSH is higher than that of MLH, spectral hashing and LSH in most tests",
        tests.rank_over_numeric,
    ),
    Claim(
        "Of the two methods that learn nothing, WTA beats LSH in most of these look-ups.",
        LOOK_UPS,
        "WTA's mean is higher in more than half of the tests",
        tests.wta_over_lsh,
    ),
    Claim(
        "SRSH is the best in all of these look-ups.",
        LOOK_UPS,
        "none of the five others leads SRSH at any length, for R = 2 and R = 3",
        tests.srsh_best_in_balls,
        tuned=True,
    ),
    Claim(
        "Long codes of WTA often find nothing within a small radius.",
        LOOK_UPS,
        "at 64, more than half of WTA's queries find nothing within R = 2, and more than those of RSH and SRSH",
        tests.empty,
    ),
    Claim(
        "So WTA's precision varies much from run to run; that of RSH and SRSH varies less.",
        LOOK_UPS,
        "WTA has the largest standard deviation in three quarters of the tests from 24 on that are no ties",
        tests.spread,
    ),
    Claim(
        "Supervision cures look-ups that find nothing.",
        LOOK_UPS,
        "from 24 on no run of RSH or SRSH finds nothing, and both leave fewer queries without an answer than WTA",
        tests.cured,
    ),
    Claim(
        "Among the 50 and 100 nearest codes RSH and SRSH are competitive.",
        "Results, last two figures",
        "in most tests SRSH is among the best two and RSH among the best three of the six",
        tests.nearest,
    ),
    Claim(
        "The nearest codes tell the same about the methods as look-ups do.",
        "Results, last two figures",
        "where one of two methods leads among the 50 nearest and one leads in look-ups within R = 2, it is the same one"
        " in three quarters of the cases",
        tests.agree,
    ),
    Claim(
        "Codes of ranks suffer less from noise than codes of values.",
        "Introduction; Results",
        "WTA, RSH and SRSH keep a larger share of their average precision at most lengths, with noise of .3 of its"
        " length added to every query",
        tests.noise,
    ),
    Claim(
        "Functions that are learned independently repeat each other.",
        "Sequential learning",
        "two symbols of RSH share more information than two of SRSH at every length",
        tests.redundant,
    ),
    Claim(
        "BRE is better than spectral hashing and LSH.",
        "Related work",
        "BRE leads both in average precision at every length",
        tests.bre,
    ),
)
