"""The tests of the paper's claims.

A test is a function of a `Case`: the results of one data set on one axis. It says whether the claim holds
there and with which numbers. Look-ups are judged by precision over all pairs of a run, as in the evaluation that the
paper follows; the mean over queries, where one that finds nothing counts 0, stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from drawing.cases import MIDDLE, SHORT, SIGMAS, TIE, Answer, Case
from rankhash.evaluation.summaries import RECALLS

POOLED, QUERIES = ("pooled2", "pooled3"), ("ball2", "ball3")
LONG = 24
"""From this length on codes count as long."""


def mostly(tests: Sequence[bool]) -> bool:
    """Whether three quarters of the tests come out true, and there are any."""
    return len(tests) > 0 and sum(tests) >= 0.75 * len(tests)


def grows(case: Case) -> Answer:
    """No method loses by more than chance from a length to the next."""
    drops = []
    for name in ("LSH", "WTA", case.rsh, case.srsh, case.mlh):
        points = case.points("ap", name)
        for before, after in zip(case.lengths, case.lengths[1:], strict=False):
            lead, error = points[before].lead(points[after])
            if lead > SIGMAS * error:
                drops.append(f"{name} at {after}")
    return not drops, "no drop" if not drops else "drops: " + ", ".join(drops)


def spectral(case: Case) -> Answer:
    """Spectral hashing hardly gains beyond 32."""
    points = case.points("ap", "SpectralHashing")
    gain = points[48].mean - points[MIDDLE].mean
    return gain < 0.02, f"from 32 to 48 {case.axis}: {gain:+.3f}; " + case.row("ap", "SpectralHashing")


def rsh_over_wta(case: Case) -> Answer:
    """RSH leads WTA."""
    return all(case.ahead("ap", case.rsh, ["WTA"])), case.row("ap", "WTA", case.rsh)


def srsh_over_rsh(case: Case) -> Answer:
    """SRSH leads RSH."""
    return all(case.ahead("ap", case.srsh, [case.rsh])), case.row("ap", case.rsh, case.srsh)


def srsh_best(case: Case) -> Answer:
    """SRSH leads at most lengths and is led at none."""
    best, unbeaten = case.ahead("ap", case.srsh, case.rivals), case.unbeaten("ap", case.srsh, case.rivals)
    shown = f"leads at {sum(best)} of {len(best)} lengths; {case.row('ap', case.srsh, case.mlh)}"
    if weighted := case.measured("weighted", [case.srsh]):
        shown += "; by the weighted distance " + case.row("weighted", *weighted)
    return all(unbeaten) and sum(best) > len(best) / 2, shown


def lead_over_mlh(case: Case) -> Answer:
    """The relative lead over MLH."""
    ours, theirs = case.points("ap", case.srsh), case.points("ap", case.mlh)
    leads = [ours[length].mean / theirs[length].mean - 1 for length in case.lengths]
    mean = float(np.mean(leads))
    shown = "/".join(f"{lead:+.0%}" for lead in leads)
    larger = ", larger than the paper's" if mean > 0.15 else ""
    return mean >= 0.05, f"mean {mean:+.0%}{larger}; {'/'.join(map(str, case.lengths))} {case.axis}: {shown}"


def short(case: Case) -> Answer:
    """RSH and SRSH lead with short codes."""
    rivals = ("WTA", *case.numeric)
    good = [case.ahead("ap", name, rivals, [SHORT])[0] for name in (case.rsh, case.srsh)]
    return all(good), case.row("ap", case.rsh, case.srsh, *rivals, lengths=[SHORT])


def recall_curve(case: Case) -> Answer:
    """No curve lies above that of SRSH."""
    found = {name: case.recall_points(name, MIDDLE) for name in (case.srsh, *case.rivals)}
    inner = [int(at) for at in np.flatnonzero((RECALLS >= 0.1) & (RECALLS <= 0.9))]

    def leads(name: str, other: str) -> list[bool]:
        pairs = [found[name][at].lead(found[other][at]) for at in inner]
        return [lead > SIGMAS * error and lead > TIE for lead, error in pairs]

    best = not any(any(leads(name, case.srsh)) for name in case.rivals)
    above = all(all(leads(name, "WTA")) for name in (case.rsh, case.srsh))
    at = int(np.argmin(abs(RECALLS - 0.5)))
    shown = "; ".join(f"{name} {found[name][at].mean:.3f}" for name in found)
    return best and above, f"precision at recall ½, {MIDDLE} {case.axis}: {shown}"


def _wins(case: Case, keys: Sequence[str], better: Callable[[str, int], bool]) -> str:
    tests = [better(key, length) for key in keys for length in case.lengths]
    return f"{sum(tests)} of {len(tests)}"


def _most(case: Case, better: Callable[[str, int], bool]) -> Answer:
    """Whether something is so in most look-ups by pooled precision; with the count by queries beside it."""
    tests = [better(key, length) for key in POOLED for length in case.lengths]
    shown = f"in {sum(tests)} of {len(tests)} tests, by queries in {_wins(case, QUERIES, better)}"
    return sum(tests) > len(tests) / 2, shown


def rank_over_numeric(case: Case) -> Answer:
    """Ranking methods have the higher mean in look-ups."""
    ranking = ("WTA", case.rsh, case.srsh)

    def better(key: str, length: int) -> bool:
        return case.mean(key, ranking, length) > case.mean(key, case.numeric, length) + TIE

    holds, shown = _most(case, better)
    return holds, f"the ranking methods' mean is higher {shown}"


def wta_over_lsh(case: Case) -> Answer:
    """WTA has the higher mean in look-ups."""

    def better(key: str, length: int) -> bool:
        return case.mean(key, ["WTA"], length) > case.mean(key, ["LSH"], length) + TIE

    holds, shown = _most(case, better)
    return holds, f"{shown}; pooled, R=2, {case.row('pooled2', 'WTA', 'LSH')}"


def srsh_best_in_balls(case: Case) -> Answer:
    """No method leads SRSH in look-ups."""
    tests = [good for key in POOLED for good in case.unbeaten(key, case.srsh, case.rivals)]
    queries = [good for key in QUERIES for good in case.unbeaten(key, case.srsh, case.rivals)]
    shown = f"no other leads in {sum(tests)} of {len(tests)} tests, by queries in {sum(queries)} of {len(queries)}"
    return all(tests), f"{shown}; pooled, R=2, {case.row('pooled2', case.srsh, case.mlh, 'LSH')}"


def empty(case: Case) -> Answer:
    """Most queries of WTA find nothing."""
    last = [case.lengths[-1]]
    more = all(case.ahead("empty2", "WTA", [case.rsh, case.srsh], last))
    often = case.points("empty2", "WTA")[last[0]].mean > 0.5
    runs = case.row("none2", "WTA", lengths=[16, 32, 64])
    shown = case.row("empty2", "WTA", case.rsh, case.srsh, lengths=[16, 32, 64])
    return more and often, f"share of queries, {shown}; share of whole runs, {runs}"


def cured(case: Case) -> Answer:
    """No run of RSH or SRSH finds nothing."""
    long = [length for length in case.lengths if length >= LONG]
    runs = max(
        case.points(key, name)[length].mean
        for key in ("none2", "none3")
        for name in (case.rsh, case.srsh)
        for length in long
    )
    fewer = [
        case.leads(key, "WTA", name, length)
        for key in ("empty2", "empty3")
        for name in (case.rsh, case.srsh)
        for length in long
    ]
    shown = case.row("empty2", "WTA", case.rsh, case.srsh, lengths=long)
    return runs == 0 and all(fewer), (
        f"largest share of runs of RSH and SRSH that find nothing {runs:.0%}; fewer empty queries than WTA in "
        f"{sum(fewer)} of {len(fewer)} tests; queries with nothing within R=2, {shown}"
    )


def spread(case: Case) -> Answer:
    """WTA varies most; spreads that differ by no more than a tie are left out."""
    long = [length for length in case.lengths if length >= LONG]

    def larger(keys: Sequence[str]) -> list[bool]:
        apart = []
        for key in keys:
            for length in long:
                wta, *others = (case.points(key, name)[length].std for name in ("WTA", case.rsh, case.srsh))
                apart.append(wta - max(others))
        return [difference > 0 for difference in apart if abs(difference) > TIE]

    pooled, queries = larger(POOLED), larger(QUERIES)
    spread = ", ".join(
        f"{name} {case.points('pooled2', name)[MIDDLE].std:.3f}" for name in ("WTA", case.rsh, case.srsh)
    )
    shown = f"in {sum(pooled)} of {len(pooled)} tests, by queries in {sum(queries)} of {len(queries)}"
    return mostly(pooled), f"{shown}; pooled, R=2, {MIDDLE} {case.axis}: {spread}"


def nearest(case: Case) -> Answer:
    """RSH and SRSH are among the best."""
    wins, total = 0, 0
    for key in ("at50", "at100"):
        for length in case.lengths:
            means = {name: case.points(key, name)[length].mean for name in (case.srsh, *case.rivals)}
            order = sorted(means, key=lambda name: -means[name])
            wins += order.index(case.srsh) < 2 and order.index(case.rsh) < 3
            total += 1
    shown = case.row("at50", case.srsh, case.rsh, case.mlh, lengths=[SHORT, 16, 32, 64])
    return wins > total / 2, f"in {wins} of {total} tests; 50 nearest, {shown}"


def agree(case: Case) -> Answer:
    """Two methods of which one leads in both measures have the same leader; means beside it, without an allowance."""
    names = (case.srsh, *case.rivals)

    def leader(key: str, one: str, other: str, length: int) -> int:
        return case.leads(key, one, other, length) - case.leads(key, other, one, length)

    def same(balls: str) -> list[bool]:
        found = (
            (leader("at50", *pair, length), leader(balls, *pair, length))
            for length in case.lengths
            for pair in combinations(names, 2)
        )
        return [nearest == looked_up for nearest, looked_up in found if nearest and looked_up]

    def correlation(balls: str) -> float:
        means = (
            [[case.points(key, name)[length].mean for name in names] for key in ("at50", balls)]
            for length in case.lengths
        )
        return float(np.mean([spearmanr(*pair).statistic for pair in means if np.ptp(pair, axis=1).all()]))

    pooled, queries = same("pooled2"), same("ball2")
    shown = f"for {sum(pooled)} of {len(pooled)} pairs, by queries for {sum(queries)} of {len(queries)}"
    bare = f"{correlation('pooled2'):.2f}, by queries {correlation('ball2'):.2f}"
    return mostly(pooled), f"{shown}; rank correlation of the bare means, mean over lengths in {case.axis}: {bare}"


def noise(case: Case) -> Answer:
    """Ranking methods keep more with noise."""
    ranking = ("WTA", case.rsh, case.srsh)
    wins = sum(
        case.mean("kept", ranking, length) > case.mean("kept", case.numeric, length) + TIE for length in case.lengths
    )
    shown = case.row("kept", *ranking, *case.numeric, lengths=[SHORT, MIDDLE, 64])
    return wins > len(case.lengths) / 2, f"at {wins} of {len(case.lengths)} lengths; share that is left, {shown}"


def redundant(case: Case) -> Answer:
    """Symbols of RSH share more information."""
    more = case.ahead("redundancy", case.rsh, [case.srsh])
    return all(more), f"at {sum(more)} of {len(more)} lengths; {case.row('redundancy', case.rsh, case.srsh, 'LSH')}"


def bre(case: Case) -> Answer:
    """BRE leads spectral hashing and LSH."""
    good = case.ahead("ap", "BRE", ["SpectralHashing", "LSH"])
    return all(good), case.row("ap", "BRE", "SpectralHashing", "LSH")
