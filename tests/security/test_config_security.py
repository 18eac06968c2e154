"""Whatever stands in the configuration or on the command line is refused in one message, or is plain data."""

import copy
import functools
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from snakemake.cli import parse_config

from dperm.errors import ConfigError
from dperm_pipeline import config_files, plan
from dperm_pipeline.datasets import fetch

ROOT = Path(__file__).parents[2]
EXPERIMENT = "kifer2012-output"
FILES = ("config.yaml", "datasets.yaml", "audits.yaml", f"experiments/{EXPERIMENT}.yaml")
# What a path name may hold; no part of it may lead upwards.
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}\Z")
# Of the keys that name folders and files by themselves: the user's own file, and the mirror.
CANARY = "canary"
NASTY = [
    f"; touch {CANARY};", f"$(touch {CANARY})", f"`touch {CANARY}`", f"| touch {CANARY} &", f"a\ntouch {CANARY}\n",
    "adult\n", "adult\r", "../../escaped", "/etc/passwd", "..", ".", "a/b", "{wildcards.scale}", "{dataset}",
    "{0.__class__}", "%(name)s", "${HOME}", "~root", "it's", 'a "quoted" name', "<script>alert(1)</script>",
    "x' or '1'='1", f"__import__('os').system('touch {CANARY}')", "*a", "&a", "-rf", "--config",
    f"!!python/object/apply:os.system ['touch {CANARY}']", "", " ", "\t", "\u202e", "ä数据", "é\u0301", "😀", "null",
    "yes", "1e999", ".nan", "0x10", "1_000", "nan", "9" * 5_000, "con", "a\x00b", "\x1b[31m", "x" * 5_000,
]  # fmt: skip
STRINGS = st.one_of(st.sampled_from(NASTY), st.text(max_size=40))
# Nine values that YAML's aliases make into 9^8.
LAUGHS = "[&a0 [x]" + "".join(f", &a{k + 1} [{', '.join([f'*a{k}'] * 9)}]" for k in range(8)) + "]"
VALUES = st.one_of(
    STRINGS,
    st.sampled_from([10**400, -(10**400), 2**64, float("nan"), float("inf"), True, None, [], {}, [[[[]]]], {"": ""}]),
    st.lists(STRINGS, max_size=3),
    st.dictionaries(STRINGS, STRINGS, max_size=2),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The files that a plan reads, of one experiment."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "workflow").mkdir()
    (folder / "workflow/schemas").symlink_to(ROOT / "workflow/schemas")
    (folder / "config/experiments").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module", autouse=True)
def schemas_read_once():
    """They are the same for every plan here, and take most of its time."""
    read = functools.cache(config_files.parse)
    with pytest.MonkeyPatch.context() as patch:
        plain = config_files.parse
        patch.setattr(config_files, "parse", lambda path: read(path) if "schemas" in str(path) else plain(path))
        yield


@pytest.fixture(scope="module")
def sound():
    """Name of the file -> its content, small enough to be read many times."""
    found = {name: yaml.safe_load((ROOT / "config" / name).read_text(encoding="utf-8")) for name in FILES}
    kept = ("adult", "breast-cancer", "kdd-algebra")
    found["datasets.yaml"] = {name: found["datasets.yaml"][name] for name in kept}
    own = {"title": "t", "task": "binary", "format": "csv", "licence": "l", "citation": "c", "path": "own.csv"}
    own |= {"target": {"column": "y", "positive": "a"}, "ranges": {"x": [0, 1]}, "levels": {"f": ["u", "v"]}}
    found["datasets.yaml"]["own"] = {**own, "data_dependent": ["none"]}
    found["config.yaml"]["papers"] = ["kifer2012"]
    found["audits.yaml"]["attacks"] = found["audits.yaml"]["attacks"][:1]
    grid = found[FILES[-1]]["grid"]
    for scale in grid:
        grid[scale] = {**grid[scale], "dataset": ["breast-cancer", "own"]}
    return found


def places(value, path=()):
    """Every place in a document: of each key, and of each value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield "value", (*path, key)
        if isinstance(value, dict):
            yield "key", (*path, key)
        yield from places(inner, (*path, key))


def put(document, kind, path, new):
    """Return the document with one key or value replaced."""
    document = copy.deepcopy(document)
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    if kind == "value":
        inside[path[-1]] = new
    else:
        inside[new if isinstance(new, str) else str(new)] = inside.pop(path[-1])
    return document


def loaded(project, documents):
    """Load the plan from files, as a run does; refuse anything but a plan or one clear message."""
    for name in FILES[1:]:
        (project / "config" / name).write_text(
            yaml.safe_dump(documents[name], allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
    try:
        return plan.load(documents["config.yaml"], project, unavailable=fetch.unavailable)
    except ConfigError as error:
        return str(error)


def check(found, project):
    """A plan's names stay in their folders; a message says where the mistake is and is of bearable length."""
    if isinstance(found, str):
        assert "Traceback" not in found
        assert re.match(r"(config|environment|.*/config)[^\n]*: ", found), found[:300]
        assert max(map(len, found.splitlines())) < 7_000
    else:
        for (scale, name), experiment in found.experiments.items():
            assert scale in plan.SCALES and PLAIN.match(name) and ".." not in name
            for part in {part for cell in experiment.cells for part in cell} | {*experiment.baselines}:
                assert PLAIN.match(part) and ".." not in part, part
            for drawn in (*experiment.figures, *experiment.tables):
                assert PLAIN.match(drawn)
        for name, entry in found.datasets.items():
            assert PLAIN.match(name) and ".." not in name
            for file in (*entry.get("files", {}), entry.get("mirror_folder", "x")):
                assert PLAIN.match(file) and ".." not in file
        for jobs in found.audits.values():
            assert all(PLAIN.match(part) for job in jobs for part in job)
        # What is kept beside the results reads back as the same plain values.
        kept = found.resolved(found.scale)
        assert yaml.safe_load(yaml.safe_dump(kept)) == kept
    assert not list(project.rglob(CANARY)) and not Path(CANARY).exists()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), new=VALUES)
def test_any_key_or_value_of_any_file(project, sound, data, new):
    name = data.draw(st.sampled_from(FILES))
    kind, path = data.draw(st.sampled_from(sorted(places(sound[name]), key=str)))
    check(loaded(project, {**sound, name: put(sound[name], kind, path, new)}), project)


# A key and a value of each file, and where else a word becomes a path: each is a plan for every nasty word.
BECOME_PATHS = [
    ("datasets.yaml", "key", ("own",)),
    ("datasets.yaml", "value", ("adult", "sources", 0, 0)),
    (FILES[-1], "value", ("mechanisms", 0, "mechanism")),
    ("audits.yaml", "value", ("attacks", 0, "pairs", "tiny", 0)),
]
SO_DO = [
    ("datasets.yaml", "key", ("adult", "files", "adult.data")),
    ("datasets.yaml", "value", ("own", "format")),
    (FILES[-1], "value", ("experiment",)),
    (FILES[-1], "value", ("grid", "tiny", "dataset", 0)),
    (FILES[-1], "value", ("figures", 0)),
    ("audits.yaml", "value", ("attacks", 0, "mechanism")),
    ("audits.yaml", "value", ("attacks", 0, "budgets", 0, "variant")),
]


@pytest.mark.parametrize(
    ("name", "kind", "path"), [*BECOME_PATHS, *(pytest.param(*place, marks=pytest.mark.slow) for place in SO_DO)]
)
def test_what_becomes_a_path_is_a_plain_word(project, sound, name, kind, path):
    """The nasty words where they would become a part of a path: refused, but for the plain ones."""
    for nasty in NASTY[:12] + NASTY[-3:]:
        found = loaded(project, {**sound, name: put(sound[name], kind, path, nasty)})
        check(found, project)
        if not isinstance(found, str):
            assert PLAIN.match(nasty) or path[-2:] == (0, 0), nasty


@pytest.mark.parametrize(
    "paths",
    [[("own", "path")], pytest.param([("own", "title"), ("own", "target", "column")], marks=pytest.mark.slow)],
)
def test_free_text_stays_what_it_is(project, sound, paths):
    kept = 0
    for nasty in NASTY[:20]:
        changed = sound["datasets.yaml"]
        for path in paths:
            changed = put(changed, "value", path, nasty)
        found = loaded(project, {**sound, "datasets.yaml": changed})
        check(found, project)
        if not isinstance(found, str):
            kept += 1
            for path in paths:
                assert functools.reduce(dict.__getitem__, path, found.datasets) == nasty
    assert kept >= 10


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.one_of(st.sampled_from(["scale", "papers", "seed", "mirror", "fetch", "audit"]), STRINGS), value=STRINGS)
@example(key="seed", value="9" * 5_000)
@example(key="mirror", value="&a [*a]")
@example(key="fetch", value="[" * 500)
@example(key="audit", value=f"{{level: !!python/object/apply:os.system ['touch {CANARY}']}}")
@example(key="fetch", value=LAUGHS)
def test_any_value_on_the_command_line(project, sound, key, value):
    try:
        given = parse_config([f"{key}={value}"])
    except (ValueError, TypeError, AssertionError):
        return  # Snakemake's own refusal
    check(loaded(project, {**sound, "config.yaml": {**sound["config.yaml"], **given}}), project)


def test_a_name_with_a_line_end_is_none(project, sound):
    """Python's `$` is also before a last line end."""
    found = loaded(project, {**sound, "datasets.yaml": put(sound["datasets.yaml"], "key", ("own",), "own\n")})
    assert isinstance(found, str) and "'own\\n' is not allowed: must match" in found


@pytest.mark.parametrize("path", ["{dataset}.csv", "own}.csv", "own\n.csv", "own\x1b.csv"])
def test_a_file_that_snakemake_would_misread_is_refused(project, sound, path):
    found = loaded(project, {**sound, "datasets.yaml": put(sound["datasets.yaml"], "value", ("own", "path"), path)})
    assert isinstance(found, str) and "own.path: " in found and "rename the file" in found


def test_a_value_without_an_end_is_refused(project, sound):
    endless = []
    endless.append(endless)
    found = loaded(project, {**sound, "config.yaml": {**sound["config.yaml"], "fetch": endless}})
    assert "a value that holds itself" in found
