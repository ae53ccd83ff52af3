"""The verdict says what the numbers say: fabricated results with known answers."""

from __future__ import annotations

import itertools

from rankhash.evaluation.claims import CLAIMS, verdict_of
from rankhash.evaluation.verdict import LENGTHS, NEEDED, verdict_page

RANKING = ("WTA", "RSH", "SRSH", "SRSH bound")
QUALITY = {"LSH": 0.2, "SpectralHashing": 0.3, "WTA": 0.35, "MLH": 0.6, "RSH": 0.62, "SRSH": 0.66, "SRSH bound": 0.66}
"""As the paper tells it: every claim holds on the symbols axis."""


ORIGIN = {"cpu": "Some CPU", "cores": 2, "isa": "avx2", "commit": "0123", "version": "1", "date": "2026-01-01"}


def row(name, n_symbols, seed, quality, *, noise=0.001):
    """A run whose every metric is the quality plus a little for the length, the same for all methods of a seed."""
    arity = 4 if name in RANKING else 2
    growth = 0 if name == "SpectralHashing" else n_symbols / 1000
    value = quality + growth + noise * (seed % 3)
    wild = 0.2 * (seed % 3) * (name == "WTA")
    ball = {"zero": max(value - 0.2 + wild, 0), "leave_out": value, "empty": 0.5}
    levels = [100] + [0] * (n_symbols - 1) + [900]
    return {
        "set": "fabricated",
        "method": name,
        "seed": seed,
        "n_symbols": n_symbols,
        "arity": arity,
        "bits": n_symbols * (2 if arity == 4 else 1),
        "tuned_for": None,
        "length": None,
        "settings": {"n_train": 1000, "n_components": 40, "n_database": 0, "n_neighbors": 50, "truth": "neighbors"},
        "parameters": {},
        "n_queries": 3000,
        "no_relevant": 0,
        "ap": value,
        "map": value,
        "ndcg": value,
        "fit_seconds": 1.0,
        "encode_us": 1.0,
        "ball": {"2": ball, "3": ball},
        "precision_at": {"50": value, "100": value},
        "found": levels,
        "hits": [round(100 * value)] + [0] * (n_symbols - 1) + [100 - round(100 * value)],
        "origin": {
            "cpu": "Some CPU",
            "cores": 2,
            "isa": "avx2",
            "commit": "0123",
            "version": "1",
            "date": "2026-01-01",
        },
    }


def rows_of(quality, factor_at_bits=1.0):
    """All runs that the page needs; codes that only stand at equal bits are worse by a factor."""
    found = []
    for name, seed in itertools.product(NEEDED, range(5)):
        for length in LENGTHS:
            found.append(row(name, length, seed, quality[name]))
            if name in RANKING and length // 2 not in LENGTHS:
                found.append(row(name, length // 2, seed, quality[name] * factor_at_bits))
    return found


def verdicts(rows):
    return {claim.says: verdict_of(claim, rows, LENGTHS, "SRSH")[0] for claim in CLAIMS}


def test_results_like_the_papers_make_its_claims_hold():
    found = verdicts(rows_of(QUALITY))
    assert found["SRSH has the best average precision of all methods that are compared."] == "holds"
    assert found["RSH is much better than WTA."] == "holds"
    assert set(found.values()) == {"holds"}, found


def test_claims_fail_where_the_numbers_are_against_them():
    found = verdicts(rows_of(QUALITY | {"SRSH": 0.4, "RSH": 0.3, "SRSH bound": 0.4}))
    for says in (
        "RSH is much better than WTA.",
        "SRSH has the best average precision of all methods that are compared.",
        "Its lead over MLH is about a tenth.",
        "SRSH is the best in all of these look-ups.",
        "RSH and SRSH are exceptionally good with very short codes.",
    ):
        assert found[says] == "does not hold", says


def test_a_claim_can_hold_on_one_axis_only():
    found = verdicts(rows_of(QUALITY, factor_at_bits=0.5))
    assert found["SRSH has the best average precision of all methods that are compared."] == (
        "holds only on the symbols axis"
    )


def test_a_lead_within_chance_is_none():
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] in ("SRSH", "MLH"):
            one["ap"] = 0.6 + 0.05 * (one["seed"] % 2 if one["method"] == "MLH" else (one["seed"] + 1) % 2)
    found = verdicts(rows)
    assert found["SRSH has the best average precision of all methods that are compared."] == "does not hold"


def test_page_has_every_claim_its_numbers_and_its_origin():
    page = verdict_page({"one": rows_of(QUALITY), "two": rows_of(QUALITY | {"MLH": 0.9})})
    for claim in CLAIMS:
        assert page.count(claim.says) == 2
    assert "5 random splits" in page
    assert "commit 0123" in page
    assert "**does not hold**" in page
    assert "| MLH | **0.9" in page


def test_nothing_is_judged_by_too_few_runs():
    rows = rows_of(QUALITY)
    fewer = [one for one in rows if (one["method"], one["n_symbols"]) != ("MLH", 24) or one["seed"] < 2]
    page = verdict_page({"one": rows, "two": fewer})
    assert "Not judged yet" in page
    assert "- two: MLH (24)" in page
    assert "- one:" not in page
    assert "does not hold" not in page
    assert "- one: WTA, RSH" in verdict_page({"one": []})
