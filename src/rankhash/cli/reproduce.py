"""``rankhash reproduce``: the paper's experiments, with figures."""

from __future__ import annotations

from pathlib import Path

import click

from ..datasets import load_dataset
from ..evaluation.methods import AXES, choose_methods
from ..evaluation.protocol import Protocol
from ..evaluation.report import write_report
from ..evaluation.run import LENGTHS, Experiment, Failure
from ..evaluation.store import Store
from . import _common
from ._progress import followed


@click.command(
    epilog=_common.examples(
        "rankhash reproduce digits --runs 3",
        "rankhash reproduce mnist cifar10-gist --data FOLDER --jobs 2",
    )
)
@click.argument("names", nargs=-1, required=True, metavar="DATASET...")
@click.option("--data", type=click.Path(path_type=Path), envvar="RANKHASH_DATA", help="Folder with the sets' files.")
@click.option("--method", "methods", multiple=True, help="A method to compare; may be repeated. All, if none is named.")
@click.option("--length", "lengths", multiple=True, type=int, help="A code length; may be repeated. 8 to 64, if none.")
@click.option("--axis", type=click.Choice([*AXES, "both"]), default="both", help="At equal symbols, bits, or both.")
@click.option("--runs", type=click.IntRange(1), default=10, show_default=True, help="Random splits of each set.")
@click.option("--seed", type=click.IntRange(0), default=100, show_default=True, help="Seed of the first split.")
@click.option("--train", type=int, default=1000, show_default=True, help="Vectors to learn from.")
@click.option("--queries", type=int, help="Queries; up to 3000, if not given.")
@click.option(
    "--database", type=int, default=0, help="Vectors to search in, apart from the others; 0: the training set."
)
@click.option("--truth", type=click.Choice(["neighbors", "classes"]), default="neighbors", show_default=True)
@click.option("--tune", is_flag=True, help="Choose each method's parameters by cross-validation, at every length.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at a time, one core each.")
@click.option("--again", is_flag=True, help="Do also the runs that are finished.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rankhash-reproduce"))
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), help="Raw results; OUT/raw, if not given.")
@click.option("--report-only", is_flag=True, help="Run nothing; write the report of the runs that are finished.")
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

    Finished runs are kept: a command that was stopped goes on where it was when it is given again. DATASET is digits,
    mnist, fashion_mnist, cifar10-gist, labelme, peekaboom, or a file with vectors.
    """
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
    """Do what is missing; the runs that could not be done."""
    name, tasks = experiment.data.name, experiment.tasks() if again else experiment.missing(store)
    total = len(experiment.tasks())
    if len(tasks) < total:
        click.echo(f"{name}: {total - len(tasks)} of {total} runs are finished already", err=True)
    try:
        outcomes = followed(experiment.run(tasks, store, jobs), len(tasks), name)
        return [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    except KeyboardInterrupt:
        raise click.ClickException(
            f"stopped; the finished runs are kept in {store.folder}, and the same command goes on from there"
        ) from None


def write(experiments: list[Experiment], store: Store, out: Path, failures: list[Failure]) -> None:
    """Write the report of all runs with these settings and say where it is."""
    for method, reason in sorted({(failure.task.method, failure.reason) for failure in failures}):
        click.echo(f"{method} is left out: {reason}", err=True)
    rows = {one.data.name: one.rows(store) for one in experiments}
    path = write_report([one.data for one in experiments], rows, experiments[0].lengths, out, failures)
    click.echo(f"The report is in {path.resolve()}")
