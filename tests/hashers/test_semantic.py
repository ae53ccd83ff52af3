"""SemanticHashing: the hasher contract, back-propagation against differences, and what fine-tuning promises."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, SemanticHashing, load_hasher
from rankhash._ranking import average_precision
from rankhash.errors import InvalidInputError
from rankhash.hashers import _network

from .inputs import X
from .learners import ProgressContract
from .pairs import PairContract

SMALL = {"n_hidden": 10, "n_pretraining": 1, "n_steps": 2, "batch_size": 20, "random_state": 0}


class TestContract(ProgressContract, PairContract):
    history_names = frozenset({"step", "loss"})

    @pytest.fixture
    def hasher(self):
        return SemanticHashing(9, **SMALL)


@parametrize_with_checks([SemanticHashing(4, n_hidden=5, n_pretraining=1, n_steps=1)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw_network(seed=0):
    rng = np.random.default_rng(seed)
    sizes = (5, 4, 3, 2)
    layers = [
        _network.Layer(rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n))
        for n, m in itertools.pairwise(sizes)
    ]
    back = [rng.normal(size=layer.weights.shape) for layer in layers]
    return _network.Network(layers, back), rng.normal(size=(7, 5)), rng.normal(size=(7, 2))


def assert_slopes(parameters, slopes, loss):
    """Every slope is the difference quotient of the loss."""
    assert len(parameters) == len(slopes)
    for array, slope in zip(parameters, slopes, strict=True):
        assert array.shape == slope.shape
        for place in np.ndindex(array.shape):
            kept = array[place]
            values = []
            for moved in (kept + 1e-6, kept - 1e-6):
                array[place] = moved
                values.append(loss())
            array[place] = kept
            assert slope[place] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


def test_slopes_of_the_reconstruction_are_those_of_differences():
    network, x, noise = draw_network()
    _, slopes = network.reconstruction(x, noise)
    assert_slopes(network.parameters(decoder=True), slopes, lambda: network.reconstruction(x, noise)[0])


def test_slopes_of_similar_neighbours_are_those_of_differences():
    network, x, _ = draw_network()
    similar = np.arange(7)[:, None] % 3 == np.arange(7) % 3

    def loss(codes):
        return _network.nca(codes, similar)

    _, slopes = network.code_loss(x, loss)
    assert_slopes(network.parameters(decoder=False), slopes, lambda: network.code_loss(x, loss)[0])


def test_the_probability_of_similar_neighbours_is_that_of_the_definition():
    codes, y = np.random.default_rng(0).random((6, 3)), np.array([0, 0, 1, 1, 1, 2])
    right = 0.0
    for i in range(6):
        chances = [0 if i == j else np.exp(-np.square(codes[i] - codes[j]).sum()) for j in range(6)]
        right += sum(c for c, other in zip(chances, y, strict=True) if other == y[i]) / sum(chances) / 6
    assert _network.nca(codes, y[:, None] == y)[0] == pytest.approx(1 - right)


def test_contrastive_divergence_learns_to_reconstruct():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.random((4, 12)) < 0.5, 50, axis=0).astype(np.float32)
    layer = _network.Layer(0.05 * rng.normal(size=(8, 12)), np.zeros(8), np.zeros(12))

    def error():
        hidden = expit(values @ layer.weights.T + layer.bias)
        return np.square(expit(hidden @ layer.weights + layer.back_bias) - values).mean()

    before = error()
    machine = _network.BoltzmannMachine(layer, gaussian=False)
    for _ in range(1000):
        machine.step(values[rng.integers(0, 200, 20)].astype(float), rng)
    assert error() < before / 3


def test_bits_are_those_of_the_layers():
    hasher = SemanticHashing(9, **SMALL).fit(X)
    hidden = expit((X - hasher.center_) @ hasher.first_.T + hasher.first_bias_)
    hidden = expit(hidden @ hasher.second_.T + hasher.second_bias_)
    scores = hidden @ hasher.projections_.T + hasher.bias_
    clear = np.abs(scores) > 1e-4
    np.testing.assert_array_equal(hasher.transform(X)[clear], (scores > 0)[clear])


def test_fine_tuning_lowers_the_loss_and_labels_find_classes():
    digits, y = load_digits(return_X_y=True)
    train, queries = digits[:900], digits[900:1200]
    scores = []
    for hasher, labels in [
        (SemanticHashing(16, n_hidden=40, n_steps=800, random_state=0), y[:900]),
        (SemanticHashing(16, n_hidden=40, n_steps=800, random_state=0), None),
        (LSH(16, center=True, random_state=0), None),
    ]:
        hasher.fit(train, labels)
        if hasattr(hasher, "history_"):
            assert hasher.history_["loss"][-1] < 0.9 * hasher.history_["loss"][0]
        differ = (hasher.transform(queries)[:, None] != hasher.transform(train)).sum(axis=2)
        scores.append(average_precision(differ, y[900:1200, None] == y[:900]))
    assert scores[0] > scores[1] + 0.1
    assert scores[1] > scores[2]


def test_a_loaded_network_is_the_same(tmp_path):
    hasher = SemanticHashing(9, **SMALL).fit(X, np.arange(len(X)) % 4)
    hasher.save(tmp_path / "hasher")
    loaded = load_hasher(tmp_path / "hasher")
    np.testing.assert_array_equal(loaded.second_, hasher.second_)


@pytest.mark.parametrize(("parameter", "value"), [("n_hidden", 0), ("batch_size", 1), ("n_steps", 0)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        SemanticHashing(**{parameter: value}).fit(X)
    with pytest.raises(InvalidInputError, match="noise must be a number from 0"):
        SemanticHashing(noise=-1).fit(X)
