"""``rankhash dedup``: near-duplicates of codes, vectors, texts, images and collections."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..duplicates import DuplicateGroups
from ..duplicates.groups import kept_of, linked
from ..errors import TooManyPairsError
from . import _common

if TYPE_CHECKING:
    from ._dedup_sources import Found

KINDS = ("auto", "codes", "collection", "images", "texts", "vectors")
LIMIT = 10_000_000


@click.command(
    epilog=_common.examples(
        "rankhash dedup photos --list groups.csv --report groups.html --resume hashes.jsonl",
        "rankhash dedup photos --list groups.csv --keep largest --move duplicates --yes",
        "rankhash dedup texts.jsonl --field body --threshold 0.7 --unit word",
        "rankhash dedup vectors.npy --threshold 0.98 --list groups.jsonl",
        "rankhash dedup items.rankhash --radius 2 --list groups.csv --delete --yes",
    )
)
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--kind", type=click.Choice(KINDS), default="auto", show_default=True, help="What PATH holds.")
@click.option("--radius", type=float, help="Largest distance of codes; 3, and 4 for images, if it is not given.")
@click.option("--threshold", type=float, help="Smallest Jaccard similarity of texts [0.8] or cosine of vectors [0.95].")
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean"]),
    default="cosine",
    show_default=True,
    help="For vectors; with euclidean, --threshold is the largest distance.",
)
@click.option(
    "--unit",
    type=click.Choice(["character", "word"]),
    default="character",
    show_default=True,
    help="What shingles of texts consist of.",
)
@click.option("--field", default="text", show_default=True, help="The field of JSON lines that holds the text.")
@click.option(
    "--arity",
    type=click.IntRange(2, 16),
    default=2,
    show_default=True,
    help="Values per symbol of codes in a .npy file.",
)
@click.option(
    "--link",
    type=click.Choice(["single", "complete"]),
    default="single",
    show_default=True,
    help="Whether members of a group are near some member or all of them.",
)
@click.option(
    "--keep",
    type=click.Choice(["first", "last", "largest"]),
    default="first",
    show_default=True,
    help="Which member of a group is kept: by order, or by size of file or text.",
)
@click.option(
    "--list", "list_file", type=click.Path(dir_okay=False), help="A .csv or .jsonl file of all groups to write."
)
@click.option("--report", type=click.Path(dir_okay=False), help="An HTML page of the groups to write.")
@click.option("--resume", type=click.Path(dir_okay=False), help="A file of image hashes to go on with and to add to.")
@click.option("--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Most pairs to look at.")
@click.option(
    "--delete", is_flag=True, help="Delete what is not kept: image files, or items of a collection. Needs --list."
)
@click.option(
    "--move",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Move image files that are not kept to a folder. Needs --list.",
)
@click.option("--yes", is_flag=True, help="Delete or move now; look at more pairs than --limit.")
@_common.key_option
@_common.as_json_option
def command(
    path: Path,
    kind: str,
    link: str,
    keep: str,
    list_file: str | None,
    report: str | None,
    delete: bool,
    move: str | None,
    yes: bool,
    as_json: bool,
    limit: int,
    **options: Any,
) -> None:
    """Find the near-duplicates in PATH: a folder of images, or a file of codes, vectors, texts or items.

    Nothing is changed unless --delete or --move is given together with --list and --yes. Without --yes they only
    write the list. Images and lines that cannot be read are listed and passed over.
    """
    from ._dedup_report import write_list, write_page

    _check_actions(path, list_file, delete, move)
    found = _found(path, kind, None if yes else limit, options)
    _check_kind(found.kind, delete, move)
    groups = _groups(found, link, keep)
    facts = _facts(found, groups)
    if list_file:
        write_list(list_file, found, groups)
        facts["list"] = list_file
    if report:
        write_page(report, found, groups, facts)
        facts["report"] = report
    if (delete or move) and yes:
        facts |= _remove(path, found, groups, move)
    elif delete or move:
        facts["next"] = f"look at {list_file}, then run the command again with --yes"
    _common.show(facts, as_json=as_json)


def _found(path: Path, kind: str, limit: int | None, options: dict[str, Any]) -> Found:
    """The near-duplicates; an error if there are more than ``limit`` pairs."""
    from ._dedup_sources import DedupOptions, find

    try:
        return find(path, kind, DedupOptions(max_pairs=limit, **options))
    except TooManyPairsError as error:
        raise click.UsageError(
            f"about {error.estimate:.2g} pairs are near, more than --limit {limit}; take a smaller radius or a larger "
            "threshold, raise --limit, or give --yes."
        ) from None


def _check_actions(path: Path, list_file: str | None, delete: bool, move: str | None) -> None:
    if (delete or move) and not list_file:
        raise click.UsageError("--delete and --move need --list FILE, which is written first.")
    if delete and move:
        raise click.UsageError("give either --delete or --move.")
    if move and Path(move).resolve().is_relative_to(path.resolve()):
        raise click.UsageError(f"--move {move} lies inside of {path}, where the next run would find the files again.")


def _check_kind(kind: str, delete: bool, move: str | None) -> None:
    if (delete and kind not in ("collection", "images")) or (move and kind != "images"):
        raise click.UsageError(
            f"{'--move' if move else '--delete'} does not work on {kind}; write a --list and use that."
        )


def _groups(found: Found, link: str, keep: str) -> DuplicateGroups:
    if keep == "largest" and found.sizes is None:
        raise click.UsageError(f"--keep largest is for images and texts, not for {found.kind}.")
    near = linked(found.pairs, link)
    return kept_of(
        near if found.copies is None else found.copies.groups_of_all(near), found.sizes if keep == "largest" else keep
    )


def _facts(found: Found, groups: DuplicateGroups) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "n_items": len(found.names),
        "n_unreadable": len(found.unreadable),
        "n_equal": 0 if found.copies is None else len(found.names) - len(found.copies.first),
        "n_pairs": len(found.pairs.first),
        "n_groups": len(groups),
        "n_dropped": len(groups.drop),
    }


def _remove(path: Path, found: Found, groups: DuplicateGroups, move: str | None) -> dict[str, Any]:
    """Delete or move all members that are not kept; a group whose kept file no longer exists stays unchanged."""
    if found.kind == "collection":
        from ..collection import Collection

        dropped = [found.names[place] for place in groups.drop.tolist()]
        with Collection.open(path, "rw") as items:
            return {"deleted": items.delete(dropped) if dropped else 0}
    n_done = n_gone = 0
    for ids, kept in zip(groups.groups, groups.keep.tolist(), strict=True):
        for place in ids[ids != kept].tolist():
            done = Path(found.names[kept]).exists() and _remove_file(Path(found.names[place]), path, move)
            n_done, n_gone = n_done + done, n_gone + (not done)
    return {"moved" if move else "deleted": n_done, "already_gone": n_gone}


def _remove_file(file: Path, root: Path, move: str | None) -> bool:
    """Delete or move one file; False if it no longer exists."""
    if not file.exists():
        return False
    if move is None:
        file.unlink()
        return True
    target = Path(move) / file.relative_to(root)
    if target.exists():
        raise click.UsageError(f"{target} is there already; {file} was not moved.")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(file, target)
    return True
