"""CITATION.cff as BibTeX: dperm and the papers that it reproduces."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dperm.errors import ConfigError

_KINDS = {"software": "software", "conference-paper": "inproceedings", "article": "article"}


def bibtex(path: str | Path) -> str:
    """Return the entries of `CITATION.cff`, the software first and its references after it, a blank line between.

    The key of a reference is its `notes`. ConfigError if the file is not YAML, or an entry lacks its type, title or
    authors.
    """
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        own = _entry("dperm", document)
        return "\n\n".join([own, *(_entry(other["notes"], other) for other in document.get("references", []))])
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is not a citation file as dperm reads it ({error}); restore it") from None


def _entry(key: str, said: Mapping[str, Any]) -> str:
    kind = _KINDS[said["type"]]
    # BibTeX asks every article for its journal.
    kind = "misc" if kind == "article" and "journal" not in said else kind
    fields = {
        "author": " and ".join(_name(author) for author in said["authors"]),
        "title": f"{{{said['title']}}}",
        "booktitle": said.get("conference", {}).get("name"),
        "journal": said.get("journal"),
        "year": said.get("year"),
        "version": said.get("version"),
        "url": said.get("url", said.get("repository-code")),
        "doi": said.get("doi"),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value is not None)
    return f"@{kind}{{{key},\n{lines}}}"


def _name(author: Mapping[str, str]) -> str:
    """Return a person as `Family, Given`, and a group in braces of its own, which BibTeX leaves whole."""
    if "name" in author:
        return f"{{{author['name']}}}"
    return f"{author['family-names']}, {author['given-names']}"
