"""Each claim of the paper, in our own words, as a test of raw results.

A claim is a function of a :class:`Case`: the results of one data set on one axis. It says whether the claim holds
there and with which numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .store import Row
from .summaries import RECALLS, Curves, Point, curves, recall_curves

NUMERIC = ("MLH", "SpectralHashing", "LSH")
"""The paper's methods that compare values with thresholds; WTA, RSH and SRSH rank."""

SHORT, MIDDLE = 8, 32
SIGMAS = 2.0
"""A lead counts if it is more than so many standard errors of the paired differences above 0."""

Answer = tuple[bool, str]


@dataclass
class Case:
    """One data set on one axis, with the learner that stands for the paper's SRSH."""

    rows: Sequence[Row]
    axis: str
    lengths: tuple[int, ...]
    srsh: str
    _known: dict[str, Curves] = field(default_factory=dict)

    def metric(self, key: str) -> Curves:
        """The curves of a metric."""
        if key not in self._known:
            self._known[key] = curves(self.rows, self.axis, self.lengths, key)
        return self._known[key]

    def points(self, key: str, name: str) -> dict[int, Point]:
        """The points of one method."""
        return self.metric(key)[name]

    def ahead(self, key: str, name: str, others: Iterable[str], lengths: Iterable[int] | None = None) -> list[bool]:
        """At each length, whether a method leads all the others by more than chance."""
        found = []
        for length in self.lengths if lengths is None else lengths:
            leads = [self.points(key, name)[length].lead(self.points(key, other)[length]) for other in others]
            found.append(all(lead > SIGMAS * error for lead, error in leads))
        return found

    def row(self, key: str, *names: str, lengths: Iterable[int] | None = None) -> str:
        """The means of some methods, for the page."""
        chosen = [*(self.lengths if lengths is None else lengths)]
        parts = (
            f"{name} {' '.join(f'{self.points(key, name)[length].mean:.3f}'.lstrip('0') for length in chosen)}"
            for name in names
        )
        return f"{'/'.join(map(str, chosen))} {self.axis}: " + "; ".join(parts)


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words, where it says so, what must be true for it to hold, and the test."""

    says: str
    where: str
    rule: str
    test: Callable[[Case], Answer]


def _grows(case: Case) -> Answer:
    names = ("LSH", "WTA", "RSH", case.srsh, "MLH")
    drops = []
    for name in names:
        means = [point.mean for point in case.points("ap", name).values()]
        drops += [f"{name} at {case.lengths[i + 1]}" for i, step in enumerate(np.diff(means)) if step < 0]
    return not drops, "no drop" if not drops else "drops: " + ", ".join(drops)


def _spectral(case: Case) -> Answer:
    points = case.points("ap", "SpectralHashing")
    gain = points[64].mean - points[MIDDLE].mean
    return gain < 0.02, f"from 32 to 64 {case.axis}: {gain:+.3f}; " + case.row("ap", "SpectralHashing")


def _rsh_over_wta(case: Case) -> Answer:
    return all(case.ahead("ap", "RSH", ["WTA"])), case.row("ap", "WTA", "RSH")


def _srsh_over_rsh(case: Case) -> Answer:
    return all(case.ahead("ap", case.srsh, ["RSH"])), case.row("ap", "RSH", case.srsh)


def _srsh_best(case: Case) -> Answer:
    rivals = ("RSH", "WTA", *NUMERIC)
    return all(case.ahead("ap", case.srsh, rivals)), case.row("ap", case.srsh, "MLH")


def _lead_over_mlh(case: Case) -> Answer:
    ours, theirs = case.points("ap", case.srsh), case.points("ap", "MLH")
    leads = [ours[length].mean / theirs[length].mean - 1 for length in case.lengths]
    mean = float(np.mean(leads))
    shown = "/".join(f"{lead:+.0%}" for lead in leads)
    return 0.05 <= mean <= 0.15, f"mean {mean:+.0%}; {'/'.join(map(str, case.lengths))} {case.axis}: {shown}"


def _short(case: Case) -> Answer:
    rivals = ("WTA", *NUMERIC)
    good = [case.ahead("ap", name, rivals, [SHORT])[0] for name in ("RSH", case.srsh)]
    return all(good), case.row("ap", "RSH", case.srsh, *rivals, lengths=[SHORT])


def _recall_curve(case: Case) -> Answer:
    found = recall_curves(case.rows, case.axis, MIDDLE)
    inner = (RECALLS >= 0.1) & (RECALLS <= 0.9)
    rivals = ("RSH", "WTA", *NUMERIC)
    best = all((found[case.srsh][0][inner] >= found[name][0][inner]).all() for name in rivals)
    above = all((found[name][0][inner] > found["WTA"][0][inner]).all() for name in ("RSH", case.srsh))
    at = int(np.argmin(abs(RECALLS - 0.5)))
    shown = "; ".join(f"{name} {found[name][0][at]:.3f}" for name in (case.srsh, *rivals))
    return best and above, f"precision at recall ½, {MIDDLE} {case.axis}: {shown}"


def _wta_over_lsh(case: Case) -> Answer:
    wins = case.ahead("ball2", "WTA", ["LSH"]) + case.ahead("ball3", "WTA", ["LSH"])
    return sum(wins) > len(wins) / 2, f"{sum(wins)} of {len(wins)} tests; R=2, " + case.row("ball2", "WTA", "LSH")


def _rank_over_numeric(case: Case) -> Answer:
    wins = 0
    for key in ("ball2", "ball3"):
        for length in case.lengths:
            ranking, numeric = (
                np.mean([case.points(key, name)[length].mean for name in names])
                for names in (("WTA", "RSH", case.srsh), NUMERIC)
            )
            wins += bool(ranking > numeric)
    total = 2 * len(case.lengths)
    return wins > total / 2, f"the ranking methods' mean is higher in {wins} of {total} tests"


def _srsh_best_in_balls(case: Case) -> Answer:
    rivals = ("RSH", "WTA", *NUMERIC)
    wins = case.ahead("ball2", case.srsh, rivals) + case.ahead("ball3", case.srsh, rivals)
    return all(wins), f"best in {sum(wins)} of {len(wins)} tests; R=2, " + case.row("ball2", case.srsh, "MLH", "LSH")


def _spread(case: Case) -> Answer:
    """The standard deviation relative to the mean, at the lengths from 24 on."""
    wins, total, shown = 0, 0, []
    for key in ("ball2", "ball3"):
        for length in (length for length in case.lengths if length >= 24):
            spread = {}
            for name in ("WTA", "RSH", case.srsh):
                point = case.points(key, name)[length]
                spread[name] = point.std / point.mean if point.mean > 0 else float("inf")
            wins += spread["WTA"] > max(spread["RSH"], spread[case.srsh])
            total += 1
            if length == MIDDLE:
                shown.append(f"R={key[-1]}: " + ", ".join(f"{name} {value:.0%}" for name, value in spread.items()))
    return wins == total, f"in {wins} of {total} tests; std/mean at {MIDDLE} {case.axis}, " + "; ".join(shown)


def _empty(case: Case) -> Answer:
    points = case.points("empty2", "WTA")
    return points[64].mean > 0.05, case.row("empty2", "WTA", "RSH", case.srsh, lengths=[16, 32, 64])


def _nearest(case: Case) -> Answer:
    wins, total = 0, 0
    for key in ("at50", "at100"):
        for length in case.lengths:
            means = {name: case.points(key, name)[length].mean for name in ("RSH", case.srsh, "WTA", *NUMERIC)}
            order = sorted(means, key=lambda name: -means[name])
            wins += order.index(case.srsh) < 2 and order.index("RSH") < 3
            total += 1
    shown = case.row("at50", case.srsh, "RSH", "MLH", lengths=[SHORT, 16, 32, 64])
    return wins > total / 2, f"in {wins} of {total} tests; 50 nearest, {shown}"


CLAIMS = (
    Claim(
        "Average precision grows with the code length for almost every method.",
        "Results, first figure",
        "the mean of LSH, WTA, RSH, SRSH and MLH falls from no length to the next",
        _grows,
    ),
    Claim(
        "Spectral hashing is the exception: beyond 24 to 32 it gains nothing or loses a little.",
        "Results, first figure",
        "its average precision gains less than .02 from 32 to 64",
        _spectral,
    ),
    Claim("RSH is much better than WTA.", "Results, first figure", "RSH leads at every length", _rsh_over_wta),
    Claim(
        "Learning the functions one after another helps a lot: SRSH is well ahead of RSH on every set.",
        "Results, first figure",
        "SRSH leads at every length",
        _srsh_over_rsh,
    ),
    Claim(
        "SRSH has the best average precision of all methods that are compared.",
        "Results, first figure",
        "SRSH leads RSH, WTA, MLH, spectral hashing and LSH at every length",
        _srsh_best,
    ),
    Claim(
        "Its lead over MLH is about a tenth.",
        "Results, first figure",
        "the mean over the lengths of the relative lead is between 5 % and 15 %",
        _lead_over_mlh,
    ),
    Claim(
        "RSH and SRSH are exceptionally good with very short codes.",
        "Results, first figure",
        f"at {SHORT} both lead WTA, MLH, spectral hashing and LSH",
        _short,
    ),
    Claim(
        "At 32 the curve of precision over recall of SRSH lies above all others, and that of RSH above WTA's.",
        "Results, second figure",
        "the mean precision of SRSH is the highest, and that of RSH higher than WTA's, at every recall from .1 to .9",
        _recall_curve,
    ),
    Claim(
        "In look-ups within a small radius, methods that rank do better than those that compare values.",
        "Results, third and fourth figure",
        "the mean precision of WTA, RSH and SRSH is higher than that of MLH, spectral hashing and LSH in most tests",
        _rank_over_numeric,
    ),
    Claim(
        "Of the two methods that learn nothing, WTA beats LSH in most of these look-ups.",
        "Results, third and fourth figure",
        "WTA leads in more than half of the tests",
        _wta_over_lsh,
    ),
    Claim(
        "SRSH is the best in all of these look-ups.",
        "Results, third and fourth figure",
        "SRSH leads all five others at every length, for R = 2 and R = 3",
        _srsh_best_in_balls,
    ),
    Claim(
        "Long codes of WTA often find nothing within a small radius.",
        "Results, third and fourth figure",
        "at 64, more than 5 % of WTA's queries find nothing within R = 2",
        _empty,
    ),
    Claim(
        "So WTA's precision varies much from run to run; that of RSH and SRSH varies less.",
        "Results, third and fourth figure",
        "relative to its mean, WTA has the largest standard deviation in every test from 24 on",
        _spread,
    ),
    Claim(
        "Among the 50 and 100 nearest codes RSH and SRSH are competitive.",
        "Results, last two figures",
        "in most tests SRSH is among the best two and RSH among the best three of the six",
        _nearest,
    ),
)


def verdict_of(claim: Claim, rows: Sequence[Row], lengths: tuple[int, ...], srsh: str) -> tuple[str, dict[str, str]]:
    """The verdict on a claim for one data set, and the numbers by axis."""
    answers = {axis: claim.test(Case(rows, axis, lengths, srsh)) for axis in ("symbols", "bits")}
    verdicts = {
        (True, True): "holds",
        (True, False): "holds only on the symbols axis",
        (False, True): "holds only at equal bits",
        (False, False): "does not hold",
    }
    numbers = {axis: text for axis, (_, text) in answers.items()}
    return verdicts[answers["symbols"][0], answers["bits"][0]], numbers
