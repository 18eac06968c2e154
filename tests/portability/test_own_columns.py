"""The columns that docs/results.md lists of each experiment are those that it writes, at scale tiny."""

import pytest
import same
from results_page import own_columns

from dperm_pipeline.tables import SCHEMA

pytestmark = pytest.mark.versions

# Their data come from a mirror or a download alone.
FETCHED = {"jain2013-url"}


def test_own_columns_are_those_that_a_run_writes(locked):
    written = {}
    for path, table in same.tables(locked).items():
        name, kind, *_ = path.split("/")
        if kind in ("cells", "baselines"):
            written.setdefault(name, set()).update(set(table.column_names) - set(SCHEMA.names))
    said = {name: set(columns) for name, columns in own_columns().items() if name not in FETCHED}
    assert written == said
