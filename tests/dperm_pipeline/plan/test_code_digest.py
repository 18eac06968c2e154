"""What changes the fingerprint of a module, and what does not."""

import ast
import dataclasses
import functools
import importlib
import sys
from pathlib import Path

import pytest
import together

import dperm
from dperm import catalogue, mechanisms
from dperm_pipeline import places, worker
from dperm_pipeline.target import Target

MODULE = importlib.import_module("dperm_pipeline.plan.code_digest")
DECLARED = "from dperm.catalogue import Catalogue\nfrom dperm_pipeline.target import Target\nfrom other import taken\n"
# Of ours too, but what they make of words is theirs.
OURS_TOO = "from dperm_pipeline.made import Made, made\ndef own(x): ...\nclass Own: ...\n"
SOURCE = (
    f'"""Words."""\n{DECLARED}'
    'REGISTRY: Catalogue[str, Target] = {"a": Target("b", ("c", WORD), released=True), **other.REGISTRY}\n'
    'STEP = 2\n\n\ndef f(x):\n    """More."""\n    return x + STEP\n\n\n'
    'WORD = "w"\nWORDS = ("v", "w")\nNUMBER = 1\n'
)
ENTRY = '"a": Target("b", ("c", WORD), released=True)'
SRC = Path(dperm.__file__).parents[1]
FILES = [p.relative_to(SRC).as_posix() for package in catalogue.OURS for p in sorted((SRC / package).rglob("*.py"))]
# Who reads a catalogue outside `plan`, `report` and the workflow's rules, which compute nothing: these look up where
# the code of one entry stands, which is a root of the job's digest, or list names.
READERS = {
    ("dperm/__init__.py", "__all__ = sorted(PUBLIC)"), ("dperm/__init__.py", "__getattr__"),
    ("dperm/__init__.py", "__dir__"), ("dperm/audit/__init__.py", "__all__ = sorted(PUBLIC)"),
    ("dperm/audit/__init__.py", "__getattr__"), ("dperm/audit/__init__.py", "__dir__"),
    ("dperm_pipeline/figures/__init__.py", "_LEDGERS = {'FIGURES': _of_each_paper(), 'TABLES': _TABLES}"),
    ("dperm_pipeline/figures/__init__.py", "_of_each_paper"),
}  # fmt: skip


@functools.cache
def parsed():
    """The syntax tree of each file; whoever only collects these tests need not wait for that."""
    return {path: ast.parse((SRC / path).read_text("utf-8")) for path in FILES}


@pytest.fixture
def fingerprint(monkeypatch, tmp_path):
    path = tmp_path / "any.py"
    # What a run tells its jobs is of real modules alone.
    monkeypatch.setattr(MODULE, "read_so_far", set())
    monkeypatch.setattr(MODULE, "source_of", lambda module: path)

    def of(source):
        path.write_text(source, encoding="utf-8")
        return MODULE.read_module.__wrapped__("any")[1]

    return of


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Words", "Other words"),
        ("More", "Less"),
        ("STEP = 2", "STEP = 2  # why"),
        (ENTRY, f'{ENTRY}, "d": Target("e")'),
        ('"c"', '"d"'),
        ("True", "False"),
        ("WORD", 'WORD + "more"'),
        ("WORD", '*WORDS, "more"'),
        ("Catalogue[str, Target]", "Catalogue"),
    ],
)
def test_words_and_catalogue_entries_change_nothing(fingerprint, old, new):
    """A new experiment, mechanism or figure is registered without running the others again."""
    assert old in SOURCE
    assert fingerprint(SOURCE) == fingerprint(SOURCE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"), [("STEP = 2", "STEP = 3"), ("x + STEP", "x - STEP"), (": Catalogue[str, Target]", "")]
)
def test_code_does(fingerprint, old, new):
    assert old in SOURCE
    assert fingerprint(SOURCE) != fingerprint(SOURCE.replace(old, new, 1))


def test_what_the_last_start_has_read_is_read_again_where_it_is_lost_or_cannot_be_kept(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    name = "dperm_pipeline.plan.code_digest"
    read = MODULE.read_module.__wrapped__
    first = read(name)
    assert "dperm_pipeline.worker" in first[0]
    assert not list(tmp_path.iterdir()), "a folder in which no Snakemake has run stays as it is"

    MODULE.KEPT.parent.mkdir()
    assert read(name) == first
    (kept,) = MODULE.KEPT.iterdir()
    with monkeypatch.context() as patched:
        patched.setattr(worker, "fingerprint_and_imports", lambda tree: pytest.fail("read twice"))
        assert read(name) == first
    kept.write_text("")
    assert read(name) == first
    assert kept.read_text()

    kept.unlink()
    MODULE.KEPT.rmdir()
    MODULE.KEPT.write_text("in the place of a folder")
    assert read(name) == first


def test_another_source_or_another_way_of_reading_it_is_not_what_the_last_start_has_read(
    monkeypatch, tmp_path, fingerprint
):
    monkeypatch.chdir(tmp_path)
    MODULE.KEPT.parent.mkdir()
    assert len({fingerprint(SOURCE), fingerprint(SOURCE.replace("STEP = 2", "STEP = 3"))}) == 2
    assert len(list(MODULE.KEPT.iterdir())) == 2
    monkeypatch.setattr(MODULE, "way_of_reading", lambda: b"another Python")
    fingerprint(SOURCE)
    assert len(list(MODULE.KEPT.iterdir())) == 3


@together.over("name", ["TABLES", "REGISTRY", "FIGURES", "EXPERIMENTS", "FAMILIES", "PUBLIC", "SIZES"])
@together.over("declared", ["", ": dict[str, str]", ": catalogue[str, str]", ": list[Catalogue]"])
def test_no_name_is_left_out_for_what_it_is_called(fingerprint, name, declared):
    assert fingerprint(f'{name}{declared} = {{"a": "b"}}') != fingerprint(f'{name}{declared} = {{"a": "c"}}')


@together.over(
    "value",
    [
        '{{"scale": {0}.0}}', '{{"scale": -{0}}}', '{{{0}: "scale"}}', '{{"scale": Target("a", share={0})}}',
        '{{"scale": Target("a", ("b", {0}))}}', '{{"scale": float("{0}")}}', '{{"scale": len("{0}" + "a")}}',
        '{{"scale": "a" * {0}}}', '{{"scale": lambda x: "{0}"}}', '{{"scale": ["{0}" for _ in WORDS]}}',
        '{{"scale": f"{{WORD}}{0}"}}', '{{"scale": WORDS[{0}]}}', '{{"scale": "{0}" if WORD else ""}}',
        '{{"scale": made.by("{0}")}}', '{{**made("{0}")}}', '{{**{{"scale": {0}}}}}', 'dict(scale="{0}")', '"{0}"',
        '{{"scale": b"{0}"}}', '{{"scale": (WORD := "{0}")}}', '{{"scale": taken("{0}")}}', '{{"scale": num("{0}")}}',
        '{{"scale": Target("a", [True + {0}])}}', '{{"scale": True + WORD * {0}}}', '{{"scale": f{0}}}',
        '{{"scale": Target(f{0})}}', '{{"scale": NUMBER_{0}}}', '{{"scale": own("{0}")}}', '{{"scale": Own("{0}")}}',
        '{{"scale": Made("{0}")}}', '{{"scale": made(Target("{0}"))}}', '{{"scale": Target(own("{0}"))}}',
    ],
)  # fmt: skip
def test_what_computes_counts_in_a_catalogue_too(fingerprint, value):
    source = f'{DECLARED}{OURS_TOO}WORD = "w"\nWORDS = ("v", "w")\nTABLES: Catalogue = {{}}'
    words = ('{"a": Target("b", ("c", WORD), *WORDS, released=True)}', '{"d": WORD + "e"}')
    assert fingerprint(source.format(words[0])) == fingerprint(source.format(words[1]))
    assert fingerprint(source.format(value.format(1))) != fingerprint(source.format(value.format(2)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('a.x: Catalogue = {"s": "1"}', 'b.y: Catalogue = {"s": "1"}'),
        ('T: Catalogue[str, f()] = {"s": "1"}', 'T: Catalogue[str, g()] = {"s": "1"}'),
        ('T: Catalogue = {"s": True + True}', 'T: Catalogue = {"s": True + True + True}'),
        ('num = float\nT: Catalogue = {"s": num("1")}', 'num = float\nT: Catalogue = {"s": num("2")}'),
        ('N = 1\nM = 2\nT: Catalogue = {"s": N}', 'N = 1\nM = 2\nT: Catalogue = {"s": M}'),
        ('Target = f\nT: Catalogue = {"s": Target("1")}', 'Target = f\nT: Catalogue = {"s": Target("2")}'),
        (
            'def Target(): ...\nT: Catalogue = {"s": Target("1")}',
            'def Target(): ...\nT: Catalogue = {"s": Target("2")}',
        ),
        (
            'from dperm import num as Target\nT: Catalogue = {"s": Target("1")}',
            'from dperm import num as Target\nT: Catalogue = {"s": Target("2")}',
        ),
    ],
)
def test_what_only_looks_like_a_catalogue_counts(fingerprint, one, other):
    assert fingerprint(DECLARED + one) != fingerprint(DECLARED + other)


@together.over(
    "meaning",
    [
        "if x:\n    from dperm import num as Target", "try:\n    from dperm import Target\nexcept ImportError: ...",
        "import dperm.made as Target", "from dperm.made import *", "if x:\n    def Target(): ...",
        "async def Target(): ...", "def f():\n    global Target\n    Target = num", "match x:\n    case Target: ...",
        "(Target := num)", "try: ...\nexcept E as Target: ...", "for Target in x: ...", "del Target",
    ],
)  # fmt: skip
def test_a_target_with_another_meaning_anywhere_computes(fingerprint, meaning):
    source = f'{DECLARED}{meaning}\nT: Catalogue = {{{{"s": Target("{{0}}")}}}}'
    assert fingerprint(source.format(1)) != fingerprint(source.format(2))
    # Nor does another thing of its module, by its name.
    source = source.replace(meaning, "").replace("import Target", "import num as Target")
    assert fingerprint(source.format(1)) != fingerprint(source.format(2))


@together.over("meaning", ["N = num()", "if x:\n    N = num()", "N += num()", "def f():\n    global N\n    N = 3"])
def test_so_does_a_word_with_another_meaning(fingerprint, meaning):
    """Before, it was what the last line says that names it, though the table took what a line before had said."""
    source = f'{DECLARED}{meaning}\nT: Catalogue = {{{{"s": {{0}}}}}}\nN = "a"\nM = "b"'
    assert fingerprint(source.format("N")) != fingerprint(source.format("M"))


def test_the_word_is_the_one_that_is_imported(fingerprint):
    for another in ("Catalogue = dict", "from other import Catalogue"):
        of_another = another + '\nT: Catalogue = {{"s": "{0}"}}'
        assert fingerprint(of_another.format(1)) != fingerprint(of_another.format(2))
    ours = 'from dperm_pipeline.target import Catalogue\nT: Catalogue = {{"s": "{0}"}}'
    assert fingerprint(ours.format(1)) == fingerprint(ours.format(2))


def test_a_catalogue_is_one_of_a_module_alone(fingerprint):
    source = DECLARED + 'def f(x):\n    TABLE: Catalogue = {{"a": "{0}"}}\n    return TABLE[x]'
    assert fingerprint(source.format("b")) != fingerprint(source.format("c"))


def of_module(tree):
    """Every statement that a module runs when it is loaded, those inside its branches and loops too."""
    pending = [*tree.body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pending += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))
            ]


def catalogues(tree):
    """The dictionaries of a module that are declared to be catalogues."""
    return [n for n in tree.body if isinstance(n, ast.AnnAssign) and "Catalogue" in ast.unparse(n.annotation)]


@pytest.mark.slow
def test_all_that_is_declared_is_left_out():
    assert all(catalogues(tree) == catalogue.catalogues(tree) for tree in parsed().values())


def is_assignment(node):
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None


@pytest.mark.parametrize("package", catalogue.OURS)
def test_each_constant_of_each_module_counts(package):
    """Each value that a module gives a name, and each number and word within it: another one is another digest."""
    for path, tree in parsed().items():
        for node in filter(is_assignment, of_module(tree) if path.startswith(f"{package}/") else ()):
            counted, where = node not in catalogues(tree), f"{ast.unparse(node)} of {path}"
            # A catalogue is one by what its module imports.
            alone = ast.Module([node], []) if counted else tree
            before, kept = worker.fingerprint(alone), node.value
            node.value = ast.Constant("another value")
            assert worker.fingerprint(alone) != before, where
            node.value = kept
            for part in (part for part in ast.walk(kept) if isinstance(part, ast.Constant)):
                said, part.value = part.value, "another" if not isinstance(part.value, str) else f"{part.value}+"
                assert (worker.fingerprint(alone) != before) == counted, where
                part.value = said
            for entry in () if counted else kept.values:
                numbers = [n for n in ast.walk(entry) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]
                assert not numbers, where


def test_a_constant_anywhere_in_a_module_changes_the_digest_of_what_loads_it(monkeypatch):
    """Through the whole of it, at one constant of each module that an experiment and its mechanism load."""
    roots = ("dperm_papers.li2021.bounds.experiment", "dperm.mechanisms.napp")
    read, digest = MODULE.read_module, MODULE.code_digest.__wrapped__
    before, changed = digest(*roots), 0
    for module in MODULE.modules(*roots):
        tree = ast.parse(MODULE.source_of(module).read_text(encoding="utf-8"))
        found = [n for n in filter(is_assignment, tree.body) if n not in catalogues(tree)]
        if found:
            found[-1].value, changed = ast.Constant("another value"), changed + 1
            other = read(module)[0], worker.fingerprint(tree)
            with monkeypatch.context() as patched:
                patched.setattr(MODULE, "read_module", lambda name, m=module, o=other: o if name == m else read(name))
                assert digest(*roots) != before, module
    assert changed > 20


def test_every_library_that_may_change_a_number_is_among_the_versions():
    """Before, a new Clarabel left what it solves as it was: it was no part of any digest."""
    roots = [f"{places.package(name)}.experiment" for name in places.experiments()]
    roots += ["dperm_pipeline.experiments", *(found.module for found in mechanisms.REGISTRY.values())]
    trees = (parsed()[MODULE.source_of(module).relative_to(SRC).as_posix()] for module in MODULE.modules(*roots))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    libraries = {name.split(".")[0] for name in names} - {*sys.stdlib_module_names, *catalogue.OURS}
    # These say what was released, hold threads back, read text, draw what leaves the house, and carry or keep answers.
    others = {"dp_accounting", "threadpoolctl", "yaml", "opendp"}
    others |= {"fastapi", "pydantic", "pydantic_core", "starlette", "uvicorn", "psycopg"}
    assert {{"sklearn": "scikit-learn"}.get(name, name) for name in libraries - others} == set(MODULE.NUMERICAL)


def test_catalogues_are_read_where_a_job_looks_up_its_own_entry_alone():
    """So what an entry says beside where its code stands cannot change a number: it reaches a job by its params."""
    names = {node.target.id for tree in parsed().values() for node in catalogues(tree)}
    found = set()
    for path, tree in parsed().items():
        nodes = [*ast.walk(tree)]
        known = {node.target.id for node in catalogues(tree)}
        known |= {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in names
        }
        if path.split("/")[1] in ("plan", "report"):
            continue
        for statement in (node for node in tree.body if node not in catalogues(tree)):
            for node in ast.walk(statement):
                named = isinstance(node, ast.Name) and node.id in known
                if named or (isinstance(node, ast.Attribute) and node.attr in names):
                    found.add((path, getattr(statement, "name", ast.unparse(statement))))
    assert found == READERS


def test_a_target_keeps_its_words_as_they_are():
    made = {name for name in vars(Target) if callable(getattr(Target, name)) and not hasattr(object, name)}
    assert dataclasses.is_dataclass(Target) and made <= {"__replace__"}


@together.over("path", sorted(path for path in FILES if path.endswith("/figures.py")))
def test_a_caption_draws_nothing_again(path):
    """A figure's own words are among its job's params; those of its neighbours are not its code.

    Where a function of the folder makes captions, its words are code.
    """
    tree, edited = ast.parse((SRC / path).read_text(encoding="utf-8")), 0
    before = worker.fingerprint(tree)
    entries = [item.value for item in catalogues(tree)]
    for call in (node for entry in entries for node in ast.walk(entry) if isinstance(node, ast.Call)):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, ast.Constant):
                argument.value, edited = f"other {argument.value}", edited + 1
    assert edited or any(getattr(item, "name", None) == "_target" for item in tree.body)
    assert worker.fingerprint(tree) == before
