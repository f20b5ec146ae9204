"""The one place where texts are normalised."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.data import NORMALISATIONS, normalise
from heedful.errors import DataError
from heedful.recipes import DataRecipe

# A ligature, e + acute accent, the angstrom sign, a letter of full width: NFC and NFD change the middle two alone.
TEXT = "\ufb01 e\u0301 \u212b \uff21"
FORMS = {
    "NFC": "\ufb01 \u00e9 \u00c5 \uff21",
    "NFD": "\ufb01 e\u0301 A\u030a \uff21",
    "NFKC": "fi \u00e9 \u00c5 A",
    "NFKD": "fi e\u0301 A\u030a A",
    "none": TEXT,
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_by_hand(form):
    assert normalise(TEXT, form) == FORMS[form]


def test_the_forms():
    assert tuple(FORMS) == NORMALISATIONS
    assert get_args(DataRecipe.model_fields["normalisation"].annotation) == NORMALISATIONS
    assert normalise(TEXT) == FORMS["NFC"]
    assert DataRecipe().normalisation == "NFC"


@given(st.text(), st.sampled_from(NORMALISATIONS))
def test_once_is_enough(text, form):
    once = normalise(text, form)
    assert normalise(once, form) == once


@pytest.mark.parametrize("form", ["nfc", "", "NFCK", None])
def test_a_form_that_is_not_there(form):
    with pytest.raises(DataError) as caught:
        normalise("a", form)
    assert str(caught.value) == f"normalisation: expected 'NFC', 'NFD', 'NFKC', 'NFKD' or 'none', got {form!r}"


@pytest.mark.parametrize("form", NORMALISATIONS)
def test_no_form_changes_what_a_line_or_a_cell_or_a_blank_is(form):
    """So it does not matter whether a line is cut into cells, or asked whether it is blank, before or after."""
    ends = {"\t", "\n", "\r"}
    for point in map(chr, (*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE1000))):
        found = normalise(point, form)
        if found != point:
            assert bool(found.strip()) == bool(point.strip()), ascii(point)
            assert not ends & {point, *found}, ascii(point)
