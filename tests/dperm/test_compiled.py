"""What is compiled: once for every loss, no more often than it needs, and not without a word."""

import ast
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import together

from dperm import NAPP, compiled
from dperm.solvers import separable

SRC = Path(__file__).parents[2] / "src"
HOLD = (
    "import fcntl, sys, time; file = open(sys.argv[1], 'ab'); fcntl.lockf(file, fcntl.LOCK_EX); "
    "print('held', flush=True); time.sleep(2.5)"
)
# Each takes Numba seconds to compile, for sorts and for the messages of errors that cannot come about.
DEAR = {"partition", "argsort", "sort", "unique", "median", "percentile", "quantile"}


def functions(tree):
    """Return name, definition and decorator of the functions of a module that are compiled."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    marks = {node.name: {ast.unparse(mark) for mark in node.decorator_list} for node in found}
    return {node.name: (node, mark) for node in found for mark in marks[node.name] & {"compiled", "inlined"}}


def called(node):
    return {
        inner.func.id for inner in ast.walk(node) if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
    }


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(SRC.rglob("*.py")) if "\n@compiled" in path.read_text(encoding="utf-8")],
    ids=lambda path: str(path.relative_to(SRC)),
)
def test_what_a_module_compiles(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = functions(tree)
    inlined = {name for name, (_, mark) in own.items() if mark == "inlined"}
    # From Python they would be compiled anew in each process: only compiled code calls them, and some does.
    python = [node for node in tree.body if getattr(node, "name", None) not in own]
    assert not inlined & set().union(*map(called, python))
    assert inlined <= set().union(*(called(node) for node, _ in own.values()))
    for node, _ in own.values():
        for inner in ast.walk(node):
            dear = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in DEAR
            assert not dear, f"{node.name} calls {ast.unparse(inner)}: Numba compiles that for seconds; write the loop"


def loaded(node):
    """Names that a piece of code reads."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


def file_of(module):
    folder = SRC.joinpath(*module.split("."))
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def outside(tree, known):
    """What a module's compiled functions take, be it through constants of the module, from files not among `known`."""
    taken = {}
    for node in (n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) and "dperm" in ast.unparse(n)):
        for alias in node.names:
            module = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            # What is imported is a module, or something of one.
            path = file_of(module) if file_of(module).exists() else file_of(node.module)
            taken[alias.asname or alias.name.split(".")[0]] = path
    constants = {
        name: loaded(node.value)
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in (part.id for part in ast.walk(target) if isinstance(part, ast.Name))
    }
    pending = set().union(*(loaded(node) for node, _ in functions(tree).values()))
    seen = set()
    while pending - seen:
        seen |= (some := pending - seen)
        pending |= set().union(*(constants.get(name, set()) for name in some))
    return sorted(name for name in seen & taken.keys() if taken[name] not in known)


def in_key():
    """Files whose text is in the name of the cache's folder."""
    return {path for path in sorted(SRC.rglob("*.py")) if "dperm.compiled" in path.read_text(encoding="utf-8")}


def test_a_compiled_loop_takes_nothing_of_ours_from_a_file_that_is_not_in_the_cache_s_key():
    """An edit of such a file would go unnoticed: the loop would be loaded from the disk as it was."""
    known, seen = in_key(), 0
    for path in sorted(known - {SRC / "dperm/compiled.py", SRC / "dperm/catalogue.py"}):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        seen += len(functions(tree))
        assert outside(tree, known) == [], path
    assert seen > 50


@together.over(
    "taken",
    [
        "from dperm.domain import LEAST\n{0}def f(x):\n    return x + LEAST",
        "from dperm.domain import LEAST as least\n_SMALL = 2 * least\n{0}def f(x):\n    return x + _SMALL",
        "from dperm import domain\n_A, _B = domain.LEAST, 1\n_C = _B + _A\n{0}def f(x):\n    return x + _C",
        "import dperm.domain as d\n{0}def f(x):\n    return x + d.LEAST",
    ],
)
def test_a_constant_from_another_file_is_seen(taken):
    assert len(outside(ast.parse(taken.format("@compiled\n")), in_key())) == 1
    assert outside(ast.parse(taken.format("")), in_key()) == []
    assert outside(ast.parse(taken.format("@compiled\n")), in_key() | {SRC / "dperm/domain.py"}) == []


def test_the_losses_of_napp_share_what_is_compiled():
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (40, 3))
    given = {"random_state": 0}
    NAPP(classes=(0, 1), **given).fit(X, X[:, 0] > 0)
    NAPP(classes=(0, 1), loss="smoothed_hinge", fit_intercept=True, **given).fit(X, X[:, 0] > 0)
    NAPP(loss="squared", low=-1.0, high=1.0, y_bound=1.0, **given).fit(X, X[:, 0])
    NAPP(loss="poisson", y_bound=4, eta_bound=1.0, **given).fit(X, np.arange(40) % 4)
    assert len(separable.fits.signatures) == 1


def test_who_waits_for_a_compiler_is_told(caplog):
    @compiled.compiled
    def waited_for(x):
        return x + 1.0

    lock = compiled.cache_folder() / f"{__name__}.{waited_for.py_func.__qualname__}.lock"
    with (
        caplog.at_level(logging.INFO, "dperm"),
        subprocess.Popen([sys.executable, "-c", HOLD, lock], stdout=subprocess.PIPE) as other,
    ):
        other.stdout.readline()
        assert waited_for(1.0) == 2.0
    assert [record.message.partition(",")[0] for record in caplog.records] == ["compiling a solver for this machine"]
