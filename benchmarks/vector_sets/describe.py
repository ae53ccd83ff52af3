"""SIFT descriptors of photographs: ``python -m vector_sets.describe --photos DIR --out sift_many.npz``.

The photographs come from distribution packages of desktop backgrounds and the like; README.md names them. Needs
OpenCV (opencv-python-headless).
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}
MIN_BYTES = 30_000  # smaller files are icons and buttons
MAX_SIDE = 3840  # larger photographs are shrunk to this
PER_IMAGE = 10_000  # strongest keypoints kept per photograph
LIMIT = 1_250_000
FLAT = 0.15  # pictures with one grey value on a larger share are screenshots, drawings or cut-outs
SIZE_NAME = re.compile(r"\d+x\d+$")  # one picture in several sizes: named by its size


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True, help="folder of unpacked packages")
    parser.add_argument("--out", type=Path, required=True, help="file to write: X (n, 128) uint8, image (n,) int32")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    X, image = describe(options.photos)
    np.savez(options.out, X=X, image=image)
    print(f"{len(X)} descriptors of {len(np.unique(image))} pictures")


def describe(folder: Path) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Descriptors and the picture that each is from; files of one picture in several versions share a number."""
    files = [p for p in sorted(folder.rglob("*")) if p.suffix.lower() in SUFFIXES and _is_photograph(p)]
    files = [files[i] for i in np.random.default_rng(0).permutation(len(files))]
    numbers: dict[str, int] = {}
    parts, images, total = [], [], 0
    for file in files:
        if total >= LIMIT:
            break
        found = _descriptors(file)
        if found is None:
            continue
        number = numbers.setdefault(_picture(file), len(numbers))
        parts.append(found)
        images.append(np.full(len(found), number, dtype=np.int32))
        total += len(found)
        print(file.name, len(found), total, flush=True)
    return np.concatenate(parts)[:LIMIT], np.concatenate(images)[:LIMIT]


def _is_photograph(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size >= MIN_BYTES


def _picture(file: Path) -> str:
    """A name shared by all versions of one picture."""
    if SIZE_NAME.match(file.stem):
        return str(file.parents[1])
    return str(file.parent / re.sub(r"([-_ ]?(dark|light|[dl]|\d+))+$", "", file.stem))


def _descriptors(file: Path) -> NDArray[Any] | None:
    """Descriptors of the strongest keypoints, as uint8; None if it is no photograph or shows nothing."""
    picture = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
    if picture is None or np.bincount(picture.ravel()).max() > FLAT * picture.size:
        return None
    shrink = MAX_SIDE / max(picture.shape)
    if shrink < 1:
        picture = cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    _, found = cv2.SIFT_create(nfeatures=PER_IMAGE).detectAndCompute(picture, None)
    return None if found is None else np.unique(found.astype(np.uint8), axis=0)


if __name__ == "__main__":
    main()
