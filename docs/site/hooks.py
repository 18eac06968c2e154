"""What MkDocs does not do by itself: one set of pages serves GitHub and the site.

- README.md and CHANGELOG.md are pages, the pages of the API are made (api.py).
- Links that work in the repository work in the site: a page is linked as a page, any other file as a page that shows
  it (`source/<path>.html`), a folder as a list of its files.
- Mathematics becomes MathML here, so that it needs no script.
"""

import html
import posixpath
import re
from pathlib import Path
from urllib.parse import unquote

import api
from github import GitHub
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Pages that stand outside of docs/, by their place in the site.
OUTSIDE = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
# Folders that a page of the API tells of better than a list of their files would.
TOLD = {f"src/dperm_papers/{paper}": f"api/experiments-{paper}.md" for paper in api.PAPERS}
_CODE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[`~]*[ ]*$|(?<!`)(`+)(?!`).*?(?<!`)\3(?!`)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<before>\]\(<?|\s(?:href|src|srcset)=[\"'])(?P<target>[^)\s\"'>#]*)(?P<rest>#[^)\s\"'>]*)?")
_LANGUAGES = {".py": "python", ".smk": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "sh",
              ".cff": "yaml", ".json": "json", ".html": "html", ".css": "css", ".js": "js"}  # fmt: skip
_AFTER = re.compile("(<mo[^>]*>&#x000(?:28|3D|5B|2C);</mo>)<mo>(?=&#x02212;)")
_MATH = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read pages, and the docstrings too, as GitHub does."""
    config.markdown_extensions.append(GitHub())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, then those of the files that any page links to."""
    for place, path in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text(encoding="utf-8")))
    for place, text in api.pages().items():
        files.append(File.generated(config, place, content=text))
    wanted = set()
    for file in files.documentation_pages():
        wanted |= {path for path in _targets(file.content_string, _home(file.src_uri)) if not _place(path, files)}
    while wanted:
        path = wanted.pop()
        files.append(File.generated(config, _source(path), content=_shown(path)))
        if (ROOT / path).is_dir():
            inside = {child.relative_to(ROOT).as_posix() for child in _children(path)}
            wanted |= {child for child in inside if not _place(child, files)}
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links within the repository into links within the site."""
    here = page.file.src_uri
    if here.startswith(("api/", "source/")):
        return markdown

    def link(match: re.Match[str]) -> str:
        path = _path(match["target"], _home(here))
        if path is None:
            return match[0]
        place = _place(path, files)
        if place is None:
            raise PluginError(f"{_home(here)} links to {match['target']}, which is not in the repository")
        return match["before"] + posixpath.relpath(place, posixpath.dirname(here) or ".") + (match["rest"] or "")

    return _outside_code(markdown, lambda text: _LINK.sub(link, text))


def on_page_content(content: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set the mathematics."""

    def mathml(match: re.Match[str]) -> str:
        tex = html.unescape(match[3]).strip()
        # Two things that TeX knows and the library does not.
        plain = re.sub(r"\\\s", r"\\;", tex).replace(r"\arg\min", r"\operatorname{arg\,min}")
        made = convert(plain, display="block" if match[2] == "[" else "inline")
        if "\\" in re.sub("<[^>]*>", "", made):
            raise PluginError(f"{page.file.src_uri}: {tex!r} holds a command that latex2mathml does not know")
        made = made.replace('<mi mathvariant="double-struck">R</mi>', "<mi>ℝ</mi>").replace(
            'mathvariant="bold"', 'style="font-weight: bold"'
        )
        # A sign after a bracket or a relation is no difference.
        made = re.sub(
            r"(<mo[^>]*>&#x000(?:28|3D|5B|2C);</mo>)<mo>(&#x02212;)</mo>", r'\1<mo form="prefix">\2</mo>', made
        )
        # Read aloud, and copied, as it was written.
        return made.replace("<math ", f'<math alttext="{html.escape(tex)}" ', 1)

    return _MATH.sub(mathml, content)


def _home(place: str) -> str:
    """Where in the repository a page comes from."""
    return OUTSIDE.get(place, f"docs/{place}")


def _source(path: str) -> str:
    return f"source/{path}.md"


def _place(path: str, files: Files) -> str | None:
    """Where in the site a file of the repository is, or None."""
    outside = {path: place for place, path in OUTSIDE.items()}
    candidates = (
        outside.get(path),
        TOLD.get(path),
        path.removeprefix("docs/") if path.startswith("docs/") else None,
        _source(path),
    )
    for place in candidates:
        if place and files.get_file_from_path(place):
            return place
    return None


def _path(target: str, home: str) -> str | None:
    """Return what a link of the page `home` leads to, from the root of the repository; None if elsewhere."""
    if not target or re.match(r"[a-z][a-z0-9+.-]*:|/", target):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(home), unquote(target)))


def _outside_code(markdown: str, change) -> str:
    """Apply a change to all that is not code."""
    parts, at = [], 0
    for code in _CODE.finditer(markdown):
        parts += [change(markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, change(markdown[at:])])


def _targets(markdown: str, home: str) -> set[str]:
    """Return the files and folders of the repository that a page links to."""
    found = set()

    def note(text: str) -> str:
        found.update(_path(match["target"], home) for match in _LINK.finditer(text))
        return text

    _outside_code(markdown, note)
    return {path for path in found if path and not path.startswith("..") and (ROOT / path).exists()}


def _children(path: str) -> list[Path]:
    """The files of a folder, without what is made or hidden."""
    return sorted(
        child
        for child in (ROOT / path).iterdir()
        if child.is_file()
        and not child.name.startswith(".")
        and child.suffix not in (".pyc", ".png", ".svg", ".parquet")
    )


def _shown(path: str) -> str:
    """Return a page that shows a file, or lists a folder."""
    head = f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n"
    if (ROOT / path).is_dir():
        return head + "".join(
            f"- [{child.name}]({path.rpartition('/')[2]}/{child.name}.md)\n" for child in _children(path)
        )
    text = (ROOT / path).read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", text)), 3)
    return f'{head}{fence} {{ .{_LANGUAGES.get(Path(path).suffix, "text")} linenums="1" }}\n{text}\n{fence}\n'
