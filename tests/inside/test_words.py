"""Words that are safe to print, and numbers that still separate."""

import math
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hornbeam.inside.words import brief_number, count, listed, named, number, percent, printable, share_words

ANY_TEXT = st.text(st.characters(codec=None))  # surrogates, too


@given(ANY_TEXT)
@example("\x1b[31mred\x1b[0m\r\n\x00\u202eabc\u2028\ud800")
def test_printable_shows_only_what_prints(text):
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= 60
    assert printable(text, limit=None).isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("petal length (cm)", "petal length (cm)"),
        ("größe µ 身長 🌳", "größe µ 身長 🌳"),
        ("a\nb", r"a\nb"),
        ("\x1b[2J", r"\x1b[2J"),
        ("nul\x00", r"nul\x00"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        (3.5, "3.5"),
    ],
)
def test_printable_leaves_ordinary_text_alone(text, shown):
    assert printable(text) == shown


def test_printable_cuts_and_does_not_work_through_a_megabyte():
    assert printable("x" * 1_000_000) == "x" * 57 + "..."
    assert printable("x" * 60) == "x" * 60
    assert len(printable("\n" * 1_000_000)) == 60


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Full", "Full"),
        (">60", ">60"),
        ("dark red", "dark red"),
        ("", "''"),
        (" padded", "' padded'"),
        ("a, b", "'a, b'"),
        ("o'clock", '"o\'clock"'),
        ("red or missing", "'red or missing'"),
        (True, "True"),
    ],
)
def test_named_quotes_what_would_run_into_its_surroundings(name, shown):
    assert named(name) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2.45, "2.45"),
        (88.0, "88"),
        ((0.1 + 0.2) / 2, "0.15"),
        (2.1149999999999998, "2.115"),
        (16777216.5, "16777216.5"),
        (1e300, "1e+300"),
        (-0.5, "-0.5"),
        (0.15000000223517418, "0.15000000223517418"),
        (1234567890123456.8, "1234567890123456.8"),
    ],
)
def test_number_drops_noise_and_nothing_else(value, shown):
    assert number(value) == shown


@given(st.floats(allow_nan=False))
def test_number_is_exact_on_request_and_close_always(value):
    assert float(number(value, all_digits=True)) == value
    assert math.isclose(float(number(value)), value, rel_tol=4 * sys.float_info.epsilon)


@given(st.floats(0, 1))
@example(0.9999999)
@example(0.995)
@example(1e-9)
def test_percent_keeps_all_and_nothing_for_exactly_that(share):
    text = percent(share)
    assert (text == "100 %") == (share == 1)
    assert (text == "0 %") == (share == 0)
    assert text.endswith(" %")


def test_small_words():
    assert percent(0.954) == "95 %"
    assert [count(1, "row"), count(1200, "row")] == ["1 row", "1,200 rows"]
    assert brief_number(22.532806324110677) == "22.5328"
    assert share_words("abc", [0.25, 0.75, 0.0]) == "75 % b, 25 % a"
    assert share_words("ba", [0.5, 0.5, 0.0]) == "50 % b, 50 % a"
    assert share_words("abcdef", [1 / 6] * 6) == "17 % a, 17 % b, 17 % c, 17 % d, 2 more"
    assert listed(range(15)) == "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 3 more}"
