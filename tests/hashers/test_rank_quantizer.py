"""RankQuantizer: the hasher contract, the codebooks, the refinement, the tables, and files of earlier versions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from learning_oracles import decoded, refine_loss
from oracles import linear_scores, winners
from rankhash import JRSH, FlatIndex, RankQuantizer, _files, _kernels, load_hasher
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers._quantizer import decoder
from rankhash.hashers._quantizer.decoder import MAX_ROWS, learn_decoder, score_tables
from rankhash.hashers._quantizer.refinement import learn_refinement
from rankhash.vectors import batches

from .contract import HasherContract
from .inputs import N_FEATURES, X, peak_memory

FAST = {"random_state": 0, "verbose": False}
VARIANTS = {
    "winners": RankQuantizer(20, 2, **FAST),
    "refined": RankQuantizer(6, 16, refine=3, **FAST),
}


class TestContract(HasherContract):
    history_names = frozenset({"step", "error"})

    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request, monkeypatch):
        monkeypatch.setattr(decoder, "N_ROUNDS", 3)
        monkeypatch.setattr(learn_refinement, "__defaults__", (2,))
        return clone(VARIANTS[request.param])

    def test_a_large_input_is_never_copied_whole(self, fitted):
        large = np.random.default_rng(0).normal(size=((64 << 20) // 8 // N_FEATURES, N_FEATURES))
        learner = clone(fitted).set_params(max_points=10_000)
        codes, peak = peak_memory(lambda: learner.fit(large).encode(large))
        assert peak - codes.nbytes < large.nbytes / 2

    def test_score_tables_are_distances_to_the_own_symbol(self, fitted):
        tables, symbols = fitted.score_tables(X), fitted.transform(X)
        assert tables.dtype == np.float32
        assert tables.shape == (len(X), fitted.layout_.n_symbols, fitted.layout_.arity)
        own = np.take_along_axis(tables, symbols[:, :, None].astype(np.intp), axis=2).sum(axis=(1, 2))
        assert own.mean() < 0.25 * tables.mean(axis=2).sum(axis=1).mean()


def decoding(n_symbols, arity=16, **options):
    return RankQuantizer(n_symbols, arity, **FAST, **options)


def draw(n=600, d=10, seed=0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(12, d)) * np.linspace(3, 0.5, d)
    return (centres[rng.integers(0, 12, n)] + rng.normal(size=(n, d)) * 0.5 + 7).astype(np.float32)


def spread(n, seed=0):
    """Correlated vectors without clusters, 20 dimensions."""
    mix = np.random.default_rng(98).normal(size=(20, 20)) * np.linspace(2, 0.3, 20)[:, None]
    return (np.random.default_rng(seed).normal(size=(n, 20)) @ mix).astype(np.float32)


def learn(data, n_symbols, arity, **options):
    options = {"max_points": 100_000, "n_rounds": 8} | options
    return learn_decoder(batches(data), n_symbols, arity, np.random.RandomState(0), **options)


@pytest.mark.parametrize("arity", range(2, 17))
def test_winners_are_the_nearest_centroids_for_every_arity(arity):
    data = draw()
    hasher = decoding(3, arity).fit(data)
    symbols = hasher.transform(data)
    assert symbols.max() == arity - 1
    rows = hasher.decoder_.astype(np.float64).reshape(3, arity, -1)
    centred = data.astype(np.float64) - hasher.center_
    gaps = ((centred[:, None, None, :] - rows) ** 2).sum(axis=3)
    # the parts are orthogonal: a row that is nearer in the whole space is nearer in its part
    own = np.take_along_axis(gaps, symbols[:, :, None].astype(np.intp), axis=2)[:, :, 0]
    np.testing.assert_allclose(own, gaps.min(axis=2), rtol=1e-4, atol=1e-3)
    scores = linear_scores(data, hasher.projections_, hasher.bias_, hasher.center_, 3, arity)
    expected, lead = winners(scores)
    assert (symbols == expected)[lead > 1e-4].all()


@pytest.mark.parametrize("refine", [0, 4])
@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_tables_are_distances_to_decoded_vectors(metric, refine):
    data, queries = draw(), draw(9, seed=1)
    hasher = decoding(6, 8, refine=refine).fit(data)
    arrays = hasher._decoder_arrays()
    symbols = hasher.transform(data)
    tables = score_tables(queries, arrays, 6, metric).astype(np.float64)
    sums = np.array([[sum(t[place, s] for place, s in enumerate(code)) for code in symbols] for t in tables])
    rows = hasher.decoder_.astype(np.float64)
    vectors = hasher.center_ + decoded(symbols, rows)
    if metric == "ip":
        np.testing.assert_allclose(sums, -(queries.astype(np.float64) @ vectors.T), rtol=1e-4)
        return
    lengths = decoded(symbols, hasher.lengths_[:, None].astype(np.float64))[:, 0]
    off = lengths - (decoded(symbols, rows) ** 2).sum(axis=1)
    exact = ((queries[:, None, :] - vectors) ** 2).sum(axis=2)
    np.testing.assert_allclose(sums, exact + off, rtol=1e-4, atol=1e-2)
    assert np.corrcoef(sums.ravel(), exact.ravel())[0, 1] > 0.99
    np.testing.assert_allclose(hasher.decode(hasher.layout_.pack(symbols)), vectors, rtol=1e-5)


def test_refined_codes_describe_vectors_at_least_as_well_as_winners():
    digits = np.random.default_rng(0).permutation(load_digits().data).astype(np.float32)
    data, fresh = digits[:900], digits[900:]
    hasher, plain = decoding(8, refine=8).fit(data), decoding(8).fit(data)
    codes = _kernels.encode(fresh, hasher.projections_, hasher.bias_, hasher.center_, 8, 16, 1)[0]
    np.testing.assert_array_equal(codes, plain.encode(fresh))
    start, refined = _kernels.unpack(codes, 8, 16), hasher.transform(fresh)
    penalty, scale = (float(value) for value in hasher.refinement_[1:])
    x, rows = (fresh - hasher.center_).astype(np.float64) / scale, hasher.decoder_.astype(np.float64) / scale
    before, after = (refine_loss(x, s, rows, hasher.crossing_, penalty) for s in (start, refined))
    assert (after <= before + 1e-4).all()
    errors = [((fresh - h.decode(h.encode(fresh))) ** 2).sum(axis=1).mean() for h in (plain, hasher)]
    assert errors[1] < 0.98 * errors[0]


@pytest.mark.parametrize("refine", [0, 2])
@pytest.mark.parametrize(
    "data",
    [
        draw(3, 5),
        draw(2, 1),
        draw(40, 1),
        np.repeat(draw(2, 6), 30, axis=0),
        draw(50, 300),
        draw(100, 4) * 1e-18,
        draw(100, 4) * 1e15,
        np.hstack([draw(80, 3), np.ones((80, 3), np.float32)]),
    ],
    ids=["3 points", "2 points", "1 dimension", "duplicates", "few points", "tiny", "huge", "constant columns"],
)
def test_awkward_vectors_give_finite_models(data, refine):
    hasher = decoding(9, 16, refine=refine).fit(data)
    assert np.isfinite(hasher.history_["error"]).all()
    for name in (*hasher._code_arrays, *hasher._side_arrays):
        array = getattr(hasher, name)
        assert array is None or np.isfinite(array).all(), name
    assert hasher.transform(data).shape == (len(data), 9)
    assert np.isfinite(hasher.score_tables(data)).all()


@pytest.mark.parametrize("refine", [0, 4])
def test_a_scan_finds_most_of_the_nearest(refine):
    data, queries = spread(3000), spread(50, seed=5)
    hasher = decoding(12, 16, refine=refine).fit(spread(3000, seed=9))
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(data))
    found = index.search_scores(hasher.score_tables(queries), 10).ids
    truth = np.argsort(((queries[:, None] - data) ** 2).sum(axis=2), axis=1)[:, :10]
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(found, truth, strict=True)]) > 4


def test_too_many_rows_and_constant_vectors_are_refused():
    with pytest.raises(InvalidInputError, match=f"must be at most {MAX_ROWS}, got {MAX_ROWS + 16}; use fewer symbols"):
        learn(draw(), MAX_ROWS // 16 + 1, 16)
    with pytest.raises(InvalidInputError, match="all vectors are the same"):
        learn(np.full((30, 4), 3.3), 2, 4)


def test_a_wrong_parameter_gets_one_sentence():
    data = draw(100)
    with pytest.raises(InvalidInputError, match="refine must be an integer from 0 to 10000, got -1"):
        decoding(4, refine=-1).fit(data)
    with pytest.raises(InvalidInputError, match="max_points must be an integer from 3"):
        decoding(4, max_points=2).fit(data)
    with pytest.raises(InvalidInputError, match="callback must be a function or None, got 3"):
        decoding(4, callback=3).fit(data)


def test_fitting_without_refinement_forgets_the_refinement():
    data = draw(100)
    hasher = decoding(4, refine=2).fit(data)
    hasher.set_params(refine=0).fit(data)
    assert hasher.refinement_ is None
    assert hasher.fingerprint == clone(hasher).fit(data).fingerprint
    np.testing.assert_array_equal(hasher.encode(data), clone(hasher).fit(data).encode(data))


def test_the_course_of_learning_can_be_seen():
    pytest.importorskip("plotly", reason="pictures need plotly")
    records = []
    hasher = decoding(4, refine=1, callback=records.append).fit(draw(300))
    assert [record["error"] for record in records] == hasher.history_["error"]
    assert [record["step"] for record in records] == hasher.history_["step"]
    assert hasher.history_["error"][-1] < hasher.history_["error"][0] < 1
    assert len(hasher.plot_history().data) == 1
    assert "4 symbols of arity 16" in hasher.report()


@pytest.mark.parametrize("n_copies", [10, 400])
@pytest.mark.parametrize("refine", [0, 2])
def test_copies_get_equal_codes(refine, n_copies):
    vectors = np.repeat(draw(6, 5), n_copies, axis=0)
    codes = decoding(6, refine=refine).fit(vectors).encode(vectors).reshape(6, n_copies, -1)
    assert (codes == codes[:, :1]).all()


OLD = {"target": "ranking", "radius": 2, "features": "linear", "n_anchors": 1000, "n_neighbors": 50, "n_steps": None}
OLD |= {"batch_size": 1024, "noise": None, "max_points": 1_000_000, "random_state": 0, "callback": None}


@pytest.mark.parametrize("refine", [0, 2])
def test_what_jrsh_learned_to_reconstruct_loads_as_a_rank_quantizer(refine, tmp_path):
    data, path = draw(100), tmp_path / "old"
    hasher = decoding(4, refine=refine).fit(data)
    hasher.save(path)
    header, arrays = _files.read_file(path, "hasher")
    old = OLD | {"n_symbols": 4, "arity": "auto", "verbose": False, "objective": "reconstruction", "refine": refine}
    _files.write_file(path, arrays, header | {"method": "JRSH", "parameters": old}, "hasher")
    loaded = load_hasher(path)
    assert type(loaded) is RankQuantizer
    assert loaded.get_params() == hasher.get_params()
    assert loaded.fingerprint == hasher.fingerprint == loaded.fit(data).fingerprint


def test_files_of_jrsh_with_its_former_parameters_load(tmp_path):
    data, path = draw(100), tmp_path / "old"
    hasher = JRSH(4, n_steps=3, n_neighbors=5, **FAST).fit(data)
    hasher.save(path)
    header, arrays = _files.read_file(path, "hasher")
    parameters = header["parameters"] | {"objective": "pairs", "refine": 0}
    _files.write_file(path, arrays, header | {"parameters": parameters}, "hasher")
    loaded = load_hasher(path)
    assert type(loaded) is JRSH
    assert loaded.get_params() == hasher.get_params()
    np.testing.assert_array_equal(loaded.encode(data), hasher.encode(data))


@pytest.mark.parametrize("wrong", [{"max_points": "many"}, {"max_points": None}])
def test_a_former_file_that_makes_no_sense_is_refused(wrong, tmp_path):
    data, path = draw(100), tmp_path / "old"
    decoding(4).fit(data).save(path)
    header, arrays = _files.read_file(path, "hasher")
    old = OLD | {"n_symbols": 4, "arity": 16, "verbose": True, "objective": "reconstruction", "refine": 0} | wrong
    _files.write_file(path, arrays, header | {"method": "JRSH", "parameters": old}, "hasher")
    with pytest.raises(FileFormatError, match="does not describe a usable JRSH"):
        load_hasher(path)
