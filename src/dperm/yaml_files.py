"""Read YAML without its traps: `1e-6` is a number, and a key given twice is an error."""

import re
from pathlib import Path
from typing import Any

import yaml

from dperm.errors import ConfigError

# In C where PyYAML has it: reading the configuration is a good part of what every start of Snakemake costs.
try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader


# Our own files go eleven deep.
_DEEPEST = 50


class _Loader(SafeLoader):
    """YAML with its traps taken out: `1e-6` is a number; keys are text and stand once."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                word = f"put {key_node.value} in quotes" if key_node.id == "scalar" else "not a list or mapping"
                problem = f"a key must be text; {word}"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


# The resolvers are shared with SafeLoader until copied.
_Loader.yaml_implicit_resolvers = {key: list(value) for key, value in SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


def parse(path: str | Path) -> Any:
    """Read a YAML file; ConfigError, with line and column, if it is not YAML in UTF-8."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        _refuse_traps(text)
        return yaml.load(text, Loader=_Loader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{place}: not valid YAML: {getattr(error, 'problem', None) or error}") from None


def _refuse_traps(text: str) -> None:
    """Refuse what refers to another place, which may fill the memory, and what would use up C's stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            problem = "aliases (*name) are not read; write the value out"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.composer.ComposerError(None, None, "lists within lists go too deep", event.start_mark)
