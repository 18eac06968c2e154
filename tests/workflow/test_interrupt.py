"""kill -9 in the middle, then go on: the same bytes, and nothing half-written."""

import os
import re
import signal
import time

import pyarrow.parquet as pq
import pytest


@pytest.mark.slow
def test_killed_and_resumed_equals_undisturbed(project, finished):
    process = project.start()
    cells = project.folder / "results/tiny/kifer2012-output/cells"
    deadline = time.monotonic() + 120
    while len(list(cells.rglob("[!.]*.parquet"))) < 1:
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    left = list(project.folder.glob("results/**/[!.]*.parquet"))
    assert 1 <= len([path for path in left if "cells" in path.parts]) < 3
    for path in left:
        assert pq.read_table(path).num_rows > 0
    assert "locked" in project.run(check=False)
    # What a kill in the middle of a download leaves.
    (project.folder / "resources/downloads/.adult.0123abcd").mkdir(parents=True)
    closing = project.make("resume")
    assert re.search(r"report: results/tiny/report/index.html \(\d min", closing)
    assert "holds as printed" in closing
    assert project.results() == finished.results()
    hidden = [path for path in project.folder.glob("re*/**/.*") if "snakemake" not in path.name]
    assert hidden == []
