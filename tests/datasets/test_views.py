"""Data sets of several views: small files of every published form, and sentences about those that do not fit."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from rankhash import FileFormatError, InvalidInputError
from rankhash.datasets import VIEW_DATASETS, load_view_dataset

RNG = np.random.default_rng(0)
IMAGES, T, L = RNG.normal(size=(30, 6)), RNG.normal(size=(30, 4)), RNG.integers(1, 4, 30)
FLAGS = np.eye(3)[L - 1]
HALVES = {"I_tr": IMAGES[:20], "I_te": IMAGES[20:], "T_tr": T[:20], "T_te": T[20:]}


def same(data, labels=L, n_train=20):
    np.testing.assert_array_equal(data.views["image"], IMAGES)
    np.testing.assert_array_equal(data.views["text"], T)
    np.testing.assert_array_equal(data.labels, labels)
    assert data.n_train == n_train
    return True


def test_wikipedia_as_published_has_its_classes_in_lists(tmp_path):
    savemat(tmp_path / "raw_features.mat", HALVES)
    for name, part in (("trainset", L[:20]), ("testset", L[20:])):
        lines = [f"text{i}\tpicture{i}\t{one}" for i, one in enumerate(part)]
        (tmp_path / f"{name}_txt_img_cat.list").write_text("\n".join(lines) + "\n")
    assert same(load_view_dataset("wiki", tmp_path))
    (tmp_path / "testset_txt_img_cat.list").unlink()
    with pytest.raises(InvalidInputError, match=r"needs testset_txt_img_cat\.list beside it"):
        load_view_dataset("wiki", tmp_path)


def test_wikipedia_with_two_kinds_of_texts(tmp_path):
    arrays = {"img_train": IMAGES[:20], "img_test": IMAGES[20:], "txt_train": T[:20], "txt_test": T[20:]}
    arrays |= {"tfidf_train": T[:20] * 2, "tfidf_test": T[20:] * 2, "y_train": L[:20], "y_test": L[20:]}
    np.savez(tmp_path / "wiki_crossmodal.npz", **arrays)
    assert same(load_view_dataset("wiki", tmp_path))
    np.testing.assert_array_equal(load_view_dataset("wiki-tfidf", tmp_path).views["text"], T * 2)


@pytest.mark.parametrize("name", ["mirflickr", "nus-wide"])
def test_halves_with_several_labels(tmp_path, name):
    file = tmp_path / "features.mat"
    savemat(file, HALVES | {"L_tr": FLAGS[:20], "L_te": FLAGS[20:]})
    data = load_view_dataset(name, file)
    assert same(data, FLAGS)
    assert [part.tolist() for part in data.split(3)] == [[*range(20)], [*range(20, 30)]]


def test_whole_tables_of_a_modern_matlab_file_are_split_at_random(tmp_path):
    with h5py.File(tmp_path / "FLICKR-25K.mat", "w", userblock_size=512) as file:
        for name, table in (("XAll", IMAGES), ("YAll", T), ("LAll", FLAGS)):
            file[name] = table.T
    with (tmp_path / "FLICKR-25K.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    data = load_view_dataset("mirflickr", tmp_path)
    assert same(data, FLAGS, 0)
    train, test = data.split(1)
    assert len(test) == 6
    assert sorted([*train, *test]) == [*range(30)]
    assert data.split(2)[1].tolist() != test.tolist()


def nus_folders(folder):
    """The folders that NUS-WIDE is published in, with 12 concepts of which each item has one at most."""
    for part in ("Low_Level_Features", "NUS_WID_Tags", "Groundtruth/TrainTestLabels"):
        (folder / part).mkdir(parents=True)
    concepts = np.eye(12)[np.minimum(np.arange(30) // 2, 11)]
    for half, rows in (("Train", slice(24)), ("Test", slice(24, 30))):
        np.savetxt(folder / f"Low_Level_Features/{half}_Normalized_CH.dat", IMAGES[rows, :4])
        np.savetxt(folder / f"Low_Level_Features/{half}_Normalized_WT.dat", IMAGES[rows, 4:])
        np.savetxt(folder / f"NUS_WID_Tags/{half}_Tags1k.dat", T[rows])
        for i in range(12):
            file = folder / f"Groundtruth/TrainTestLabels/Labels_c{i:02}_{half}.txt"
            np.savetxt(file, concepts[rows, i], fmt="%d")


def test_nus_wide_as_published_keeps_the_most_frequent_concepts(tmp_path):
    nus_folders(tmp_path)
    data = load_view_dataset("nus-wide", tmp_path)
    np.testing.assert_allclose(data.views["image"], IMAGES[:20])
    np.testing.assert_allclose(data.views["text"], T[:20])
    assert data.labels.shape == (20, 10)
    assert data.labels.sum(axis=1).tolist() == [1] * 20
    assert data.n_train == 20


def test_nus_wide_files_of_different_lengths_are_refused(tmp_path):
    nus_folders(tmp_path)
    np.savetxt(tmp_path / "NUS_WID_Tags/Train_Tags1k.dat", T[:7])
    with pytest.raises(FileFormatError, match=r"the Train files of NUS-WIDE .* have \[7, 24\] rows"):
        load_view_dataset("nus-wide", tmp_path)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (HALVES, "must hold pictures, texts and labels as I_tr"),
        (HALVES | {"L_tr": L[:7], "L_te": L[7:]}, "20 pictures, 20 texts and 7 labels to learn from"),
        (HALVES | {"L_tr": L[:20], "L_te": L[20:25]}, "image has 30 rows, and there are 25 labels"),
        ({"XAll": np.zeros((30, 2, 2)), "YAll": T, "LAll": FLAGS}, "image must be a table of numbers"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "one.npz", **arrays)
    with pytest.raises(FileFormatError, match=sentence):
        load_view_dataset("mirflickr", tmp_path / "one.npz")


@pytest.mark.parametrize("name", VIEW_DATASETS)
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(InvalidInputError, match=f"{name} needs one of .* put it there, or name the file"):
        load_view_dataset(name, tmp_path)


def test_an_unknown_name_and_a_damaged_file_are_sentences(tmp_path):
    with pytest.raises(InvalidInputError, match="data set of several views"):
        load_view_dataset("wikki", tmp_path)
    (tmp_path / "mirflickr.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises((FileFormatError, InvalidInputError), match="mirflickr"):
        load_view_dataset("mirflickr", tmp_path)
