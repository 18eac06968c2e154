"""An entry of `mechanisms` that an experiment would not run is refused, and not silently another one run."""

import itertools
from pathlib import Path

import pytest
import together
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import config_files, places, plan

ROOT = Path(__file__).parents[3]
CONFIG = config_files.parse(ROOT / "config/config.yaml")
KEYS = ("mechanism", "calibration", "neighbours")
OTHER = {
    "mechanism": {"mechanism": "output", "calibration": "tight"},
    "calibration": {"calibration": "tight"},
    "neighbours": {"neighbours": "add_remove"},
}
# Their rows are of several mechanisms, or of two relations, whatever the entry says.
OWN = [
    *(name for name in places.experiments() if name.startswith("jain2013-")),
    "li2021-bounds", "li2021-augmentation", "kifer2012-bound", "kifer2012-theorem2", "kifer2012-example1",
]  # fmt: skip


def declared(name):
    return config_files.parse(ROOT / f"config/experiments/{name}.yaml")


def load(tmp_path, document):
    """Load the project's configuration with this experiment as the only one."""
    for folder in ("config", "workflow/schemas"):
        target = tmp_path / folder
        target.mkdir(parents=True)
        for path in (ROOT / folder).glob("*.yaml"):
            (target / path.name).write_bytes(path.read_bytes())
    experiment = tmp_path / "config/experiments" / f"{document['experiment']}.yaml"
    experiment.parent.mkdir()
    experiment.write_text(yaml.safe_dump(document), encoding="utf-8")
    return plan.load({**CONFIG, "papers": [document["paper"]]}, tmp_path)


@together.over("name", OWN)
def test_experiments_that_read_nothing_of_an_entry_fix_all_of_it(name):
    assert set(places.experiments()[name].fixed) == set(KEYS)


@together.over("name", sorted(places.experiments()))
def test_the_projects_own_entries_are_accepted(name):
    fixed = places.experiments()[name].fixed
    for entry, key in itertools.product(declared(name)["mechanisms"], fixed):
        assert entry[key] == fixed[key]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("jain2013-covertype", "neighbours"), ("jain2013-covertype", "calibration"),
        ("jain2013-covertype", "mechanism"),
        ("jain2013-thm3", "neighbours"), ("jain2013-kdd", "calibration"), ("li2021-moor", "calibration"),
        ("kifer2012-table1", "mechanism"),
    ],
)  # fmt: skip
def test_an_entry_that_would_do_nothing_is_refused(tmp_path, name, key):
    document = declared(name)
    right = document["mechanisms"][0][key]
    document["mechanisms"] = [document["mechanisms"][0] | OTHER[key]]
    wrong = document["mechanisms"][0][key]
    with pytest.raises(ConfigError) as error:
        load(tmp_path, document)
    said = f"{name}.yaml: mechanisms.0.{key}: {wrong!r} would do nothing in {name}, which says itself what it runs"
    assert f"{said}: must be {right!r}" in str(error.value)


@pytest.mark.parametrize("changes", [{"neighbours": "replace"}, {"calibration": "tight"}])
def test_an_entry_that_is_read_may_be_changed(tmp_path, changes):
    document = declared("kifer2012-table1")
    document["mechanisms"] = [document["mechanisms"][0] | changes]
    (found,) = load(tmp_path, document).of_scale("tiny")
    assert {tuple(cell[key] for key in changes) for cell in found.cells.values()} == {tuple(changes.values())}
