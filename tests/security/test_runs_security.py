"""Whole runs on a file of somebody's own: its records stay where they are, and its name and title are no commands."""

import base64
import gzip
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from project_copies import ROOT, Project, copy_project

pytestmark = pytest.mark.faults

EXPERIMENTS = ("kifer2012-output", "li2021-adult", "dwork2018-realdata")
TITLE = '<script>alert(1)</script> & "people" it\'s {wildcards} $(touch canary)'
# A word in each record that no job asks for, and numbers that nothing else has.
MARK = "zqX7"
RECORDS = 240


def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    numbers = {name: 100 * rng.random(RECORDS) for name in ("age", "height")}
    frame = pd.DataFrame(numbers).assign(colour=rng.choice(["red", "blue"], RECORDS))
    frame["y"] = np.where(frame["age"] + 20 * rng.standard_normal(RECORDS) > 50, "yes", "no")
    frame["name"] = [f"{MARK}-{k}" for k in range(RECORDS)]
    return frame


def entry(path: str, **changes) -> dict:
    return {
        "title": TITLE, "task": "binary", "format": "csv", "path": path, "licence": "private", "citation": "none",
        "target": {"column": "y", "positive": "yes", "negative": "no"},
        "ranges": {"age": [-7, 130], "height": [-7, 130]}, "levels": {"colour": ["red", "blue"]},
        "data_dependent": [], **changes,
    }  # fmt: skip


def prepared_for(project: Project, path: str) -> None:
    """Put the file's entry into the catalogue, and its name into the experiments of three papers."""
    catalogue = project.folder / "config/datasets.yaml"
    with catalogue.open("a", encoding="utf-8") as file:
        file.write("\n" + yaml.safe_dump({"people": entry(path)}, allow_unicode=True, width=10_000))
    for name in EXPERIMENTS:
        place = project.folder / f"config/experiments/{name}.yaml"
        shutil.copy2(ROOT / f"config/experiments/{name}.yaml", place)
        project.edit(f"config/experiments/{name}.yaml", "dataset: [breast-cancer]", "dataset: [people]")
    project.edit(
        "config/experiments/dwork2018-realdata.yaml", "{digits: pixel_4_4,", "{people: age, digits: pixel_4_4,"
    )
    project.edit("config/config.yaml", "papers: [kifer2012]", "papers: [kifer2012, li2021, dwork2018]")
    # Attacks make their own data: no record comes near them, and they take their time.
    (project.folder / "config/audits.yaml").write_text(
        "attacks: []\nmutants: {tiny: [], quick: [], paper: []}\n", encoding="utf-8"
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A project that has run on the file, and what the run said."""
    folder = tmp_path_factory.mktemp("private")
    project = copy_project(folder / "project")
    people().to_csv(folder / "people.csv", index=False)
    prepared_for(project, str(folder / "people.csv"))
    return project, project.run()


def numbers_of(values) -> set[str]:
    """Numbers as text finds them: their first nine digits; without those that anything may have, such as 0.5."""
    texts = {f"{abs(value):.17g}" for value in values if np.isfinite(value)}
    return {digits(text) for text in texts if len(text) > 14}


def digits(text: str) -> str:
    return re.sub(r"e.*$", "", text.lower()).replace(".", "").lstrip("0")[:9]


def records(project: Project) -> set[str]:
    """The numbers of every record, as they stand in the file and as a mechanism sees them."""
    raw = people()[["age", "height"]].to_numpy().ravel()
    table = pq.read_table(project.folder / "resources/prepared/people.parquet")
    seen = [table[name].to_numpy() for name in table.column_names if name.startswith("x.")]
    return numbers_of(np.concatenate([raw, *seen]))


def texts(path: Path):
    """Everything that can be read out of a file: text, what is packed in it, the values and metadata of Parquet."""
    data = path.read_bytes()
    yield data.decode("utf-8", errors="ignore")
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        yield str(file.schema_arrow.metadata) + str(file.metadata.to_dict())
        for column in file.read().itercolumns():
            plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            yield "\n".join(f"{v:.17g}" if isinstance(v, float) else str(v) for v in plain.unique().to_pylist())
    if path.suffix == ".html":
        for packed in re.findall(r">([A-Za-z0-9+/=\s]{200,})</script>", data.decode("utf-8")):
            bytes_ = base64.b64decode(packed)
            for unpack in (gzip.decompress, zlib.decompress, lambda raw: zlib.decompress(raw, -15)):
                try:
                    yield unpack(bytes_).decode("utf-8", errors="ignore")
                    break
                except (OSError, zlib.error):
                    continue


def leaks(text: str, private: set[str]) -> list[str]:
    found = [digits(number) for number in re.findall(r"\d*\.\d{7,}(?:e-?\d+)?", text)]
    return [MARK] * (MARK in text) + sorted(private.intersection(found))


def kept(project: Project) -> list[Path]:
    """All files of the project but the data themselves."""
    return [
        path
        for path in sorted(project.folder.rglob("*"))
        if path.is_file() and path.relative_to(project.folder).parts[:2] != ("resources", "prepared")
    ]


def test_the_search_finds_a_record(ran):
    project, _ = ran
    private = records(project)
    assert len(private) > 3 * RECORDS
    (prepared,) = (project.folder / "resources/prepared").glob("*.parquet")
    assert len(set().union(*(leaks(text, private) for text in texts(prepared)))) > RECORDS
    assert leaks(people().to_csv(), private)[0] == MARK and len(leaks(people().to_csv(), private)) > RECORDS


def test_no_record_in_anything_that_a_run_leaves(ran):
    project, output = ran
    private = records(project)
    assert leaks(output, private) == []
    files = kept(project)
    found = {str(path.relative_to(project.folder)): leaks(text, private) for path in files for text in texts(path)}
    assert {name: what for name, what in found.items() if what} == {}
    # It looked where something could be.
    folders = {path.relative_to(project.folder).parts[0] for path in files}
    assert {"results", "logs", "benchmarks", ".snakemake"} <= folders
    assert len([path for path in files if path.suffix == ".parquet"]) > 10


def test_the_page_holds_the_title_as_text(ran):
    project, _ = ran
    pages = sorted((project.folder / "results/tiny/report").glob("*.html"))
    assert len(pages) > 5
    for page in pages:
        assert "<script>alert(1)" not in page.read_text(encoding="utf-8")
    assert not list(project.folder.rglob("canary"))


@pytest.mark.parametrize(
    ("column", "value"), [("age", f"{MARK}-bad"), ("age", "130.7364519283"), ("colour", MARK), ("y", f"{MARK}\nyes")]
)
def test_a_bad_value_is_not_quoted(ran, tmp_path, column, value):
    """In the log, on the terminal, in what Snakemake keeps."""
    project = Project(tmp_path / "project")
    shutil.copytree(ran[0].folder, project.folder, symlinks=True)
    frame = people().astype(object)
    frame.loc[17, column] = value
    frame.to_csv(tmp_path / "people.csv", index=False)
    catalogue = project.folder / "config/datasets.yaml"
    changed = yaml.safe_load(catalogue.read_text(encoding="utf-8"))
    changed["people"]["path"] = str(tmp_path / "people.csv")
    catalogue.write_text(yaml.safe_dump(changed), encoding="utf-8")
    output = project.run("resources/prepared/people.parquet", check=False)
    assert f"column '{column}'" in output and "record 18" in output
    for text in [output, *(text for path in kept(project) for text in texts(path))]:
        assert MARK not in text and "7364519283" not in text


def test_names_that_a_shell_would_run(tmp_path):
    """The project's folder, the file and the mirror: spaces, quotes, wildcards, commands."""
    nasty = 'it\'s $(touch canary) `touch canary`; touch canary & | "q" {wildcards} %s ä数据'
    folder = tmp_path / nasty
    project = copy_project(folder / "project")
    mirror = folder / "mirror"
    mirror.mkdir()
    # Snakemake would fill in braces of an input.
    file = tmp_path / f"people {nasty}.csv".translate(str.maketrans("{}", "[]"))
    people().to_csv(file, index=False)
    prepared_for(project, str(file))
    mirrored = yaml.safe_dump(str(mirror), allow_unicode=True, width=10_000).removesuffix("\n...\n").strip()
    project.edit("config/config.yaml", "mirror: null", f"mirror: {mirrored}")
    target = "results/tiny/kifer2012-output/rows.parquet"
    project.run(target)
    assert (project.folder / target).exists()
    assert [path for path in [*tmp_path.rglob("canary"), Path("canary")] if path.exists()] == []
    # And on the command line, where it passes through Snakemake's own reading of values.
    assert "Nothing to be done" in project.run(target, config=("scale=tiny", f"mirror={mirror}"))
    refused = project.run(target, check=False, config=("scale=tiny", f"mirror={mirror}; touch canary"))
    assert "is not a folder" in refused and "Traceback" not in refused
    assert not list(tmp_path.rglob("canary"))
