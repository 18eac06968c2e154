"""Pages that belong together: links from one to another, where an old address leads, and what a search looks through.

Templates link to places (`#claim-K-c38`) whatever page these are on; `linked` names the page.
"""

import html
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup

_ID = re.compile(r'<[a-z][^>]*?\sid="([^"]+)"')
_LINK = re.compile(r'href="#([^"?]+)')
_TAG = re.compile(r"<[^>]+>")


def places(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the page of each id that only one page has."""
    found: dict[str, str] = {}
    for page, text in pages.items():
        for name in set(_ID.findall(text)):
            found[name] = "" if name in found else page
    return {name: page for name, page in found.items() if page}


def linked(pages: Mapping[str, str]) -> dict[str, str]:
    """Return the pages with each link to a place of another page led there."""
    owners = places(pages)

    def lead(page: str, text: str) -> str:
        own = set(_ID.findall(text))

        def link(found: re.Match) -> str:
            name = html.unescape(unquote(found[1]))
            return found[0] if name in own or name not in owners else f'href="{owners[name]}#{found[1]}'

        return _LINK.sub(link, text)

    return {page: lead(page, text) for page, text in pages.items()}


def moved(owners: Mapping[str, str]) -> dict[str, str]:
    """Return the page of each id by as few words of its beginning as tell it: what led into the one page of old."""
    return dict(_beginnings(sorted(owners.items()), 1))


def _beginnings(owners: list[tuple[str, str]], words: int) -> Iterable[tuple[str, str]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, page in owners:
        groups.setdefault("-".join(name.split("-")[:words]), []).append((name, page))
    for beginning, group in groups.items():
        if len({page for _, page in group}) == 1:
            yield beginning, group[0][1]
        else:
            # An id that others go on from stands for itself.
            yield from ((name, page) for name, page in group if name == beginning)
            yield from _beginnings([(name, page) for name, page in group if name != beginning], words + 1)


def entries(
    claims: Mapping[str, Any],
    privacy: Mapping[str, Any],
    drawn: Mapping[str, Iterable[Mapping[str, Any]]],
    libraries: Iterable[Mapping[str, Any]],
) -> list[list[str]]:
    """Return what a search finds, as `[kind, place, title, words]`; `linked` has no part in it: see `placed`."""
    found = [
        ["claim", row["row"], row["claim"], f"{row['words']}. {row['statement']} ({row['paper']}, {row['place']})"]
        for row in claims["answers"]
    ]
    found += [
        [
            "guarantee",
            row["id"],
            row["mechanism"].replace("_", " "),
            f"{row['verdict']}. {row['sentence']} {row['paper']}",
        ]
        for row in privacy["guarantees"]
    ]
    found += [
        ["mutant", row["id"], row["name"], f"{row['shown_verdict']}. {row['broken']}"] for row in privacy["mutants"]
    ]
    for kind, shown in drawn.items():
        found += [[kind, f"{kind}-{one['name']}", one["title"], one["caption"]] for one in shown]
    for listed in privacy["errata"].values():
        found += [
            ["erratum", f"erratum-{one['name']}", one["name"], plain(f"{one['printed']} {one['right']} {one['what']}")]
            for one in listed
        ]
    found += [
        [
            "test",
            row["row"],
            ", ".join(filter(None, (f"{row['id']} {row['words']}", row["dataset"]))),
            f"{row['verdict']}. {plain(row['reason'])}",
        ]
        for row in claims["rows"]
    ]
    return found + [["library", row["id"], f"{row['library']}: {row['claim']}", row["verdict"]] for row in libraries]


def placed(found: list[list[str]], owners: Mapping[str, str]) -> list[list[str]]:
    """Return the entries with the address of each; what is on no page of this run is left out."""
    return [[kind, f"{owners[place]}#{place}", *words] for kind, place, *words in found if place in owners]


def plain(text: str) -> str:
    """Return the words of a piece of a page."""
    return html.unescape(_TAG.sub("", text)) if isinstance(text, Markup) else _TAG.sub("", html.unescape(text))
