"""Inner brackets say which values share a job, and change nothing else."""

import copy
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import ConfigError
from dperm_pipeline import config_files, plan
from dperm_pipeline.plan import audits, grids

ROOT = Path(__file__).parents[3]
FILE = "config/experiments/kifer2012-output.yaml"
DECLARED = config_files.parse(ROOT / FILE)
AUDITS = config_files.parse(ROOT / "config/audits.yaml")


def load(folder, file, old, new):
    """Read a file of the project with a piece of its text put in the place of another."""
    text = (ROOT / file).read_text(encoding="utf-8")
    assert old in text
    path = folder / Path(file).name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    if file == "config/audits.yaml":
        audits.read(path, ROOT / "workflow/schemas/audits.schema.yaml")
        return
    for part in ("config/audits.yaml", "config/datasets.yaml", "workflow/schemas"):
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
    (folder / "config/experiments").mkdir()
    path.rename(folder / file)
    config = config_files.parse(ROOT / "config/config.yaml")
    plan.load({**config, "papers": ["kifer2012"], "mirror": None}, folder)


def expanded(epsilon, *, axes=None, mechanisms=None):
    """Expand the experiment with these values of epsilon, and other axes beside them."""
    declared = copy.deepcopy(DECLARED)
    declared["grid"]["quick"] = {"dataset": ["breast-cancer", "hadamard"], **(axes or {}), "epsilon": epsilon}
    declared["mechanisms"] = mechanisms or declared["mechanisms"][:2]
    assert list(grids.mistakes(declared)) == []
    return grids.expand(declared, "quick", 3, {})


@st.composite
def bracketings(draw, values):
    """The values in any order, in any brackets: single ones with brackets around them or without."""
    axis = []
    for value in draw(st.permutations(values)):
        if axis and isinstance(axis[-1], list) and draw(st.booleans()):
            axis[-1].append(value)
        else:
            axis.append(draw(st.sampled_from([value, [value]])))
    return axis


epsilons = st.lists(st.floats(1e-9, 100) | st.integers(1, 100), min_size=1, max_size=6, unique=True)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), values=epsilons)
def test_any_brackets_give_the_same_cells(data, values):
    sizes = [10, 20, 30]
    plain = expanded(values, axes={"n": sizes})
    found = expanded(data.draw(bracketings(values)), axes={"n": data.draw(bracketings(sizes))})
    assert plain.cells == found.cells and plain.baselines == found.baselines
    assert plain.jobs == {name: [cell] for name, cell in plain.cells.items()}
    # Each cell is in one job, with others of its mechanism on its data.
    together = [(name, cell) for (name, _), cells in found.jobs.items() for cell in cells]
    assert len(together) == len(found.cells)
    assert all(found.cells[name, plan.slug(cell["point"])] is cell for name, cell in together)
    for (name, scenario), cells in found.jobs.items():
        assert {(plan.mechanism_slug(cell), cell["baseline"]) for cell in cells} == {(name, cells[0]["baseline"])}
        # As the workflow constrains the name, and with room for what is put before and after it.
        assert re.fullmatch("[A-Za-z0-9_.-]+", scenario) and len(scenario) < 200


@settings(max_examples=50, deadline=None)
@given(data=st.data(), values=epsilons, more=st.floats(1e-9, 100))
def test_a_value_by_itself_changes_no_other_job(data, values, more):
    axis = data.draw(bracketings(values))
    if more in values:
        return
    before, after = expanded(axis).jobs, expanded([*axis, more]).jobs
    assert {name: after[name] for name in before} == before
    added = [cell for name in after.keys() - before.keys() for cell in after[name]]
    assert len(added) == 4 and {cell["point"]["epsilon"] for cell in added} == {more}


def test_cells_that_make_their_own_data_share_a_job():
    declared = config_files.parse(ROOT / "config/experiments/kifer2012-table1.yaml")
    declared["grid"]["quick"] = {"p": [[8, 16], 32], "epsilon": [[0.1, 1.0]]}
    assert list(grids.mistakes(declared)) == []
    found = grids.expand(declared, "quick", 3, {})
    jobs = {scenario: [tuple(cell["point"].values()) for cell in cells] for (_, scenario), cells in found.jobs.items()}
    assert jobs["p-8-16_epsilon-0.1-1"] == [(8, 0.1), (8, 1.0), (16, 0.1), (16, 1.0)]
    assert {tuple(cell["data"].values()) for cells in found.jobs.values() for cell in cells} == {(8,), (16,), (32,)}


def test_names_of_jobs():
    one = {"mechanisms": [{"mechanism": "output", "calibration": "tight", "neighbours": "add_remove"}]}
    found = expanded([[0.1, 3], 1.0, [30.0]], axes={"dataset": ["hadamard"], "n": [[5, 7]]}, **one)
    assert [scenario for _, scenario in found.jobs] == [
        "hadamard_n-5-7_epsilon-0.1-3",
        "hadamard_n-5-7_epsilon-1",
        "hadamard_n-5-7_epsilon-30",
    ]
    assert [tuple(cell["point"].values()) for cell in next(iter(found.jobs.values()))] == [
        ("hadamard", 5, 0.1), ("hadamard", 5, 3.0), ("hadamard", 7, 0.1), ("hadamard", 7, 3.0),
    ]  # fmt: skip


def test_words_in_brackets_are_kept_apart():
    """Names hold hyphens, but no point."""
    assert plan.slug({"part": ["a", "b-c"]}) == "a.b-c"
    assert plan.slug({"part": ["a-b", "c"]}) == "a-b.c"


def test_many_values_in_brackets_have_a_short_name_of_their_own():
    many = [k / 100 for k in range(1, 501)]
    (scenario,) = {scenario for _, scenario in expanded([many], axes={"dataset": ["hadamard"]}).jobs}
    assert re.fullmatch(r"hadamard_epsilon-0\.01-to-5-500-[0-9a-f]{8}", scenario)
    assert plan.slug({"epsilon": many}) != plan.slug({"epsilon": [0.01, 0.015, *many[2:]]})


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            FILE,
            "dataset: [breast-cancer, hadamard]",
            "dataset: [[breast-cancer, hadamard]]",
            "grid.quick.dataset: ['breast-cancer', 'hadamard'] would share a job, and 'dataset' chooses what "
            "a job reads: one data set; write its values without inner brackets",
        ),
        (
            FILE,
            "epsilon: [[0.1, 1.0, 3.0]]",
            "epsilon: [[0.1, 1.0, 3.0], 1]",
            "grid.quick.epsilon: 1.0 stands there twice; a value belongs to one job, so leave one of them out",
        ),
        (
            "config/experiments/dwork2018-realdata.yaml",
            "dataset: [",
            "dataset: [[digits, diabetes], ",
            "would share a job, and 'dataset' chooses",
        ),
        (FILE, "[[0.1, 1.0, 3.0]]", "[[0.1, 1], [1.0, 3]]", "grid.quick.epsilon: 1 stands there twice"),
        (FILE, "[[0.1, 1.0, 3.0]]", "[[1, 1.0]]", "epsilon.0: [1, 1.0] is not allowed: must not hold the same value"),
        (FILE, "[[0.1, 1.0, 3.0]]", "[0.1, []]", "grid.quick.epsilon.1: [] is not allowed: needs at least 1 item(s)"),
        (
            FILE,
            "[[0.1, 1.0, 3.0]]",
            "[[[0.1], 1.0]]",
            "grid.quick.epsilon.0.0: [0.1] is not allowed (privacy budget): must be number",
        ),
        (FILE, "[[0.1, 1.0, 3.0]]", "[[0.1, 0]]", "epsilon.0.1: 0 is not allowed (privacy budget): must be above 0"),
        (
            "config/audits.yaml",
            "paper: [saturating, [knee,",
            "paper: [saturating, [saturating,",
            "attacks.0.pairs.paper: 'saturating' stands there twice",
        ),
        ("config/audits.yaml", "paper: [noise, data, [", "paper: [noise, data, [noise, ", "'noise' stands there twice"),
        (
            "config/audits.yaml",
            "[saturating, [knee,",
            "[saturating, [kne,",
            "'kne' is no pair of the family 'linear'; did",
        ),
        (
            "config/audits.yaml",
            "[saturating, [knee,",
            "[saturating, [[knee],",
            "['knee'] is not allowed: must be string",
        ),
        ("config/audits.yaml", "tiny: [saturating]", "tiny: [[]]", "pairs.tiny.0: [] is not allowed: needs at least 1"),
    ],
)
def test_brackets_that_mean_nothing_are_refused(tmp_path, monkeypatch, file, old, new, words):
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    with pytest.raises(ConfigError) as error:
        load(tmp_path, file, old, new)
    assert words in str(error.value)
    assert Path(file).name in str(error.value)


SETTINGS = {"draws": dict.fromkeys(plan.SCALES, 400), "confidence": 0.95, "level": 0.05}
PAPERS = ("kifer2012", "jain2013", "dwork2018", "li2021")


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_brackets_give_the_same_audits(data):
    flat, bracketed = copy.deepcopy(AUDITS), copy.deepcopy(AUDITS)
    for attack, other in zip(flat["attacks"], bracketed["attacks"], strict=True):
        names = grids.flat(attack["pairs"]["paper"])
        attack["pairs"]["paper"], other["pairs"]["paper"] = names, data.draw(bracketings(names))
    groups = grids.flat(AUDITS["mutants"]["paper"])
    flat["mutants"]["paper"], bracketed["mutants"]["paper"] = groups, data.draw(bracketings(groups))
    project, plain, found = (audits.jobs(each, SETTINGS, "paper", 3, PAPERS) for each in (AUDITS, flat, bracketed))
    assert audits.single(project) == audits.single(plain) == audits.single(found)
    assert {len(job) for job in plain.values()} == {1}
    assert sum(map(len, found.values())) == len(plain)
    # One digest of code for the whole job.
    assert all(len({audit["family"] for audit in job}) == 1 for job in found.values())
    assert all(re.fullmatch("[a-z0-9_-]+", pairs) for _, pairs in found)


def test_a_long_list_of_pairs_keeps_a_short_name():
    """As a long batch of a grid does; lists that differ in the middle alone stay apart."""
    declared = copy.deepcopy(AUDITS)
    many = [f"pair-{number}" for number in range(40)]
    other = [many[0], *many[2:0:-1], *many[3:]]
    declared["attacks"][0]["pairs"]["tiny"] = [many, other]
    jobs = audits.jobs(declared, SETTINGS, "tiny", 3, PAPERS)
    names = [name for (_, name), job in jobs.items() if len(job) == 40]
    assert len(set(names)) == 2
    assert all(re.fullmatch(r"pair-0-to-pair-39-40-[0-9a-f]{8}", name) for name in names)
