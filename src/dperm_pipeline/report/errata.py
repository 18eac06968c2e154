"""The errata of docs/errata.md, for the report: what is printed, what is right, and what the code does."""

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from dperm.errors import CorruptFile

# K2, N18, ...: of kifer2012, li2021, jain2013 and dwork2018.
ID = re.compile(r"\b[KNJD][1-9][0-9]?\b")
_COLUMNS = ["id", "printed", "right", "what we do", "tested in"]
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\[(?P<link>[^\]]+)\]\([^)]*\)|\*\*(?P<strong>[^*]+)\*\*|(?<!\w)\*(?P<stress>[^*\s]([^*]*[^*\s])?)\*"
)


@dataclass(frozen=True)
class Erratum:
    """One slip of a paper, such as "K2"; texts are Markdown as in the document (`html` renders them).

    `privacy`: whether a guarantee depends on it; then what the paper says, what is right, what the library does,
    the tests.
    """

    name: str
    paper: str
    privacy: bool
    printed: str
    right: str
    what: str
    tested: str


def read(path: str | Path) -> dict[str, Erratum]:
    """Return the errata that have an id, by id, in the order of docs/errata.md.

    There is a heading `## <paper>` before each table of the columns id, printed, right, what we do, tested in; ids
    carry a P where a guarantee depends on them. CorruptFile if there is no such table, or a row of one has not five
    cells or an id that is none or there twice.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}; restore it")
    found: dict[str, Erratum] = {}
    paper, inside = "", False
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("## "):
            paper = line[3:].strip()
        cells = cells_of(line)
        if not cells:
            inside = False
        elif cells == _COLUMNS:
            inside = True
        elif inside and not set(line) <= set("|- "):
            name, _, mark = cells[0].partition(" ")
            if len(cells) != len(_COLUMNS) or not ID.fullmatch(name) or mark not in ("", "P") or name in found:
                raise CorruptFile(
                    f"{path}, line {number}: {line[:40]!r} is no row of an errata table; write "
                    "| K2 P | printed | right | what we do | tested in |, each id once"
                )
            found[name] = Erratum(name, paper, mark == "P", *cells[1:])
    if not found:
        raise CorruptFile(f"{path} holds no table with the columns {', '.join(_COLUMNS)}; restore it")
    return found


def cells_of(line: str) -> list[str]:
    r"""Return the cells of a line of a Markdown table, `\|` in them undone; nothing of any other line."""
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def html(text: str) -> Markup:
    """Render code, bold and italics; a link becomes its words, for the page stands alone."""
    parts, end = [], 0
    for found in _INLINE.finditer(text):
        parts.append(escape(text[end : found.start()]))
        kind, words = next((kind, words) for kind, words in found.groupdict().items() if words is not None)
        tag = {"code": "code", "strong": "strong", "stress": "em"}.get(kind)
        parts.append(Markup("<{0}>{1}</{0}>").format(Markup(tag), words) if tag else html(words))
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def links(text: str, known: Container[str]) -> Markup:
    """Escape text and link each id of a known erratum in it to the list of errata (`#erratum-K2`)."""

    def link(found: re.Match) -> str:
        return f'<a href="#erratum-{found[0]}">{found[0]}</a>' if found[0] in known else found[0]

    return Markup(ID.sub(link, str(escape(text))))
