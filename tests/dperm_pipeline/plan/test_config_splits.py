"""row_splits that does not fit its grid, its T or its data sets is refused before anything runs."""

import shutil
from pathlib import Path

import pytest
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import config_files, plan

ROOT = Path(__file__).parents[3]
CONFIG = config_files.parse(ROOT / "config/config.yaml")
FILE = "config/experiments/jain2013-url.yaml"


def loaded(folder, **tiny):
    """Load the configuration with other settings of jain2013-url at scale tiny."""
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    document = config_files.parse(ROOT / FILE)
    document["settings"]["tiny"] |= tiny
    (folder / FILE).write_text(yaml.safe_dump(document), encoding="utf-8")
    return plan.load({**CONFIG, "mirror": None}, folder, unavailable=lambda *_: None)


@pytest.mark.parametrize(
    ("tiny", "words"),
    [
        ({"row_splits": {"url-570": [9, 60, 9]}}, r"tiny.row_splits: 'url-5700' of the grid is missing; .*'url-570'"),
        ({"row_splits": {"url-5700": [9, 29, 9]}}, r"tiny.row_splits.url-5700: a pool of 29 has no T=30"),
        ({"public_points": 20}, r"tiny.public_points: 20 must be one of queries, \[10, 30\]"),
    ],
    ids=["a data set without a split", "T above the pool", "no T at all epsilons"],
)
def test_what_cannot_run_is_refused(tmp_path, tiny, words):
    with pytest.raises(ConfigError, match=words):
        loaded(tmp_path, **tiny)


def test_what_fits_is_taken(tmp_path):
    assert loaded(tmp_path, row_splits={"url-5700": [9, 30, 9]}).experiments["tiny", "jain2013-url"].cells
