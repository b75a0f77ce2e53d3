"""``panlearn warm``: compile what a first fit would compile, on all cores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from concurrent.futures import as_completed
from typing import Any

import click

import panlearn
from panlearn.cli.app import as_code, as_json, fail, progress_bar, write_json
from panlearn.core.errors import DataError, count


@click.command()
@click.argument("families", nargs=-1)
@as_json
@as_code
def warm(families: tuple[str, ...], as_json: bool, as_code: bool) -> int:
    """Compile the kernels of all FAMILIES, or of those named, on all cores.

    A kernel is compiled once a machine: what is there already is only read. Run it where the first
    call must be quick, such as in the making of a container's image; NUMBA_CACHE_DIR says where the
    code is kept, by default beside the package.
    """
    for family in families:
        if family not in panlearn.FAMILIES:
            raise DataError(f"no family {family!r}; there are {', '.join(panlearn.FAMILIES)}")
    if as_code:
        click.echo(
            "from panlearn.cli.trials import trials\n\n"
            f"for family in {list(families or panlearn.FAMILIES)}:\n"
            "    for run in trials(family).values():\n        run()"
        )
        return 0
    start = time.perf_counter()
    done = _run_all(families)
    seconds = time.perf_counter() - start
    failed = {name: result for name, result in done.items() if isinstance(result, str)}
    compiled = sum(result for result in done.values() if isinstance(result, int))
    if as_json:
        write_json({"tried": len(done), "compiled": compiled, "seconds": seconds, "failed": failed})
    else:
        for name, reason in failed.items():
            fail(f"{name}: {reason}", 1)
        tried = count(len(done), "trial")
        click.echo(f"{tried} in {seconds:.0f} s: {count(compiled, 'kernel')} compiled, others read")
    return 1 if failed else 0


def _run_all(families: tuple[str, ...]) -> dict[str, Any]:
    """Run every trial; how many kernels each compiled, or why it failed."""
    from panlearn.cli import trials
    from panlearn.core.inventory import families as importable

    names = [
        (family, name)
        for family in importable()
        if not families or family in families
        for name in trials.trials(family)
    ]
    done: dict[str, Any] = {}
    with progress_bar() as bar:
        line = bar.add_task("compiling", total=len(names))
        for name, result in _in_processes(trials.trial, names):
            done[name] = result
            bar.update(line, advance=1, description=name)
    return done


def _in_processes(function: Any, items: list[Any]) -> Iterator[Any]:
    """Map on all cores, results as they come."""
    from joblib import cpu_count
    from joblib.externals.loky import ProcessPoolExecutor

    with warnings.catch_warnings(), ProcessPoolExecutor(cpu_count()) as pool:
        # one that has compiled for long has grown by 300 megabytes, and another takes its place
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        for future in as_completed([pool.submit(function, item) for item in items]):
            yield future.result()
