"""Collections with a hasher of several views: items and queries of any view."""

import numpy as np
import pytest

from rankhash import CCAITQ, ITQ, Collection, FlatIndex
from rankhash.errors import InvalidInputError

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X, Z = (3 * RNG.normal(size=(3, d))[Y] + RNG.normal(size=(60, d)) for d in (9, 5))


@pytest.fixture
def hasher():
    return CCAITQ(16, random_state=0).fit({"image": X, "text": Z})


def test_queries_of_any_view_find_items_of_all_views(hasher, tmp_path):
    path = tmp_path / "items.rankhash"
    with Collection.create(path, hasher) as items:
        items.add(X[:30], ids=[f"image {i}" for i in range(30)])
        items.add(Z[:30], ids=[f"text {i}" for i in range(30)], view="text")
        items.upsert(Z[30:31], ids=["text 0"], view=1)
    index = FlatIndex(hasher.layout_)
    index.add(np.concatenate([hasher.encode(X[:30]), hasher.encode(Z[1:30], view=1), hasher.encode(Z[30:31], view=1)]))
    with Collection.open(path) as items:
        for view, part in (("image", X), (1, Z), (None, X)):
            found = items.search(part[40:45], 60, view=view)
            expected = index.search(hasher.encode(part[40:45], view=view or 0), 60)
            np.testing.assert_array_equal(found.distances, expected.distances)
            assert {*found.ids[0]} == {f"image {i}" for i in range(30)} | {f"text {i}" for i in range(30)}


def test_wrong_views_are_refused_and_change_nothing(hasher):
    with Collection.create(":memory:", hasher) as items:
        for call in (items.add, items.search):
            with pytest.raises(InvalidInputError, match="one of 'image', 'text', got 'sound'"):
                call(X, view="sound")
            with pytest.raises(InvalidInputError, match=r"9 features, but .* expecting 5"):
                call(X, view="text")
        with pytest.raises(InvalidInputError, match="leave view out"):
            items.add(Z, view="text", skip_duplicates=1)
        assert len(items) == 0
    with Collection.create(":memory:", ITQ(8).fit(X)) as items, pytest.raises(InvalidInputError, match="has no views"):
        items.search(X, view=0)


def test_stored_vectors_are_those_of_the_first_view(hasher):
    with Collection.create(":memory:", hasher, store_vectors="float32") as items:
        items.add(X)
        with pytest.raises(InvalidInputError, match="stores vectors of the view 'image' only"):
            items.add(Z, view="text")
        assert len(items) == 60
