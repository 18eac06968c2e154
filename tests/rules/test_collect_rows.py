"""collect_rows: the union of the cells, or a message that names the corrupt ones, which are gone then."""

import math
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tidy_rows import plain
from tidy_rows import rows as some_rows

from dperm_pipeline import stamps, tables

OUT = "results/tiny/kifer2012-output/rows.parquet"
PATHS = ("cells/a/x.parquet", "cells/b/x.parquet", "baselines/x.parquet")
METADATA = {"skipped": {"adult": "is not here"}, "seed": 5, "code": "digest of the code"}


@pytest.fixture
def cells():
    """Two cells with columns of their own and a baseline without; returns path -> rows."""
    made = {
        "cells/a/x.parquet": some_rows(4, seed=1, ridge_multiple=2.0, chosen=True),
        "cells/b/x.parquet": some_rows(3, seed=2, ridge_multiple=20.0, chosen=False),
        "baselines/x.parquet": some_rows(2, seed=3),
    }
    for path, rows in made.items():
        tables.write(rows, path, metadata={"cell": path, "code": "any"})
    return made


@pytest.fixture
def collect_rows(run_script):
    def run(what):
        return what(
            "collect_rows",
            input={"cells": ["cells/b/x.parquet", "cells/a/x.parquet"], "baselines": ["baselines/x.parquet"]},
            output={"rows": OUT},
            params={**METADATA, "made": {path: stamps.fingerprint({"cell": path}) for path in PATHS}},
            wildcards={"scale": "tiny", "experiment": "kifer2012-output"},
        )

    return run


def test_every_row_once(collect_rows, run_script, cells):
    collect_rows(run_script)
    expected = pd.concat([cells[path] for path in sorted(cells)], ignore_index=True)
    collected = tables.read(OUT)
    assert plain(collected[expected.columns]) == plain(expected)
    assert len(collected) == 9
    assert tables.metadata(OUT).items() >= METADATA.items()


def test_the_order_of_the_cells_does_not_matter(collect_rows, run_script, cells):
    collect_rows(run_script)
    direct = Path("direct.parquet")
    tables.collect(sorted(cells, reverse=True), direct, metadata=METADATA)
    assert direct.read_bytes() == Path(OUT).read_bytes()


def test_corrupt_cells_are_named_and_deleted(collect_rows, run_script, cells):
    bad = ["baselines/x.parquet", "cells/b/x.parquet"]
    Path(bad[0]).write_bytes(b"not parquet")
    Path(bad[1]).write_bytes(Path(bad[1]).read_bytes()[:-50])
    said = collect_rows(run_script.fails)
    assert all(path in said for path in bad)
    assert "cells/a/x.parquet" not in said
    assert [path for path in cells if Path(path).exists()] == ["cells/a/x.parquet"]
    for path in bad:
        tables.write(cells[path], path, metadata={"cell": path})
    collect_rows(run_script)
    assert len(tables.read(OUT)) == 9


def test_a_table_that_is_no_cell_is_not_collected(collect_rows, run_script, cells):
    cells["cells/a/x.parquet"].drop(columns="metric").to_parquet("cells/a/x.parquet")
    assert "cells/a/x.parquet: column" in collect_rows(run_script.fails)
    assert not Path("cells/a/x.parquet").exists()


def test_the_rows_of_another_cell_are_not_collected(collect_rows, run_script, cells):
    """Good Parquet of the right columns in the wrong place."""
    shutil.copy("cells/b/x.parquet", "cells/a/x.parquet")
    assert "cells/a/x.parquet holds what another job made" in collect_rows(run_script.fails)
    assert not Path("cells/a/x.parquet").exists()
    assert Path("cells/b/x.parquet").exists()


def test_a_number_that_is_none_is_not_collected(collect_rows, run_script, cells):
    path = "cells/a/x.parquet"
    table = pq.read_table(path)
    value = pa.array([math.nan, *table["value"].to_pylist()[1:]])
    pq.write_table(table.set_column(table.column_names.index("value"), "value", value), path)
    assert f"{path}: 1 rows say status=ok but hold no finite value" in collect_rows(run_script.fails)
    assert not Path(path).exists()
