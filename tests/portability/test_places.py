"""Whole workflows: from a folder of any name under unlike settings, and in any order on any number of cores."""

import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from machines import ASCII, PLACE, ROOT, environment, locale, threads
from project_copies import Project, copy_project

# One of each paper, all of them short.
ONE_OF_EACH = ("kifer2012-output", "jain2013-queries", "dwork2018-realdata", "li2021-recycling")


def under(project: Project, **settings: str) -> Project:
    """Give a copy's runs other settings of the machine."""
    path = f"{project.folder / 'src'}{os.pathsep}{settings.pop('PYTHONPATH', '')}"
    project.environment = environment(**settings, PYTHONPATH=path)
    return project


@pytest.mark.slow
def test_a_run_in_a_folder_of_any_name_under_any_settings(finished, tmp_path):
    settings = {**threads(7), **locale(tmp_path / "locales", "tr_TR"), "TZ": "Pacific/Kiritimati"}
    place = tmp_path / PLACE
    (place / "mirror").mkdir(parents=True)
    more = {"PYTHONHASHSEED": "4711", "DPERM_MIRROR": str(place / "mirror"), "DPERM_NUMBA_CACHE": str(place / "numba")}
    project = under(copy_project(place / "project"), **settings, **more)
    before = os.umask(0o077)
    try:
        # And on one core; the other run had two.
        project.run(cores=1)
    finally:
        os.umask(before)
    assert project.results() == finished.results()
    assert {path.rsplit(".", 1)[1] for path in project.results()} == {"parquet", "csv", "md", "svg", "png", "yaml"}
    page = project.folder / "results/tiny/report/index.html"
    assert page.stat().st_mode & 0o077 == 0
    # What the page links to on this disk is there.
    said = page.read_text(encoding="utf-8")
    links = {unquote(unescape(link)) for link in re.findall(r'<a [^>]*href="([^"#]+)', said)}
    local = {link for link in links if not re.match(r"[a-z]+:", link)}
    assert [link for link in local if not (page.parent / link.partition("#")[0]).exists()] == []
    assert str(place) not in said
    assert "Nothing to be done" in project.run()
    # And back where names are ASCII, with the plainest settings: nothing is stale.
    shutil.copytree(project.folder, tmp_path / "moved")
    assert Project(tmp_path / "moved").jobs() == []


@pytest.mark.slow
def test_the_report_opens_from_a_folder_of_any_name(finished, tmp_path):
    chromium = shutil.which("chromium")
    if not chromium and not os.environ.get("DPERM_NEED_CHROMIUM"):
        pytest.skip("chromium is not installed")
    place = tmp_path / PLACE
    shutil.copytree(finished.folder / "results/tiny", place)
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}",
         "--virtual-time-budget=5000", "--dump-dom", (place / "report/claims.html").as_uri()],
        capture_output=True, text=True, encoding="utf-8", check=True, timeout=120,
    )  # fmt: skip
    # Written by scripts once they run: the tables become DataTables.
    assert "dt-container" in done.stdout


@pytest.mark.slow
def test_order_cores_and_starts_give_the_same_rows_in_each_paper(tmp_path):
    """Jobs one after the other that start Python, and two at a time that a server forks."""
    targets = [f"results/tiny/{name}/rows.parquet" for name in ONE_OF_EACH]
    found = []
    for name, fork, options in (
        ("one", "0", {"cores": 1}),
        ("two", "1", {"cores": 2, "arguments": ("--scheduler", "greedy", "--prioritize", targets[-1])}),
    ):
        project = copy_project(tmp_path / name)
        project.environment["DPERM_FORK"] = fork
        for one in ONE_OF_EACH:
            shutil.copy2(ROOT / f"config/experiments/{one}.yaml", project.folder / "config/experiments")
        project.edit("config/config.yaml", "papers: [kifer2012]", "papers: [kifer2012, jain2013, li2021, dwork2018]")
        project.run(*targets, *options.pop("arguments", ()), **options)
        found.append(project.results())
    assert found[0] == found[1]
    cells = [path for path in found[0] if "/cells/" in path]
    assert {Path(path).parts[2] for path in cells} == set(ONE_OF_EACH)


@pytest.mark.slow
def test_a_folder_that_python_cannot_spell_is_refused_in_words(tmp_path):
    # Neither Arrow nor Numba can write into it then.
    project = under(copy_project(tmp_path / PLACE), **ASCII)
    said = project.run("--dry-run", check=False)
    assert "PYTHONUTF8=1" in said
    assert "Traceback" not in said
