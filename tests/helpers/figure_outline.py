"""What a figure draws, however its SVG says it."""

import itertools
import re


def outline(svg):
    """What a figure draws: its elements with their styles, and the points of its paths.

    A class is the style that it stands for; strokes of one look that follow each other count as one.
    """
    looks = dict(re.findall(r"\.(s\d+)\{([^}]*)\}", svg))
    svg = re.sub(r'class="(s\d+)"', lambda found: f'style="{looks[found[1]]}"', svg)
    paths = re.findall(r' d="([^"]*)"', svg)
    numbers = [float(number) for path in paths for number in re.findall(r"-?\d+(?:\.\d+)?", path)]
    elements = [
        (tag, *re.findall(r'style="[^"]*"|transform="[^"]*"', rest))
        for tag, rest in re.findall(r"<([a-zA-Z]+)([^>]*)>", svg)
    ]
    drawn = [
        element
        for before, element in itertools.pairwise([None, *elements])
        if not (element == before and element[0] == "path" and "fill: none" in str(element))
    ]
    return drawn, numbers
