"""docs/site: pages written for GitHub read the same on the site."""

import sys
from pathlib import Path
from types import SimpleNamespace

import markdown
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def modules(monkeypatch):
    """The folder of MkDocs' hooks, as MkDocs imports them."""
    monkeypatch.syspath_prepend(ROOT / "docs/site")
    yield
    for name in ("api", "github", "hooks"):
        sys.modules.pop(name, None)


@pytest.fixture
def html(modules):
    """Return a function that renders a page."""
    from github import GitHub

    return lambda text: markdown.markdown(text, extensions=["tables", GitHub()])


def test_lists_and_tables_need_no_empty_line(html):
    assert html("So:\n- one\n  and more\n- two").count("<li>") == 2
    assert "<p>one" not in html("So:\n- one\n  and more\n- two")
    assert "<td>1</td>" in html("**So.**\n| a | b |\n|---|---|\n| 1 | 2 |")
    # As in CommonMark, a paragraph is not broken by a number that begins a line.
    assert "<li>" not in html("Of the algorithms\n3. is the best")
    assert "<li>" not in html("x is\n-1 or\n- ")


def test_less_than_is_no_tag(html):
    assert "&lt;b, theta&gt; and &lt;x, v&gt;" in html("the tilt <b, theta> and <x, v>")
    assert html("a<br>b and <sub>2</sub>") == "<p>a<br>b and <sub>2</sub></p>"


def test_underscores_are_mathematics(html):
    assert html("(m)_+ is added to (d)_+ there, *so*") == "<p>(m)_+ is added to (d)_+ there, <em>so</em></p>"


def test_links_lead_within_the_site(modules):
    import hooks

    files = SimpleNamespace(
        get_file_from_path=lambda place: (
            place in ("privacy.md", "index.md", "source/config/config.yaml.md", "assets/run.json")
        )
    )

    def sited(text, place):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=place))
        return hooks.on_page_markdown(text, page=page, config=None, files=files)

    assert sited("[a](../privacy.md#1-words)", "papers/x.md") == "[a](../privacy.md#1-words)"
    assert sited("[a](docs/privacy.md) [b](docs/assets/run.json)", "index.md") == "[a](privacy.md) [b](assets/run.json)"
    assert sited("[a](../../config/config.yaml)", "papers/x.md") == "[a](../source/config/config.yaml.md)"
    assert sited("[a](../README.md)", "privacy.md") == "[a](index.md)"
    assert sited('<img src="docs/assets/run.json">', "index.md") == '<img src="assets/run.json">'
    for same in ("[a](#b)", "[a](https://example.org/x.md)", "`[a](../README.md)`", "```\n[a](../README.md)\n```"):
        assert sited(same, "papers/x.md") == same
    with pytest.raises(hooks.PluginError, match=r"docs/privacy.md links to nowhere.md"):
        sited("[a](nowhere.md)", "privacy.md")


def test_mathematics_is_set_and_keeps_its_source(modules):
    import hooks

    page = SimpleNamespace(file=SimpleNamespace(src_uri="privacy.md"))

    def content(tex):
        span = f'<span class="arithmatex">\\({tex}\\)</span>'
        return hooks.on_page_content(span, page=page, config=None, files=None)

    assert content("a &lt; \\epsilon").startswith('<math alttext="a &lt; \\epsilon" ')
    assert "<mi>ℝ</mi>" in content(r"\mathbb R^p") and 'form="prefix"' in content(r"\Phi(-a)")
    with pytest.raises(hooks.PluginError, match="does not know"):
        content(r"\unheard a")
