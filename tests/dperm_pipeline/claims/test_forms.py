"""What a test is in words: of every test of every claim, in tables and in the sentences that name one."""

import json
from collections import Counter

import pytest
import real_claims
import together
import yaml

from dperm.errors import ConfigError
from dperm_pipeline.claims import catalogue, forms

CLAIMS = real_claims.of(*real_claims.PAPERS)
TESTS = [(claim, variant) for claim in CLAIMS for variant in claim["variants"]]
SCHEMA = real_claims.ROOT / "workflow/schemas/claims.schema.yaml"
# Words that stand for a setting -> how the settings of the test show it. What has the words has it, and no other has.
SHOWN = {
    **{f"zeta {words}": f'"zeta": "{value}' for value, words in catalogue.VALUES["zeta"].items()},
    "delta 0.001": '"delta": 0.001',
    "Lambda = 100,000": '"beyond": 100000.0',
}
# Of J-c35 alone, whose names are put together.
SHOWN_OF_C35 = {
    "2 points": '"high": 0.02', "5 points": '"high": 0.05', "constant 1": '"variant": "bare"',
    "unit rows of [-1, 1]": '"scaling": "[-1,1]+unit"', "min-max without unit rows": '"scaling": "min-max"',
    "unit rows of own units": '"scaling": "raw+unit"', "unit rows of z-scores": '"scaling": "z-score+unit"',
    "T = 1000": '"queries": 1000', "T = 3000": '"queries": 3000', "T = 100": '"queries": 100,',
    "T = 30": '"queries": 30,',
}  # fmt: skip


def test_no_two_tests_of_a_claim_have_the_same_words():
    told = Counter((claim["id"], forms.told(variant, claim["variants"][variant])) for claim, variant in TESTS)
    assert len(told) == len(TESTS) > 1000
    assert all(words and forms.BETWEEN not in words for _, words in told)


def test_a_part_has_words_of_its_own_and_a_form_those_of_its_kind():
    for claim, variant in TESTS:
        words, kind = forms.told(variant, claim["variants"][variant]), forms.FORMS[forms.form(variant)][0]
        assert words.startswith(kind)
        assert (words != kind) >= (forms.BETWEEN in variant), (claim["id"], variant)


@together.over("words, setting", sorted(SHOWN.items()))
def test_words_of_a_setting_are_those_that_the_test_has(words, setting):
    told = [
        (claim["id"], variant, settings)
        for claim, variant in TESTS
        if words in forms.told(variant, settings := claim["variants"][variant]) and "not_run" not in settings
    ]
    assert told and [
        place for *place, settings in told if setting not in json.dumps(settings) and settings.keys() != {"words"}
        and "n = 500, epsilon = 1" not in settings.get("choice", "") and "no_such_form" not in settings
    ] == []  # fmt: skip


@together.over("words, setting", sorted(SHOWN_OF_C35.items()))
def test_words_that_are_put_together_say_what_is_put_together(words, setting):
    (claim,) = (claim for claim in CLAIMS if claim["id"] == "J-c35")
    for variant, settings in claim["variants"].items():
        said = {part.strip() for part in forms.told(variant, settings).replace(" and ", ";").split(";")}
        said = {part.removeprefix("as printed, ").removeprefix("corrected, ").removeprefix("tight, ") for part in said}
        has = any(part == words or (words == "constant 1" and words in part) for part in said)
        assert has == (setting in json.dumps(settings)), variant


def test_a_sentence_has_the_words_of_the_tests_that_it_names():
    variants = {
        "printed": {}, "printed-over-raw": {"words": "raw rows", "choice": "zeta of 1"},
        "printed-over-rawfive": {"words": "raw rows", "choice": "zeta of 2"}, "tight-over-kst": {"words": "theirs"},
    }  # fmt: skip
    said = "-over-raw, -over-rawfive (tight-over-kst): e^(-raw), min-max, corrected-over-raw; -over-none"
    assert forms.named(said, variants) == (
        "“raw rows”, “raw rows, zeta of 2” (“tight, theirs”): e^(-raw), min-max, corrected-over-raw; -over-none"
    )


def test_the_catalogue_s_sentences_name_no_test_by_its_name():
    assert not [claim["id"] for claim in CLAIMS for key in ("note", "remark") if forms.BETWEEN in claim.get(key, "")]


@pytest.mark.parametrize(
    ("variants", "note", "message"),
    [
        ({"printed-over-n": {}}, "x", r"J-c99\.variants\.printed-over-n: .*(words|choice)"),
        ({"printed": {"words": "as printed"}}, "x", r"J-c99\.variants\.printed\.words"),
        ({"printed-over-n": {"words": "w" * 61}}, "x", r"J-c99\.variants\.printed-over-n\.words"),
        (
            {"printed-over-n": {"words": "over n"}, "printed-over-p": {"words": "over n"}}, "x",
            "J-c99: 'printed-over-n' and 'printed-over-p' have the same words, 'as printed, over n'; give each its own",
        ),
        ({"printed": {}}, "As -over-n.", r"J-c99\.note: it names a variant 'n', which the claim does not have"),
    ],
)  # fmt: skip
def test_what_readers_cannot_read_or_tell_apart_is_refused(tmp_path, variants, note, message):
    claim = {"id": "J-c99", "paper": "jain2013", "place": "x", "statement": "x", "experiment": "x", "figure": "x"}
    claim |= {"test": "exact", "metric": "m", "points": ["n"], "datasets": ["x"], "note": note}
    claim["variants"] = {name: {"where": {"d": 1}, **own} for name, own in variants.items()}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([claim]), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        catalogue.load(path, SCHEMA)
