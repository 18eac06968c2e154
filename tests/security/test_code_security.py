"""Nothing in the project unpickles, evaluates text, or hands a string to a shell: read from the syntax trees."""

import ast
import fnmatch
import re
from pathlib import Path

import together

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "workflow", "docs", "bench", "examples", "tests", ".ci")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
RULES = [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]

# Whose files or strings run code when they are read.
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "torch",
    "pty",
    "commands",
}
NAMES = {"eval", "exec", "compile", "__import__"}
METHODS = {
    "popen", "getoutput", "getstatusoutput", "to_pickle", "read_pickle", "read_hdf", "unsafe_load", "full_load",
    "load_all", "unsafe_load_all", "full_load_all",
}  # fmt: skip
# What a source must hold to be worth a parse.
SUSPECT = re.compile(
    rf"\b({'|'.join([*MODULES, *NAMES, *METHODS])}|subprocess|import_module|load|query|shell|os)\b|allow_"
)
CALLS = ("os.system", "os.exec", "os.spawn", "os.posix_spawn", "tempfile.mktemp")

# Files, what is done there -> why it may be. An entry that is not needed any more fails too.
_TEXT = "code of our own pages or tests, no configuration and no data"
ALLOWED = {
    ("src/dperm/__init__.py", "import_module"): "a public name -> its module, both in a table beside it",
    ("src/dperm/audit/mutants/__init__.py", "import_module"): "the groups that are files of its folder",
    ("src/dperm/audit/__init__.py", "import_module"): "a public name -> its module, both in a table beside it",
    (
        "src/dperm_pipeline/audits/attacks.py",
        "import_module",
    ): "from the table of families, which config/audits.yaml is held against",
    ("src/dperm/cli/__init__.py", "import_module"): "the commands that are files of its folder",
    (
        "src/dperm/cli/audit.py",
        "import_module",
    ): "`dperm audit module:factory`: whoever types it asks for their own code",
    ("src/dperm/serve/allowed.py", "import_module"): "from the table of learners beside it",
    ("src/dperm/serve/processes.py", "subprocess"): "this Python with a module of this package and numbers, no shell",
    ("src/dperm_pipeline/datasets/prepare.py", "import_module"): "from the table of formats, an enum of the schema",
    (
        "src/dperm_pipeline/datasets/packages.py",
        "subprocess",
    ): "pip download, with names that the schema holds to letters; no shell, nothing installed",
    ("src/dperm_pipeline/experiments.py", "import_module"): "of an experiment, a name that the schema holds to letters",
    ("src/dperm_pipeline/places.py", "import_module"): "the folders that there are",
    ("src/dperm_pipeline/figures/__init__.py", "import_module"): "what an experiment's own figures.py names",
    ("src/dperm/mechanisms/__init__.py", "import_module"): "from the table of mechanisms",
    ("src/dperm_pipeline/forked/__init__.py", "subprocess"): "this Python with a file of this package, no shell",
    ("src/dperm_pipeline/forked/client.py", "os.exec"): "this Python with the words that it was given, no shell",
    ("src/dperm_pipeline/forked/server.py", "import_module"): "from the table of libraries beside it",
    ("src/dperm_pipeline/report/provenance.py", "subprocess"): "git with fixed words, no shell",
    ("examples/frontier/fit_better_objpert.py", "torch"): "runs others' code as it is; nothing is read back",
    ("bench/auditors/run_dp_sniper.py", "torch"): "runs others' code as it is; nothing is read back",
    ("examples/libraries/environment.py", "subprocess"): "uv, and a library's Python, by names of folders; no shell",
    ("examples/gallery/*.py", "pickle"): "a model that the program itself has written down a line before",
    ("docs/update_assets.py", "subprocess"): "git with fixed words, no shell",
    ("docs/site/api.py", "import_module"): "the names that the pages of the API list",
    (".ci/audit-lock/run.py", "subprocess"): "pip and pip-audit with fixed words, no shell",
    ("tests/docs/test_*.py", "exec"): _TEXT,
    ("tests/docs/test_*.py", "compile"): _TEXT,
    ("tests/faults/test_*.py", "__import__"): "stands in for a library that is missing",
    ("tests/dperm_papers/kifer2012/test_theorem2.py", "eval"): _TEXT,
    ("src/dperm/audit/called/objects.py", "pickle"): "bytes that are compared, and never read back",
    ("tests/dperm/*/test_*.py", "pickle"): "a copy made here and now, to test that models survive it",
    ("tests/dperm/test_client.py", "pickle"): "a copy made here and now, to test that another process may have one",
    ("tests/dperm/*/test_*.py", "joblib"): "a copy made here and now, to test what it carries or that it is refused",
    ("tests/dperm/serve/test_files.py", "allow_pickle"): "makes the attack that must not work",
    ("tests/security/test_reading_security.py", "pickle"): "makes the attack that must not work",
}


def found(source: str) -> list[tuple[int, str]]:
    """Lines of a source with what is not allowed there without a reason."""
    if not SUSPECT.search(source):
        return []
    tree = ast.parse(source)
    # Loaders that are made from SafeLoader in the same file.
    safe = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("SafeLoader") for base in node.bases)
    }
    return sorted({(node.lineno, what) for node in ast.walk(tree) for what in _wrong(node, safe)})


def _wrong(node: ast.AST, safe: set[str]):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from sorted({name.split(".")[0] for name in modules} & MODULES)
    # The bare name, not only its call: `map(eval, texts)` does the same.
    if isinstance(node, ast.Name) and node.id in NAMES:
        yield node.id
    if isinstance(node, ast.Attribute) and node.attr in METHODS:
        yield node.attr
    if not isinstance(node, ast.Call):
        return
    called = ast.unparse(node.func)
    last = called.split(".")[-1]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    constant = bool(node.args) and isinstance(node.args[0], ast.Constant)
    if "shell" in given and ast.unparse(given["shell"]) != "False":
        yield "shell=True"
    if called.startswith("subprocess."):
        yield "subprocess"
        if node.args and not isinstance(node.args[0], (ast.List, ast.Name, ast.Call, ast.Starred, ast.Attribute)):
            yield "a command in one string"
    yield from (call for call in CALLS if called.startswith(call))
    if last == "import_module" and not constant:
        yield "import_module"
    if called == "yaml.load":
        loader = ast.unparse(given["Loader"]) if "Loader" in given else ""
        if loader.split(".")[-1] not in {"SafeLoader", "CSafeLoader", *safe}:
            yield "yaml.load"
    if "allow_pickle" in given and ast.unparse(given["allow_pickle"]) != "False":
        yield "allow_pickle"
    # pandas evaluates these as expressions; no other `query` takes text that is put together.
    put_together = bool(node.args) and isinstance(node.args[0], (ast.JoinedStr, ast.BinOp))
    if last in ("query", "eval") and "." in called and put_together:
        yield f"DataFrame.{last}"


def test_every_exception_has_a_reason_and_is_needed():
    seen, wrong = set(), []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        for line, what in found(path.read_text(encoding="utf-8")):
            # Tests and benchmarks start programs, never through a shell.
            if what in ("subprocess", "import_module") and name.startswith(("tests/", "bench/")):
                continue
            reasons = {key for key in ALLOWED if key[1] == what and fnmatch.fnmatch(name, key[0])}
            seen |= reasons
            if not reasons:
                wrong.append(f"{name}:{line}: {what}")
    assert wrong == []
    assert set(ALLOWED) - seen == set(), "take these out of ALLOWED"
    assert len(FILES) > 300


@together.over(
    ("source", "what"),
    [
        ("import pickle", "pickle"),
        ("from joblib import load", "joblib"),
        ("def f():\n    import marshal", "marshal"),
        ("eval(text)", "eval"),
        ("list(map(eval, texts))", "eval"),
        ("exec(text)", "exec"),
        ("__import__(name)", "__import__"),
        ("os.system(text)", "os.system"),
        ("os.popen(text)", "popen"),
        ("os.execvp(a, b)", "os.exec"),
        ("subprocess.run(words)", "subprocess"),
        ("subprocess.run(words, shell=True)", "shell=True"),
        ("subprocess.Popen(words, shell=flag)", "shell=True"),
        ("subprocess.run(f'git {name}')", "a command in one string"),
        ("subprocess.run('git ' + name)", "a command in one string"),
        ("yaml.load(text)", "yaml.load"),
        ("yaml.load(text, Loader=yaml.Loader)", "yaml.load"),
        ("class L(yaml.UnsafeLoader): ...\nyaml.load(text, Loader=L)", "yaml.load"),
        ("yaml.unsafe_load(text)", "unsafe_load"),
        ("np.load(path, allow_pickle=True)", "allow_pickle"),
        ("pd.read_pickle(path)", "read_pickle"),
        ("frame.query(f'x == {value}')", "DataFrame.query"),
        ("importlib.import_module(name)", "import_module"),
    ],
)
def test_the_reader_of_trees_sees(source, what):
    assert what in [word for _, word in found(source)]


@together.over(
    "source",
    [
        "re.compile(text)",
        "yaml.safe_load(text)",
        "class L(yaml.SafeLoader): ...\nyaml.load(text, Loader=L)",
        "np.load(path, allow_pickle=False)",
        "frame.query('x == @value')",
        "importlib.import_module('dperm_pipeline.tables')",
    ],
)
def test_the_reader_of_trees_lets_pass(source):
    assert found(source) == []


@together.over("path", RULES)
def test_rules_run_scripts_and_no_shell(path):
    """`shell:` would put wildcards and params into a command line; `run:` is code that no test reads."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"^\s+(shell|run|notebook|wrapper|cwl|conda|container):", text, flags=re.MULTILINE)
    assert not re.search(r"\b(eval|exec|__import__|pickle|os\.system|subprocess)\b", text)
    assert not re.search(r"^\s*(shell|storage)\(", text, flags=re.MULTILINE)


def test_the_page_escapes_all_but_its_own_script():
    pages = ROOT / "src/dperm_pipeline/report/page"
    marked = [
        f"{path.name}: {found}"
        for path in sorted(pages.glob("*.html"))
        for found in re.findall(r"\{\{[^}]*\|\s*safe\s*\}\}|\{%\s*autoescape[^%]*%\}", path.read_text(encoding="utf-8"))
    ]
    # The checksums of its own scripts, and one of them.
    assert marked == ["frame.html: {{ checksums | safe }}", "frame.html: {{ head | safe }}"]
