"""Compute what a run does, without Snakemake, in whatever Python this is.

    python tests/portability/computed.py OUT [--scale tiny] [--root FOLDER] [--backwards] [--only NAME ...]

Prepares data sets, fits baselines, runs cells and audits, and writes their Parquet files under OUT. Several processes
may work on one OUT: each experiment, and each audit, is taken by whoever comes first. Imported by no test: the tests
start it with other libraries, in other places, under other settings of the machine.
"""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path


def parts(root: Path, out: Path, scale: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield what there is to compute, by name."""
    from dperm_pipeline import config_files, experiments, plan
    from dperm_pipeline.audits import attacks
    from dperm_pipeline.datasets import fetch

    config = config_files.parse(root / "config/config.yaml")
    planned = plan.load({**config, "scale": scale}, root, unavailable=fetch.unavailable)

    def experiment(one):
        from dperm_pipeline import tables
        from dperm_pipeline.datasets import prepare, prepared

        files = {}
        for name in one.datasets:
            # Each experiment its own copy: no process waits for another.
            files[name] = str(out / one.name / "prepared" / f"{name}.parquet")
            prepared.write(prepare.prepare(planned.datasets[name]), files[name], metadata={})
        fits = {}
        for name, baseline in one.baselines.items():
            fits[name] = str(out / one.name / "baselines" / f"{name}.parquet")
            rows = experiments.run_baseline(baseline, data=files[baseline["point"]["dataset"]])
            tables.write(rows, fits[name], metadata={})
        for (mechanism, scenario), cells in one.jobs.items():
            given = {}
            if "baseline" in cells[0]:
                given = {"data": files[cells[0]["point"]["dataset"]], "baseline": fits[cells[0]["baseline"]]}
            rows = experiments.run_all(cells, **given)
            tables.write_all(rows, out / one.name / "cells" / mechanism / f"{scenario}.parquet", metadata={})

    for one in planned.of_scale(scale):
        yield one.name, lambda one=one: experiment(one)
    for (mechanism, pair), audit in planned.audits[scale].items():
        path = out / "audits" / mechanism / f"{pair}.parquet"
        yield f"audit {mechanism} {pair}", lambda audit=audit, path=path: attacks.run([audit], str(path), metadata={})


def main() -> int:
    """Compute the parts that nobody else has taken; status 1 if one of them failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", default="tiny")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--backwards", action="store_true", help="last part first")
    parser.add_argument("--only", nargs="*", default=(), help="names of parts")
    given = parser.parse_args()
    # The library that stands beside the configuration, not one that is installed.
    sys.path.insert(0, str(given.root / "src"))
    found = dict(parts(given.root, given.out, given.scale))
    unknown = set(given.only) - set(found)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(found)}")
    chosen = [name for name in found if not given.only or name in given.only]
    taken = given.out / "taken"
    taken.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in reversed(chosen) if given.backwards else chosen:
        try:
            (taken / name).touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            found[name]()
        except Exception:
            failed = True
            print(f"{name} failed:", file=sys.stderr)
            traceback.print_exc()
    return failed


if __name__ == "__main__":
    sys.exit(main())
