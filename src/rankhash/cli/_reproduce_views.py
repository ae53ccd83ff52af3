"""``rankhash reproduce`` of data sets of several views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ._progress import with_progress

if TYPE_CHECKING:
    from ..evaluation.store import Store


def reproduce_views(
    names: Sequence[str],
    data: Path | None,
    methods: Sequence[str],
    lengths: Sequence[int],
    seeds: Sequence[int],
    store: Store,
    out: Path,
    again: bool,
    report_only: bool,
) -> None:
    """Run what is missing of every method, length and seed, and write the report."""
    from ..datasets import VIEW_DATASETS, load_view_dataset
    from ..evaluation.view_report import write_view_report
    from ..evaluation.view_runs import LENGTHS, VIEW_METHODS, ViewExperiment

    if not {*names} <= {*VIEW_DATASETS}:
        raise click.UsageError(f"{', '.join(VIEW_DATASETS)} have reports of their own; run the other sets apart.")
    if data is None:
        raise click.UsageError("data sets of several views are not downloaded; say where they are with --data.")
    chosen = tuple(methods) or tuple(VIEW_METHODS), tuple(sorted(lengths)) or LENGTHS, tuple(seeds)
    experiments = [ViewExperiment(load_view_dataset(name, data), *chosen) for name in names]
    for one in [] if report_only else experiments:
        missing = len(one.tasks()) - (0 if again else len(one.rows(store)))
        for task, reason in with_progress(one.run(store, again=again), missing, one.data.name):
            if reason is not None:
                click.echo(f"{task.method} at {task.bits} bits is left out: {reason}", err=True)
    rows = {one.data.name: one.rows(store) for one in experiments}
    path = write_view_report(experiments, rows, out)
    click.echo(f"The report is in {path.resolve()}")
