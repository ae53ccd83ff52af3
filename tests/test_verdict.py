"""The verdict says what the numbers say: fabricated results with known answers."""

from __future__ import annotations

import itertools

import pytest

from drawing.cases import verdict_of
from drawing.claims import CLAIMS
from drawing.columns import COLUMNS, PRINTED, TUNED
from drawing.verdict import LENGTHS, NEEDED, verdict_page

DEFAULT = COLUMNS[-1]
PAPER = ("RSH paper", "SRSH paper", "SRSH paper sampling")
RANKING = ("WTA", "RSH", "SRSH", *PAPER)
QUALITY = {"LSH": 0.2, "SpectralHashing": 0.3, "WTA": 0.35, "MLH": 0.6, "RSH": 0.62, "SRSH": 0.66, "BRE": 0.4}
QUALITY |= {"RSH paper": 0.62, "SRSH paper": 0.65, "SRSH paper sampling": 0.66}
"""As the paper tells it: every claim holds on the symbols axis."""

ORIGIN = {
    "cpu": "Some CPU",
    "cores": 2,
    "isa": "avx2",
    "commit": "0123",
    "version": "1",
    "date": "2026-01-01",
}


def row(name, n_symbols, seed, quality, *, noise=0.001):
    """A run whose every metric is the quality plus a little for the length, the same for all methods of a seed."""
    arity = 4 if name in RANKING else 2
    growth = 0 if name == "SpectralHashing" else n_symbols / 1000
    value = quality + growth + noise * (seed % 3)
    wild = 0.1 * (seed % 3 - 1) * (name == "WTA")
    empty = 0.9 if name == "WTA" else 0.5 + noise * (seed % 3)
    ball = {"zero": max(value - 0.2 + wild, 0), "leave_out": value, "empty": empty}
    levels = [1000] + [0] * (n_symbols - 1) + [9000]
    near = round(1000 * (value + wild))
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
        "hits": [near] + [0] * (n_symbols - 1) + [1000 - near],
        "noise": {"ap": value * (0.95 if arity == 4 else 0.9), "changed": 0.1},
        "redundancy": 0.2 + noise * seed if name.startswith("RSH") else 0.1,
        "origin": ORIGIN,
    }


def rows_of(quality, factor_at_bits=1.0):
    """All runs that the page needs; codes that only stand at equal bits are worse by a factor."""
    found = []
    for name, seed in itertools.product((*NEEDED, "BRE", *PAPER), range(5)):
        for length in LENGTHS:
            found.append(row(name, length, seed, quality[name]))
            if name in RANKING and length // 2 not in LENGTHS:
                found.append(row(name, length // 2, seed, quality[name] * factor_at_bits))
    return found


def verdicts(rows):
    return {claim.says: verdict_of(claim, rows, LENGTHS, DEFAULT)[0] for claim in CLAIMS}


def test_results_like_the_papers_make_its_claims_hold():
    found = verdicts(rows_of(QUALITY))
    assert found["SRSH has the best average precision of all methods that are compared."] == "holds"
    assert found["RSH is much better than WTA."] == "holds"
    assert set(found.values()) == {"holds"}, found


def test_claims_fail_where_the_numbers_are_against_them():
    found = verdicts(rows_of(QUALITY | {"SRSH": 0.4, "RSH": 0.3}))
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
    assert "| one, as printed | one, sampling | one, default |" in page
    assert "*sampling, tuned*" in page
    assert "(judged only with two splits or more; splits: one 0, two 0)" in page
    for claim in CLAIMS:
        assert page.count(claim.says) == 2
    assert "5 random splits" in page
    assert "commit 0123" in page
    assert "**does not hold**" in page
    assert "| MLH | **0.9" in page


def test_claims_that_depend_on_constants_are_judged_by_tuned_runs():
    rows = rows_of(QUALITY)
    tuned = [
        one | {"method": f"{one['method']} {reading}", "tuned_for": axis, "length": one["n_symbols"] * bits}
        for one in rows
        for method, reading in (("RSH", "paper"), ("SRSH", "paper sampling"))
        if one["method"] == method
        for axis, bits in (("symbols", 1), ("bits", 2))
    ]
    best = next(claim for claim in CLAIMS if claim.says.startswith("SRSH has the best"))
    first = next(claim for claim in CLAIMS if claim.says.startswith("RSH is much better"))
    page = verdict_page({"one": rows + tuned})
    assert f"| {best.says} | holds |" in page
    assert f"| {best.says} | not measured |" in verdict_page({"one": rows})
    assert f"| {first.says} | holds |" in verdict_page({"one": rows})
    worse = [one | {"ap": one["ap"] * 0.5} for one in tuned]
    split = verdict_page({"one": rows + tuned, "two": rows + worse})
    assert f"| {best.says} | one: holds; two: **does not hold** |" in split


def test_nothing_is_judged_by_too_few_runs():
    rows = rows_of(QUALITY)
    fewer = [one for one in rows if (one["method"], one["n_symbols"]) != ("MLH", 24) or one["seed"] < 2]
    page = verdict_page({"one": rows, "two": fewer})
    assert "Not judged yet" in page
    assert "- two: MLH (24)" in page
    assert "- one:" not in page
    assert "does not hold" not in page
    assert "- one: WTA, RSH" in verdict_page({"one": []})


LOOK_UP = "SRSH is the best in all of these look-ups."
SPREAD = "So WTA's precision varies much from run to run; that of RSH and SRSH varies less."


def test_look_ups_are_judged_over_all_pairs_and_shown_by_queries():
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] == "MLH":
            one["ball"] = {radius: one["ball"][radius] | {"zero": 0.9} for radius in ("2", "3")}
    claim = next(claim for claim in CLAIMS if claim.says == LOOK_UP)
    verdict, numbers = verdict_of(claim, rows, LENGTHS, DEFAULT)
    assert verdict == "holds"
    assert all("no other leads in 14 of 14 tests, by queries in 0 of 14" in text for text in numbers)


def test_equal_precision_is_a_tie():
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] in ("MLH", "SRSH"):
            one["hits"] = [1000 if one["method"] == "MLH" else 999.5, *one["hits"][1:]]
    assert verdicts(rows)[LOOK_UP] == "holds"
    for one in rows:
        if one["method"] == "SRSH":
            one["hits"] = [950, *one["hits"][1:]]
    assert verdicts(rows)[LOOK_UP] == "does not hold"


def test_a_run_that_finds_nothing_counts_0():
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] == "SRSH" and one["seed"] == 0 and one["n_symbols"] >= 24:
            one["found"], one["hits"] = [0, *one["found"][1:]], [0, *one["hits"][1:]]
            one["found"][-1] += 1000
    found = verdicts(rows)
    assert found["Supervision cures look-ups that find nothing."] == "does not hold"
    assert found[SPREAD] == "does not hold"


@pytest.mark.parametrize(("more", "verdict"), [(0.5, "does not hold"), (20, "holds")])
def test_spreads_that_hardly_differ_are_ties(more, verdict):
    rows = rows_of(QUALITY)
    for one in rows:
        one["hits"][0] = 900 - (one["seed"] % 2) * (10 + more * (one["method"] == "WTA"))
    assert verdicts(rows)[SPREAD] == verdict


AGREE = "The nearest codes tell the same about the methods as look-ups do."


@pytest.mark.parametrize(("step", "verdict"), [(0.05, "holds"), (-0.05, "does not hold"), (-0.0001, "does not hold")])
def test_nearest_codes_and_look_ups_agree_if_pairs_of_methods_have_the_same_leader(step, verdict):
    rows = rows_of(QUALITY)
    places = {name: place for place, name in enumerate(("LSH", "SpectralHashing", "WTA", "MLH", "RSH", "SRSH"))}
    for one in rows:
        if one["method"] in places:
            one["hits"][0] = 500 + 1000 * step * places[one["method"]] + one["seed"]
    assert verdicts(rows)[AGREE] == verdict


def test_ties_in_look_ups_do_not_count_against_their_agreement_with_nearest_codes():
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] != "LSH":  # precision saturates, in the opposite order, for all but one
            one["hits"][0] = 1000 - one["precision_at"]["50"] / 10
    assert verdicts(rows)[AGREE] == "holds"


@pytest.mark.parametrize(
    ("method", "field", "value", "says"),
    [
        ("WTA", "noise", {"ap": 0.01, "changed": 0.5}, "Codes of ranks suffer less from noise than codes of values."),
        ("SRSH", "redundancy", 0.3, "Functions that are learned independently repeat each other."),
        ("BRE", "ap", 0.25, "BRE is better than spectral hashing and LSH."),
    ],
)
def test_the_other_claims_fail_on_numbers_against_them(method, field, value, says):
    rows = rows_of(QUALITY)
    for one in rows:
        if one["method"] == method:
            one[field] = value
    assert verdicts(rows)[says] == "does not hold"


def test_what_was_not_measured_is_not_judged():
    rows = rows_of(QUALITY)
    for one in rows:
        del one["redundancy"]
    assert verdicts(rows)["Functions that are learned independently repeat each other."] == "not measured"
    assert {verdict_of(claim, rows, LENGTHS, TUNED)[0] for claim in CLAIMS[2:5]} == {"not measured"}
    assert verdict_of(CLAIMS[2], rows, LENGTHS, PRINTED)[0] == "holds"


def test_a_column_is_judged_on_its_own_splits():
    rows = [one for one in rows_of(QUALITY) if one["method"] != "SRSH paper sampling" or one["seed"] < 2]
    page = verdict_page({"one": rows})
    assert "(splits: one 2)" in page
    assert "(splits: one 5)" in page
    assert "- **Fewer splits**: SRSH paper sampling 2.\n" in page
    assert "Fewer splits" not in verdict_page({"one": rows_of(QUALITY)})


def test_the_other_reading_is_named_where_it_gives_another_verdict():
    ahead = next(claim for claim in CLAIMS if claim.says.startswith("Learning the functions one after another"))
    number = CLAIMS.index(ahead) + 1
    rows = rows_of(QUALITY | {"SRSH paper": 0.6})
    page = verdict_page({"one": rows})
    assert f"| {ahead.says} | **does not hold** | **no** | holds | holds |" in page
    assert f"By the other reading of α, sampling, the verdict would be: claim {number}: holds" in page
    assert "the verdict would be" not in verdict_page({"one": rows_of(QUALITY)})


def test_columns_with_the_same_numbers_share_their_lines():
    page = verdict_page({"one": rows_of(QUALITY)})
    assert "- one, *as printed*, *sampling*, *default*: holds\n    - from 32 to 48 symbols" in page
    assert "- one, *as printed*, *sampling*: holds\n    - 8/12/16/24/32/48/64 symbols: WTA" in page
