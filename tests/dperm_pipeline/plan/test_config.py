"""A configuration is right, or it is refused in words: file, key, value, what is allowed, the nearest key."""

import copy
import functools
import json
import shutil
from pathlib import Path

import pytest
import yaml

from dperm import mechanisms
from dperm.errors import ConfigError
from dperm_pipeline import config_files, figures, places, plan
from dperm_pipeline.datasets import fetch, prepare

ROOT = Path(__file__).parents[3]
CONFIG = config_files.parse(ROOT / "config/config.yaml")
load = functools.partial(plan.load, unavailable=fetch.unavailable)
# An experiment of each of the other papers.
ONE_OF_EACH = ("frontier-linear", "li2021-moor", "jain2013-stability", "dwork2018-generalization")
FILES = ["config/config.yaml", "config/datasets.yaml", "config/experiments/kifer2012-output.yaml"]


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    monkeypatch.delenv("DPERM_MIRROR", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project's configuration, of the experiments one of each paper: all are planned by tests of jobs and rules."""
    target = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "config", target / "config")
    shutil.copytree(ROOT / "workflow/schemas", target / "workflow/schemas")
    for path in (target / "config/experiments").glob("*.yaml"):
        if f"config/experiments/{path.name}" not in FILES and path.stem not in ONE_OF_EACH:
            path.unlink()
    return target


def load_with(folder: Path, file: str, document) -> plan.Plan:
    """Load the project's configuration with one document put in the place of its file."""
    if file == "config/config.yaml":
        return load(document, folder)
    original = (folder / file).read_bytes()
    (folder / file).write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        return load(CONFIG, folder)
    finally:
        (folder / file).write_bytes(original)


def look_up_everything(loaded: plan.Plan) -> None:
    """Look up all that the rules look up in a plan: what is not refused must not fail later."""
    for (scale, name), experiment in loaded.experiments.items():
        for cell in (*experiment.cells.values(), *experiment.baselines.values()):
            assert plan.code_digest(*plan.cell_modules(name, cell.get("mechanism")))
            assert cell["point"].get("dataset", "adult") in loaded.datasets
            assert places.experiments()[name].settings(**cell["settings"])
            assert isinstance(cell["seed"], int)
            counts = {"repeats", "tuning_repeats"} & set(cell["settings"])
            assert all(isinstance(cell["settings"][count], int) for count in counts)
        for cell in experiment.cells.values():
            assert ("dataset" in cell["point"]) == ("baseline" in cell)
            assert cell.get("baseline") in (None, *experiment.baselines)
            assert set(cell["point"]) == set(places.experiments()[name].axes)
            assert cell["calibration"] in mechanisms.REGISTRY[cell["mechanism"]].calibrations
        for kind, drawn in ((experiment.figures, figures.FIGURES), (experiment.tables, figures.TABLES)):
            assert set(kind) <= set(drawn)
            assert all(plan.code_digest(*figures.modules(target)) for target in kind)
        json.dumps(loaded.resolved(scale), allow_nan=False)
    for entry in loaded.datasets.values():
        assert plan.code_digest("dperm_pipeline.datasets.prepare", prepare.module(entry))


def values_of(document, path=()):
    """Every key path of a document, leaves and branches."""
    if isinstance(document, list):
        document = dict(enumerate(document))
    for key, value in document.items() if isinstance(document, dict) else ():
        yield (*path, key)
        yield from values_of(value, (*path, key))


def changed(document, path, change):
    """Return a copy with `change(container, key)` carried out at the path."""
    document = copy.deepcopy(document)
    container = document
    for key in path[:-1]:
        container = container[key]
    change(container, path[-1])
    return document


def put(value):
    return lambda container, key: container.__setitem__(key, value)


def misspell(container, key):
    container[f"{key}x"] = container.pop(key)


WRONG = [None, "nonsense!", -1, 1e9, float("nan"), float("inf"), [], {}, [None], {"unknown": 1}, True, 10**400, {5: 1}]


def mutants():
    for file in FILES:
        document = config_files.parse(ROOT / file)
        # The catalogue of data sets is long and even: every seventh place of it is enough.
        for k, path in enumerate(list(values_of(document))[:: 7 if "datasets" in file else 1]):
            # Every value at every third place: a value has hundreds of places, and a place its four or five values.
            for value in WRONG[k % 3 :: 3]:
                yield file, path, changed(document, path, put(value))
            if isinstance(path[-1], str):
                yield file, path, changed(document, path, misspell)
                yield file, path, changed(document, path, lambda container, key: container.pop(key))


@pytest.mark.slow
def test_hundreds_of_mutants_are_refused_in_words_or_are_valid(monkeypatch, folder):
    """No mutant shows anything but a ConfigError; the message names the file (or --config) and the place."""
    # To read the files that stay as they are again and to hold them against their schemas would take most of the time.
    parse, validate, right = functools.cache(config_files.parse), config_files.validate, set()
    refused = valid = 0
    for file, path, document in mutants():
        put_in = {folder / file: document}

        def hold(given, schema, name, file=file):
            if file in name or name not in right:
                validate(given, schema, name)
                right.update([] if file in name else [name])

        monkeypatch.setattr(config_files, "parse", lambda name, put_in=put_in: put_in.get(name) or parse(name))
        monkeypatch.setattr(config_files, "validate", hold)
        try:
            look_up_everything(load(document if file == "config/config.yaml" else CONFIG, folder))
            valid += 1
        except ConfigError as error:
            refused += 1
            text = str(error)
            assert Path(file).name in text, (path, text)
            named = [str(part) for part in path if isinstance(part, str)]
            assert any(part in text for part in named), (path, text)
            assert "Traceback" not in text
            assert len(text.splitlines()[0]) < 500
    assert refused >= 300 and valid >= 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sede": 3}, "unknown key 'sede'; did you mean 'seed'?"),
        ({"scale": "papr"}, "'papr' is not allowed: must be one of tiny, quick, paper; did you mean 'paper'?"),
        ({"seed": -1}, "seed: -1 is not allowed: must be at least 0"),
        ({"seed": "abc"}, "seed: 'abc' is not allowed: must be integer"),
        ({"papers": []}, "papers: [] is not allowed: needs at least 1 item(s)"),
        (
            {"papers": ["kifer2013"]},
            "papers.0: 'kifer2013' is not allowed: must be one of kifer2012, jain2013, dwork2018, li2021, frontier; "
            "did you mean 'kifer2012'?",
        ),
        ({"mirror": "/no/such/folder"}, "mirror: '/no/such/folder' is not a folder"),
    ],
)
def test_messages_of_the_command_line_keys(folder, change, words):
    with pytest.raises(ConfigError) as error:
        load({**CONFIG, **change}, folder)
    assert words in str(error.value)


def test_a_paper_without_experiments(folder, tmp_path):
    project = shutil.copytree(folder, tmp_path / "project")
    for path in (project / "config/experiments").glob("dwork2018-*.yaml"):
        path.unlink()
    with pytest.raises(ConfigError, match="dwork2018 has no experiment"):
        load({**CONFIG, "papers": ["dwork2018"]}, project)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("epsilon: [1.0]", "epsilon: [0]", "grid.tiny.epsilon.0: 0 is not allowed (privacy budget): must be above 0"),
        ("epsilon: [1.0]", "epsilon: [.nan]", "grid.tiny.epsilon.0: nan is not a finite number"),
        ("epsilon: [1.0]", "epsilom: [1.0]", "grid.tiny: unknown key 'epsilom'; did you mean 'epsilon'?"),
        ("deltas: [0.0, 1.0e-6]", "deltas: [1.0]", "must be below 1"),
        ("dataset: [breast-cancer]", "dataset: [breast-cancr]", "did you mean 'breast-cancer'?"),
        ("calibration: tight", "calibration: thight", "did you mean 'tight'?"),
        ("paper: kifer2012", "paper: kifer2012\npaper: kifer2012", "key 'paper' stands twice"),
        ("ridge: 0.01", "ridge: [", "not valid YAML"),
        ("experiment: kifer2012-output", "experiment: kifer2012-ouput", "must be the file's own name"),
        ("paper: kifer2012", "paper: li2021", "must start with its paper"),
        (
            "data_axes: [dataset]",
            "data_axes: []",
            "data_axes: [] is not allowed (what decides the data; without a dataset a cell makes its own): needs at",
        ),
        (
            "  ridge: 0.01",
            "",
            "settings.paper: the setting 'ridge' is missing; kifer2012-output needs it, here or under",
        ),
        ("{repeats: 6, ", "{", "settings.tiny: the setting 'repeats' is missing"),
        (
            "calibration: tight",
            "calibration: corrected",
            "mechanisms.0.calibration: 'corrected' is not offered by 'obj",
        ),
        ("    epsilon: [1.0]\n", "", "grid.tiny: the axis 'epsilon' is missing; kifer2012-output needs it"),
        ("figures: [kifer2012-output,", "figures: [kifer2012-ouput,", "did you mean 'kifer2012-output'?"),
        (
            "tables: [kifer2012-output]",
            "tables: [sweep]",
            "tables: 'sweep' is in TABLES of no figures.py",
        ),
        ("public_share: 0.2 ", "public_share: 0.001 ", "common.public_share: 0.001 is not allowed (share of the"),
    ],
)
def test_messages_of_an_experiment(folder, tmp_path, old, new, words):
    shutil.copytree(folder, tmp_path / "project")
    path = tmp_path / "project/config/experiments/kifer2012-output.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load(CONFIG, tmp_path / "project")
    assert words in str(error.value)
    assert "kifer2012-output.yaml" in str(error.value)


def test_an_experiment_without_code(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "project")
    experiments_folder = tmp_path / "project/config/experiments"
    text = (experiments_folder / "kifer2012-output.yaml").read_text(encoding="utf-8")
    text = text.replace("experiment: kifer2012-output", "experiment: kifer2012-foo", 1)
    (experiments_folder / "kifer2012-foo.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"foo\.yaml: experiment: 'kifer2012-foo' has no folder with a settings.py"):
        load(CONFIG, tmp_path / "project")


def test_a_figure_has_one_experiment_that_draws_it(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "project")
    path = tmp_path / "project/config/experiments/li2021-moor.yaml"
    text = path.read_text(encoding="utf-8").replace("figures: [li2021-fig3,", "figures: [kifer2012-output,")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"moor\.yaml: figures: 'kifer2012-output' is declared by .*output\.yaml"):
        load(CONFIG, tmp_path / "project")


def test_all_mistakes_of_an_experiment_at_once_and_at_every_scale(folder):
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    document["mechanisms"][1]["calibration"] = "corrected"
    del document["common"]["test_share"]
    document["figures"] = ["nothing"]
    with pytest.raises(ConfigError) as error:
        load_with(folder, name, document)
    lines = str(error.value).splitlines()
    assert len(lines) == 5 and all("kifer2012-output.yaml: " in line for line in lines)
    assert sum("'test_share' is missing" in line for line in lines) == 3


def test_a_setting_or_axis_of_another_experiment_is_refused(folder):
    """It would silently do nothing."""
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    document["common"]["box"] = 1.0
    document["grid"]["tiny"]["part"] = ["all"]
    with pytest.raises(ConfigError) as error:
        load_with(folder, name, document)
    for words in ("common: unknown key 'box'; known: clips, deltas,", "grid.tiny: unknown key 'part'; known: dataset"):
        assert f"output.yaml: {words}" in str(error.value)


def test_a_mechanism_that_there_is_not(folder):
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    document["mechanisms"][1]["mechanism"] = "objectiv"
    with pytest.raises(
        ConfigError, match=r"mechanisms.1.mechanism: 'objectiv' is no module .*; did you mean 'objective'\?"
    ):
        load_with(folder, name, document)


def test_exponents_without_a_point_are_numbers(tmp_path):
    """YAML 1.1 reads 1e-6 as text; ours does not."""
    (tmp_path / "a.yaml").write_text("a: 1e-6\nb: -2E3\nc: 1.5e-6\nd: e6", encoding="utf-8")
    assert config_files.parse(tmp_path / "a.yaml") == {"a": 1e-6, "b": -2000.0, "c": 1.5e-6, "d": "e6"}


def test_a_whole_number_in_a_grid_is_the_same_cell_as_its_float(folder):
    """`epsilon: [1]` and `epsilon: [1.0]` name the same path, seed and parameters."""
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    one = load_with(folder, name, document).experiments["tiny", "kifer2012-output"].cells
    document["grid"]["tiny"]["epsilon"] = [1]
    document["settings"]["tiny"].update(repeats=6.0, deltas=[0, 1e-6], ridge_multiples=[2, 20])
    other = load_with(folder, name, document).experiments["tiny", "kifer2012-output"].cells
    assert repr(one) == repr(other)
    assert isinstance(load({**CONFIG, "seed": 3.0}, folder).seed, int)


def test_slugs_keep_values_apart():
    assert plan.slug({"dataset": "adult", "epsilon": 0.1}) == "adult_epsilon-0.1"
    assert plan.slug({"epsilon": 1.0}) == "epsilon-1"
    assert plan.slug({"epsilon": 0.12345678}) != plan.slug({"epsilon": 0.1234568})


def test_a_data_set_that_cannot_be_had_is_left_out_with_the_reason(folder):
    loaded = plan.load(CONFIG, folder, unavailable=lambda entry, *_: "gone" if entry["name"] == "hadamard" else None)
    experiment = loaded.experiments["quick", "kifer2012-output"]
    assert experiment.skipped == {"hadamard": "gone"}
    assert experiment.datasets == ["breast-cancer"]
    assert not any("hadamard" in scenario for _, scenario in experiment.cells)


def test_an_experiment_without_any_data_set_is_not_run_and_its_lack_is_told(folder):
    gone = {"adult", "breast-cancer", "diabetes", "digits", "hadamard"}
    loaded = plan.load(CONFIG, folder, unavailable=lambda entry, *_: "gone" if entry["name"] in gone else None)
    assert "kifer2012-output" not in [experiment.name for experiment in loaded.of_scale("quick")]
    assert loaded.skipped("quick")["hadamard"] == "gone"
    with_data = plan.load(CONFIG, folder)
    assert "kifer2012-output" in [experiment.name for experiment in with_data.of_scale("quick")]


def test_a_big_data_set_is_left_out_until_it_is_asked_for(folder, tmp_path):
    """Its cells are skipped with a reason that says how to get it; named under `fetch`, or in the mirror, they run."""
    name = "config/experiments/kifer2012-output.yaml"
    document = copy.deepcopy(config_files.parse(folder / name))
    document["grid"]["tiny"]["dataset"] = ["url", "breast-cancer"]
    original = (folder / name).read_bytes()
    (folder / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        without = load(CONFIG, folder).experiments["tiny", "kifer2012-output"]
        asked = load({**CONFIG, "fetch": ["url"]}, folder).experiments["tiny", "kifer2012-output"]
        (tmp_path / "url").mkdir()
        (tmp_path / "url" / "url_svmlight.tar.gz").write_bytes(b"")
        mirrored = load({**CONFIG, "mirror": str(tmp_path)}, folder).experiments["tiny", "kifer2012-output"]
    finally:
        (folder / name).write_bytes(original)
    assert without.datasets == ["breast-cancer"]
    assert list(without.skipped) == ["url"] and "--config fetch='[url]'" in without.skipped["url"]
    for available in (asked, mirrored):
        assert available.datasets == ["breast-cancer", "url"] and available.skipped == {}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["kdd-algbera"], "fetch: 'kdd-algbera' is not in config/datasets.yaml; did you mean 'kdd-algebra'?"),
        (["adult"], "fetch: 'adult' is not fetched on request"),
        ("covertype", "fetch: 'covertype' is not allowed (big data sets to download): must be array"),
        (["url", "url"], "fetch: ['url', 'url'] is not allowed (big data sets to download): must not hold the same"),
    ],
)
def test_what_is_asked_for_is_checked(folder, asked, words):
    with pytest.raises(ConfigError) as error:
        load({**CONFIG, "fetch": asked}, folder)
    assert words in str(error.value)


def test_a_cell_holds_its_own_slice_only(folder):
    """Adding a value to a grid changes no other cell's parameters: nothing of them is run again."""
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    before = load_with(folder, name, document).experiments["quick", "kifer2012-output"].cells
    document["grid"]["quick"]["epsilon"].append(7.0)
    after = load_with(folder, name, document).experiments["quick", "kifer2012-output"].cells
    assert len(after) > len(before)
    assert all(after[key] == cell for key, cell in before.items())
