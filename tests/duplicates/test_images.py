"""Perceptual hashes as codes, and difference hashes of image files."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from rankhash import InvalidInputError, from_hashes, hash_images, near_pairs

PIL_Image = pytest.importorskip("PIL.Image", reason="images need Pillow")


class ImageHash:
    """As the package imagehash has it."""

    def __init__(self, flags):
        self.hash = flags

    def __str__(self):
        return f"{int(''.join('01'[int(flag)] for flag in self.hash.ravel()), 2):0{self.hash.size // 4}x}"


def test_numbers_strings_and_objects_give_the_same_codes(rng):
    objects = [ImageHash(rng.random((8, 8)) < 0.5) for _ in range(20)]
    codes = from_hashes(objects)
    strings = [str(one) for one in objects]
    np.testing.assert_array_equal(from_hashes(strings), codes)
    np.testing.assert_array_equal(from_hashes(["0x" + one.upper() for one in strings]), codes)
    numbers = [int(one, 16) for one in strings]
    np.testing.assert_array_equal(from_hashes(numbers), codes)
    np.testing.assert_array_equal(from_hashes(np.array(numbers, np.uint64)), codes)
    expected = [[bin(a ^ b).count("1") for b in numbers] for a in numbers]
    found = near_pairs(codes, 30).to_arrays()
    wanted = oracles.near_pairs(np.array(expected, np.float32), 30, same=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_lengths():
    assert from_hashes([]).shape == (0, 8)
    assert from_hashes([5], bits=256).shape == (1, 32)
    assert from_hashes(["f" * 64]).shape == (1, 32)


@pytest.mark.parametrize(
    ("hashes", "bits", "message"),
    [
        (["xyz0"], None, "hash 0 is not hexadecimal: 'xyz0'"),
        (["ff", "f"], None, "hash 1 does not have 8 bits: f"),
        ([1, -1], None, "hash 1 does not have 64 bits: -1"),
        ([1 << 64], None, "hash 0 does not have 64 bits"),
        (["fff"], None, "a multiple of 8 bits, got 12"),
        ([3.5], None, "but hash 0 is float"),
        ([1, True], None, "but hash 1 is bool"),
        ([1], 9999, "bits must be an integer from 8 to 4096"),
    ],
)
def test_bad_hashes_get_one_sentence(hashes, bits, message):
    with pytest.raises(InvalidInputError, match=message):
        from_hashes(hashes, bits)


def picture(rng, path, **options):
    """A smooth random picture."""
    points = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    image = PIL_Image.fromarray(points).resize((120, 90), PIL_Image.Resampling.BICUBIC)
    image.save(path, **options)
    return image


def test_copies_of_images_are_near_and_broken_files_are_listed(rng, tmp_path):
    for number in range(12):
        image = picture(rng, tmp_path / f"{number:02}.png")
        if number < 4:
            image.resize((80, 60)).save(tmp_path / f"{number:02}-small.jpg", quality=60)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (tmp_path / "empty.jpg").write_bytes(b"")
    hashes = hash_images([*sorted(tmp_path.iterdir()), tmp_path / "missing.png"])
    assert [path.name for path, _ in hashes.unreadable] == ["broken.png", "empty.jpg", "missing.png"]
    assert all(reason for _, reason in hashes.unreadable)
    found = near_pairs(hashes.codes, 6).to_arrays()
    names = [(hashes.paths[a].name, hashes.paths[b].name) for a, b in zip(found.first, found.second, strict=True)]
    assert names == [(f"{number:02}-small.jpg", f"{number:02}.png") for number in range(4)]
    assert hash_images([], size=16).codes.shape == (0, 32)


def test_hashes_are_those_of_imagehash(rng, tmp_path):
    imagehash = pytest.importorskip("imagehash", reason="the peer imagehash is not installed")
    for number in range(5):
        picture(rng, tmp_path / f"{number}.png")
    paths = sorted(tmp_path.iterdir())
    for size in (8, 16):
        expected = from_hashes([imagehash.dhash(PIL_Image.open(path), size) for path in paths])
        np.testing.assert_array_equal(hash_images(paths, size=size).codes, expected)


def test_sizes_that_give_no_whole_bytes_are_refused():
    with pytest.raises(InvalidInputError, match="size must be a multiple of 4, got 9"):
        hash_images([], size=9)
