"""Python-Markdown, taught to read what GitHub shows: the pages of docs/ are written for both.

Python-Markdown begins a list or a table only after an empty line, and takes every `<x, y>` for a tag of HTML.
"""

import re

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import HtmlInlineProcessor
from markdown.preprocessors import Preprocessor

# The tags that pages may use inside a line; in every other place < is a sign of mathematics.
_TAGS = "a|b|br|code|em|i|img|kbd|p|picture|source|span|strong|sub|summary|sup"
_TAG = rf"(</?(?:{_TAGS})(?:\s[^<>]*)?/?>|<!--(?:(?!--!?>).)*--!?>)"
_LIST = re.compile(r"(?:[-*+]|1[.)]) \S")
_RULE = re.compile(r"\|?\s*:?-+:?\s*\|[\s:|-]*$")


class Paragraphs(Preprocessor):
    """Puts the empty line before a list or a table that follows a paragraph at once."""

    def run(self, lines: list[str]) -> list[str]:
        found: list[str] = []
        begun = ""  # the first line of the block that we are in
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            table = line.startswith("|") and bool(_RULE.match(following))
            starts = _LIST.match(line) or table
            if begun and starts and not _LIST.match(begun) and not begun.startswith(("|", "#")):
                found.append("")
                begun = ""
            found.append(line)
            if not line.strip() or line.startswith("#"):
                begun = ""
            elif not begun:
                begun = line
        return found


class GitHub(Extension):
    """The extension; hooks.py adds it to those of mkdocs.yml, so that docstrings are read with it too."""

    def extendMarkdown(self, md: Markdown) -> None:
        # After fences (25) have been put away, before HTML (20) is.
        md.preprocessors.register(Paragraphs(md), "github_paragraphs", 22)
        # Nobody writes _emphasis_ here, but mathematics such as (x)_+.
        md.delimiters.remove("_")
        md.inlinePatterns.register(HtmlInlineProcessor(_TAG, md), "html", 90)
