"""make_table: the numbers as CSV and as Markdown, or a message and neither."""

from pathlib import Path

import fake_rows
import numpy as np
import pandas as pd
import pytest

CSV, MD = "results/tiny/tables/it.csv", "results/tiny/tables/it.md"


@pytest.fixture
def make_table(run_script):
    def run(what, name, rows="rows.parquet"):
        return what(
            "make_table",
            input={"rows": rows},
            output={"csv": CSV, "md": MD},
            params={"code": "digest", "recipe": [], "words": {}},
            wildcards={"scale": "tiny", "table": name},
        )

    return run


def test_the_numbers_are_the_means_of_the_rows(make_table, run_script):
    rows = fake_rows.rows(datasets=("breast-cancer", "diabetes"), epsilons=(0.1, 1.0), repeats=7)
    fake_rows.write(rows, "rows.parquet")
    make_table(run_script, "kifer2012-output")
    table = pd.read_csv(CSV)
    chosen = rows[rows["chosen"] & (rows["metric"] == "excess_risk")]
    means = chosen.groupby(["mechanism", "calibration", "dataset", "epsilon", "delta"])["value"].mean()
    private = table[np.isfinite(table["epsilon"])]
    # Three methods at both deltas, three at one.
    assert len(private) == len(means) == (3 * 2 + 3) * 2 * 2
    np.testing.assert_allclose(np.sort(private["excess_risk"]), np.sort(means), rtol=1e-9)
    assert set(private["repeats"]) == {7}
    lines = Path(MD).read_text().splitlines()
    assert len(lines) == 2 + len(table)
    assert len({line.count("|") for line in lines}) == 1


def test_an_unknown_table(make_table, run_script):
    fake_rows.write(fake_rows.rows(datasets=("diabetes",), repeats=2), "rows.parquet")
    assert "there is no table 'kifer2012-output-sweep'" in make_table(run_script.fails, "kifer2012-output-sweep")


def test_corrupt_rows(make_table, run_script):
    Path("rows.parquet").write_bytes(b"")
    assert "rows.parquet is not a readable Parquet file" in make_table(run_script.fails, "kifer2012-output")
