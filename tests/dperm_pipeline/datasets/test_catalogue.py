"""The catalogue, its schema and its page agree."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import together

from dperm.errors import ConfigError
from dperm_pipeline import config_files, plan
from dperm_pipeline.datasets import catalogue, prepare

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "workflow/schemas/datasets.schema.yaml"
PAGE = (ROOT / "docs/data.md").read_text(encoding="utf-8")
ENTRIES = catalogue.load(ROOT / "config/datasets.yaml")


def example():
    """The entry that the page shows."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    return block


def test_the_catalogue_keeps_to_its_schema():
    read = config_files.read(ROOT / "config/datasets.yaml", SCHEMA)
    assert {name: {"name": name, **entry} for name, entry in read.items()} == ENTRIES


def test_a_number_with_an_exponent_is_a_number(tmp_path):
    """Plain YAML reads 1e-6 and 1e6 as text."""
    path = tmp_path / "datasets.yaml"
    path.write_text(example().replace("[50, 250]", "[1e-6, 1e6]"), encoding="utf-8")
    assert catalogue.load(path)["people"]["ranges"]["height"] == [1e-6, 1e6]
    path.write_text(example() + "  path: other.csv\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="'path' stands twice"):
        catalogue.load(path)


def test_the_numeric_slice():
    """An edit of any other key must change the prepared file's params: a key is left out by name, never forgotten."""
    keys = set(config_files.parse(SCHEMA)["$defs"]["entry"]["properties"])
    told = {"title", "licence", "citation", "sources", "mirror_folder", "path", "on_request"}
    assert set(catalogue.numeric(dict.fromkeys(keys | {"name"}))) == keys - told | {"name"}


def test_no_limit_of_a_download_decides_a_prepared_file():
    for entry in ENTRIES.values():
        used = plan.modules("dperm_pipeline.datasets.prepare", prepare.module(entry))
        assert "dperm_pipeline.datasets.checksums" in used
        assert not {"dperm_pipeline.datasets.fetch", "dperm_pipeline.datasets.archives"} & set(used)


def test_the_schema_knows_the_formats_that_have_a_parser():
    formats = config_files.parse(SCHEMA)["$defs"]["entry"]["properties"]["format"]["enum"]
    assert formats == list(prepare.FORMATS)
    for entry in ENTRIES.values():
        assert prepare.module(entry).startswith("dperm_pipeline.datasets.")


@together.over("name", ENTRIES)
def test_the_page_tells_of_every_set(name):
    entry = ENTRIES[name]
    assert f"| `{name}` |" in PAGE
    for source in entry.get("sources", []):
        packaged = isinstance(source, dict)
        for words in [source["member"], f"{source['package']}=={source['version']}"] if packaged else source:
            assert words in PAGE
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert f"sqrt({entry['x_norm_squared']})" in row
    for rows in entry["rows"].values():
        assert f"{rows:,}" in row
    assert ("**yes**" in row) == bool(entry["data_dependent"])
    assert entry["licence"].split(";")[0] in row


def test_the_example_of_the_page_works(tmp_path, monkeypatch):
    (tmp_path / "datasets.yaml").write_text(example(), encoding="utf-8")
    config_files.read(tmp_path / "datasets.yaml", SCHEMA)
    entry = catalogue.load(tmp_path / "datasets.yaml")["people"]
    (tmp_path / "data").mkdir()
    frame = {
        "height": [150, 300, 170],
        "weight": [50, 70, 80],
        "eyes": ["blue", "other", "?"],
        "tall": ["no", "yes", "no"],
    }
    pd.DataFrame(frame).to_csv(tmp_path / "data/people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    people = prepare.prepare(entry)
    np.testing.assert_allclose(people.X, [[0.5, 1 / 6, 1, 0, 0, 0, 1], [1, 7 / 30, 0, 0, 0, 1, 1]])
    np.testing.assert_array_equal(people.y, [-1, 1])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title:", "titel:", "people: unknown key 'titel'; did you mean 'title'?"),
        ("  path: data/people.csv\n", "", "people: the key 'path' is missing"),
        (', positive: "yes"', "", "people.target: the key 'positive' is missing"),
        ('positive: "yes"', "positive: yes", "put yes, no, true and false in quotes"),
        ("task: binary", "task: regression", "people.target: the key 'range' is missing"),
        ("format: csv", "format: adult", "people: the key 'files' is missing"),
        ("outside: clip", "outside: clipp", "did you mean 'clip'?"),
        ("  data_dependent: []\n", "", "people: the key 'data_dependent' is missing"),
        ("people:", "Our people:", "Our people"),
    ],
)
def test_what_the_schema_says_of_a_slip(tmp_path, old, new, words):
    assert old in example()
    (tmp_path / "datasets.yaml").write_text(example().replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        config_files.read(tmp_path / "datasets.yaml", SCHEMA)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "files",
    [
        "{a.data: {bytes: 0, sha256: trust-on-first-use}}",
        "{a.data: {bytes: 3, sha256: abc}}",
        "{a.data: {bytes: 3}}",
        "{../a.data: {bytes: 3, sha256: trust-on-first-use}}",
        "{a/b: {bytes: 3, sha256: trust-on-first-use}}",
        "{}",
    ],
)
def test_files_that_the_schema_refuses(tmp_path, files):
    (tmp_path / "datasets.yaml").write_text(example() + f"  files: {files}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"people\.files"):
        config_files.read(tmp_path / "datasets.yaml", SCHEMA)


@pytest.mark.parametrize("address", ["ftp://a.org/b", "file:///etc/passwd", "a.data", "https:///b"])
def test_addresses_that_the_schema_refuses(tmp_path, address):
    more = f"  files: {{a: {{bytes: 3, sha256: trust-on-first-use}}}}\n  sources: [['{address}']]\n"
    (tmp_path / "datasets.yaml").write_text(example() + more, encoding="utf-8")
    with pytest.raises(ConfigError, match="an address"):
        config_files.read(tmp_path / "datasets.yaml", SCHEMA)
