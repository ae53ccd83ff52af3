"""``rankhash reproduce``: the paper's experiments, with figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import _common
from ._reproduce_views import reproduce_views

if TYPE_CHECKING:
    from ..evaluation.run import Experiment, Failure
    from ..evaluation.store import Store


@click.command(
    epilog=_common.examples(
        "rankhash reproduce digits --runs 3",
        "rankhash reproduce mnist cifar10-gist --data FOLDER --jobs 2",
        "rankhash reproduce wiki wiki-tfidf --data FOLDER --runs 5",
    )
)
@click.argument("names", nargs=-1, required=True, metavar="DATASET...")
@click.option("--data", type=click.Path(path_type=Path), envvar="RANKHASH_DATA", help="Folder with the data sets.")
@click.option("--method", "methods", multiple=True, help="Method to compare; may be repeated. By default all.")
@click.option(
    "--length", "lengths", multiple=True, type=int, help="Code length; may be repeated. By default seven from 8 to 64."
)
@click.option(
    "--axis",
    type=click.Choice(["symbols", "bits", "both"]),
    default="both",
    show_default=True,
    help="Compare at equal symbols, at equal bits, or both.",
)
@click.option(
    "--runs", type=click.IntRange(1), default=10, show_default=True, help="Number of random splits per data set."
)
@click.option("--seed", type=click.IntRange(0), default=100, show_default=True, help="Seed of the first split.")
@click.option("--train", type=int, default=1000, show_default=True, help="Number of training vectors.")
@click.option("--queries", type=int, help="Number of queries. By default up to 3000.")
@click.option(
    "--database",
    type=int,
    default=0,
    show_default=True,
    help="Number of vectors in a separate database; 0 searches the training vectors.",
)
@click.option(
    "--truth",
    type=click.Choice(["neighbors", "classes"]),
    default="neighbors",
    show_default=True,
    help="Ground truth: near vectors, or vectors of the same class.",
)
@click.option("--tune", is_flag=True, help="Choose the parameters of each method by cross-validation at every length.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Parallel runs, one core each.")
@click.option("--again", is_flag=True, help="Repeat finished runs.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rankhash-reproduce"),
    show_default=True,
    help="Folder for the report.",
)
@click.option(
    "--results", type=click.Path(file_okay=False, path_type=Path), help="Folder for raw results. By default OUT/raw."
)
@click.option("--report-only", is_flag=True, help="Write the report of the finished runs, without running any.")
def command(
    names: tuple[str, ...],
    data: Path | None,
    methods: tuple[str, ...],
    lengths: tuple[int, ...],
    axis: str,
    runs: int,
    seed: int,
    train: int,
    queries: int | None,
    database: int,
    truth: str,
    tune: bool,
    jobs: int,
    again: bool,
    out: Path,
    results: Path | None,
    report_only: bool,
) -> None:
    """Repeat the paper's experiments on each DATASET and write a report with its six figures.

    Finished runs are stored: an interrupted command resumes when it is run again. DATASET is digits, mnist,
    fashion_mnist, cifar10-gist, labelme, peekaboom, or a file of vectors. As in the paper, methods learn from 1000
    vectors (--train); to choose a method for vectors of your own, use rankhash compare.

    The sets of pictures and texts wiki, wiki-tfidf, mirflickr and nus-wide compare hashers of several views in both
    directions, at 16, 32 and 64 bits; of the options, --data, --method, --length, --runs, --seed, --again, --out,
    --results and --report-only apply.
    """
    from ..datasets import VIEW_DATASETS, load_dataset
    from ..evaluation.methods import AXES, choose_methods
    from ..evaluation.protocol import Protocol
    from ..evaluation.run import LENGTHS, Experiment
    from ..evaluation.store import Store

    if {*names} & {*VIEW_DATASETS}:
        wanted = names, data, methods, lengths, range(seed, seed + runs)
        reproduce_views(*wanted, Store(results or out / "raw"), out, again, report_only)
        return
    chosen = tuple(choose_methods(methods or None))
    protocol = Protocol(train, queries, database, truth=truth)
    store = Store(results or out / "raw")
    sets = [load_dataset(name, data) for name in names]
    seeds = tuple(range(seed, seed + runs))
    axes = AXES if axis == "both" else (axis,)
    experiments = [Experiment(one, chosen, lengths or LENGTHS, axes, seeds, protocol, tune) for one in sets]
    failures = [] if report_only else [failure for one in experiments for failure in run(one, store, jobs, again)]
    write(experiments, store, out, failures)


def run(experiment: Experiment, store: Store, jobs: int, again: bool = False) -> list[Failure]:
    """The runs that failed, after all missing runs were executed."""
    from ..evaluation.run import Failure
    from ._progress import with_progress

    name, tasks = experiment.data.name, experiment.tasks() if again else experiment.missing(store)
    total = len(experiment.tasks())
    if len(tasks) < total:
        click.echo(f"{name}: {total - len(tasks)} of {total} runs are finished already", err=True)
    try:
        groups = experiment.groups(tasks)
        outcomes = with_progress(experiment.run(groups, store, jobs), len(groups), name)
        return [outcome for group in outcomes for outcome in group if isinstance(outcome, Failure)]
    except KeyboardInterrupt:
        raise click.ClickException(
            f"stopped; the finished runs are stored in {store.folder}, and the same command resumes there"
        ) from None


def write(experiments: list[Experiment], store: Store, out: Path, failures: list[Failure]) -> None:
    """Write the report of all runs with these settings, and print its path."""
    from ..evaluation.report import write_report

    for method, reason in sorted({(failure.task.method, failure.reason) for failure in failures}):
        click.echo(f"{method} is left out: {reason}", err=True)
    rows = {one.data.name: one.rows(store) for one in experiments}
    path = write_report([one.data for one in experiments], rows, experiments[0].lengths, out, failures)
    click.echo(f"The report is in {path.resolve()}")
