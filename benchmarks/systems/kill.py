"""Kill a process that changes a collection, a thousand times at random moments, and look at what is left.

Each round starts a process that adds, replaces, deletes and compacts, and says so after each change; it is killed with
SIGKILL. Then the file must open, hold every change that was acknowledged, and every change whole or not at all; only
the one that was under way may be there without having been acknowledged.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from harness.results import Row
from harness.running import Run
from rankhash import LSH, Collection

KILLS, QUICK_KILLS, SEED = 1000, 5, 0
N_FEATURES = 16
MOST_ITEMS = 1500
LONGEST_WAIT = 0.08  # seconds from the first acknowledged change to the kill

VECTORS = np.random.default_rng(0).normal(size=(10_007, N_FEATURES)).astype(np.float32)
Items = dict[Any, tuple[int, dict[str, Any]]]


def rows(run: Run) -> Iterator[Row]:
    """One row per seed of the changes and of the moments."""
    for key in run.wanted([{"seed": SEED}]):
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            values = kill_often(QUICK_KILLS if run.quick else KILLS, key["seed"], folder)
        seconds = round(time.perf_counter() - started, 1)
        yield Row(key, values | {"agree": not values["failures"], "seconds": seconds})


def vectors_of(places: list[int]) -> Any:
    """The vectors of items, from what the model keeps of them."""
    return VECTORS[np.array(places, np.int64) % len(VECTORS)]


def planned(seed: int, step: int, items: Items) -> tuple[str, list[Any]]:
    """What is done in a step, the same whenever it is asked for the same items."""
    rng = random.Random(f"{seed},{step}")
    kind = rng.choices(["add", "upsert", "delete", "compact"], [6, 3, 3, 1])[0]
    if len(items) > MOST_ITEMS:
        kind = "delete"
    if kind in ("delete", "upsert") and not items:
        kind = "add"
    n = rng.choice([1, 3, 30, 300])
    if kind == "add":
        return kind, [f"s{step}-{i}" if i % 2 else step * 1000 + i for i in range(n)]
    some = rng.sample(sorted(items, key=str), min(n, len(items))) if kind in ("delete", "upsert") else []
    return kind, some


def done(kind: str, names: list[Any], step: int, items: Items) -> Items:
    """The items after a step."""
    after = {name: item for name, item in items.items() if name not in {*names}} if names else dict(items)
    if kind in ("add", "upsert"):
        after.update({name: (step * 1000 + i, {"step": step, "i": i}) for i, name in enumerate(names)})
    return after


def work(path: str, seed: int, step: int, items: Items, line: Connection) -> None:
    """Change the collection until somebody kills this process."""
    with Collection.open(path, "rw") as collection:
        while True:
            kind, names = planned(seed, step, items)
            items = done(kind, names, step, items)
            if kind in ("add", "upsert"):
                vectors = vectors_of([items[name][0] for name in names])
                change = collection.add if kind == "add" else collection.upsert
                change(vectors, names, [items[name][1] for name in names])
            elif kind == "delete":
                collection.delete(names)
            else:
                collection.compact()
            line.send(step)
            step += 1


def holds(collection: Collection, items: Items) -> bool:
    """Whether the collection holds exactly these items, in this order."""
    if collection.ids() != list(items):
        return False
    found = collection.get(list(items))
    vectors = vectors_of([place for place, _ in items.values()])
    assert collection.hasher is not None
    codes: Any = collection.hasher.encode(vectors) if items else []
    return all(
        item.metadata == fields and (item.vector == vector).all() and (item.code == code).all()
        for item, (_, fields), vector, code in zip(found, items.values(), vectors, codes, strict=True)
    )


def kill_once(path: str, seed: int, step: int, items: Items, wait: float) -> int:
    """The last step that was acknowledged before the kill; ``step - 1`` if none was."""
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(path, seed, step, items, theirs))
    process.start()
    theirs.close()
    last = step - 1
    try:
        if ours.poll(60):
            last = ours.recv()
        time.sleep(wait)
        os.kill(process.pid or 0, signal.SIGKILL)
        while True:
            last = ours.recv()
    except EOFError:
        return int(last)
    finally:
        process.join()
        ours.close()


def kill_often(kills: int, seed: int, folder: str) -> dict[str, Any]:
    """What happened in ``kills`` kills; ``failures`` must be empty."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["rankhash", "systems.kill"])
    path = f"{folder}/killed.rankhash"
    hasher = LSH(24, random_state=0).fit(np.random.default_rng(0).normal(size=(10, N_FEATURES)))
    Collection.create(path, hasher, store_vectors="float32").close()
    items: Items = {}
    rng, step = random.Random(seed), 0
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for kill in range(kills):
        last = kill_once(path, seed, step, items, rng.uniform(0, LONGEST_WAIT))
        counts["acknowledged"] += last + 1 - step
        for known in range(step, last + 1):
            items = done(*planned(seed, known, items), known, items)
        kind, names = planned(seed, last + 1, items)
        with Collection.open(path) as collection:
            step = last + 1
            after = done(kind, names, step, items)
            if kind == "compact" and holds(collection, items):
                counts["compacting or between changes"] += 1
            elif holds(collection, items):
                counts["nothing of the change under way was kept"] += 1
            elif holds(collection, after):
                counts["the whole change under way was kept"] += 1
                items, step = after, step + 1
            else:
                failures.append(f"kill {kill}: {len(collection)} items, neither {len(items)} nor {len(after)}")
            failures += [f"kill {kill}: {problem}" for problem in collection.check().problems]
        if failures:
            break
    return {"kills": kill + 1, "changes": dict(sorted(counts.items())), "failures": failures}
