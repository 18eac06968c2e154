"""The word that declares a table of what there is: one more entry in it runs nothing else again.

A job's digest leaves a `Catalogue` out where it holds words alone: the job's own entry is among the roots of its digest
or among its params, and the others do not concern it.
"""

import ast
from collections import Counter

# The packages of this distribution.
OURS = ("dperm", "dperm_pipeline", "dperm_papers")
# As an annotation: `FIGURES: Catalogue[str, Target] = {...}`.
Catalogue = dict
# The class that keeps the words of an entry as they are, and its module.
_TARGET, _MODULE = "Target", f"{OURS[1]}.target"


def _bound(tree: ast.Module) -> Counter[str]:
    """Return how often a module gives each name a meaning: by assignments, imports, definitions, arguments and so on.

    A star may give one to any name, and then none counts as given once.
    """
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        only_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if not (only_read or isinstance(node, (ast.Attribute, ast.Constant, ast.keyword))):
            said = [value for _, value in ast.iter_fields(node)]
            each = [part for value in said for part in (value if isinstance(value, list) else [value])]
            found.update(part for part in each if isinstance(part, str))
    return Counter() if "*" in found else found


def catalogues(tree: ast.Module) -> list[ast.AnnAssign]:
    """Return the statements of a module that declare catalogues and hold words alone.

    Such a statement is `NAME: Catalogue[...] = {...}`, with `Catalogue` imported from one of our packages. Words are
    texts, True, False and None, in tuples and lists; names that the module gives to texts or tuples of them, joined by
    `+` and `*`; and a `Target` of words (of `_MODULE`), which keeps them as they are. What any function
    or another class makes of words is computed: such a table is code like any other. So is one with a name that
    anything else in the module gives a meaning too, be it in a branch or a function.
    """
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    from_ours = [node for node in imports if str(node.module).split(".")[0] in OURS]
    if not any(alias.name == "Catalogue" and not alias.asname for node in from_ours for alias in node.names):
        return []
    bound = _bound(tree)
    from_there = [alias for node in imports if node.module == _MODULE for alias in node.names]
    keeps = bound[_TARGET] == 1 and any(alias.name == _TARGET and not alias.asname for alias in from_there)
    named = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    named = {name: value for name, value in named.items() if bound[name] == 1}

    def is_text(node) -> bool:
        """Whether it is a text, or a tuple or list of texts, or so many of them joined."""
        if isinstance(node, ast.Name):
            return node.id in named and is_text(named[node.id])
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(is_text, node.elts))
        if isinstance(node, ast.Starred):
            return is_text(node.value)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Add) and is_text(node.left) and is_text(node.right)
        return isinstance(node, ast.Constant) and isinstance(node.value, str)

    def is_words(node) -> bool:
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool)):
            return True
        if isinstance(node, (ast.Tuple, ast.List)):
            return all(map(is_words, node.elts))
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return keeps and ast.unparse(node.func) == _TARGET and all(map(is_words, given))
        return is_text(node)

    def is_entry(key, value) -> bool:
        # Without a key: another catalogue, `**paper.FIGURES`, is taken in.
        if key is None:
            return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
        return is_text(key) and is_words(value)

    return [
        node
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation).split("[")[0] == "Catalogue"
        and not any(isinstance(part, ast.Call) for part in ast.walk(node.annotation))
        and isinstance(node.value, ast.Dict)
        and all(map(is_entry, node.value.keys, node.value.values))
    ]
