"""What a test is in words, for readers; its name (`printed-over-raw`) is for permalinks and code.

A variant's name is its form, and behind `-over-` its part or its reading of the claim. The words of the form stand
here, those of the rest in the catalogue: `words`, and `choice` where the paper leaves something open.
"""

import re
from collections.abc import Mapping
from typing import Any

BETWEEN = "-over-"
# Form -> its words, and what they mean.
FORMS = {
    "printed": ("as printed", "what the paper prints, by its words"),
    "mended": ("mended", "a formula or a step with its slip mended"),
    "corrected": ("corrected", "by mechanisms and formulas corrected so that the guarantee is proved"),
    "halved": ("at half the step", "gradient descent at half of the printed step, with the printed noise"),
    "tight": ("tight", "with our own calibration: the tight constants that are proved"),
}
# What a note calls a test of its claim: `tight-over-kst`, and `-over-kst` of whatever form.
_NAMED = re.compile(rf"({'|'.join(FORMS)})?{BETWEEN}([a-z]+)\b")


def form(variant: str) -> str:
    """Return the form of a variant, such as `printed`."""
    return variant.split(BETWEEN)[0]


def told(variant: str, settings: Mapping[str, Any]) -> str:
    """Return a variant in words, such as `as printed, ridge alone`, from what the catalogue has of it."""
    return ", ".join(filter(None, (FORMS[form(variant)][0], _rest(settings))))


def named(text: str, variants: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a text whose names of these variants are in words; what is no name of theirs stays as it is."""
    rest: dict[str, str] = {}
    for variant, settings in variants.items():
        # The first of those that share `words` and have a choice besides stands for them all.
        words, part = settings.get("words"), variant.partition(BETWEEN)[2]
        rest.setdefault(part, words if words and words not in rest.values() else _rest(settings))

    def in_words(found: re.Match) -> str:
        own, part = found.groups()
        variant = f"{own}{BETWEEN}{part}"
        if variant in variants:
            return f"“{told(variant, variants[variant])}”"
        return found[0] if own or part not in rest else f"“{rest[part]}”"

    return _NAMED.sub(in_words, text)


def _rest(settings: Mapping[str, Any]) -> str:
    return ", ".join(settings[key] for key in ("words", "choice") if key in settings)
