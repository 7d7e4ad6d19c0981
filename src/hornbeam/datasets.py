"""Tables to learn, teach and test with: small ones typed in, some of the real ones of lectures from files.

Each function returns a `SmallTable`. Its `X` is a plain array that every estimator takes; `frame()` has the
names, too::

    table = hb.datasets.restaurant()
    hb.DecisionTreeClassifier().fit(table.frame(), table.y)

Every number about the small ones can be checked by hand. `hitters` and `spambase` come with the library
(tables/LICENCES.md says from where); `khan` and `letter` are read from a copy of yours.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from hornbeam.tables.from_files import hitters, khan, letter, spambase
from hornbeam.tables.small_table import SmallTable

__all__ = [
    "SmallTable",
    "animals",
    "cars",
    "cars_in_words",
    "courses",
    "cricket",
    "hitters",
    "khan",
    "letter",
    "multiplexer",
    "restaurant",
    "spambase",
    "ten_points",
    "two_tests",
    "xor",
]


def _words(text: str) -> list[list[str]]:
    """Split a typed table into rows of words."""
    return [line.split() for line in text.strip().splitlines()]


def _bits(text: str) -> list[bool]:
    return [letter == "T" for letter in text]


def restaurant() -> SmallTable:
    """Return twelve evenings on which somebody waits for a table in a restaurant, or does not."""
    names, *rows = _words("""
        Alternate Bar FriSat Hungry Patrons Price Raining Reservation Type    WaitEstimate WillWait
        Yes       No  No     Yes    Some    $$$   No      Yes         French  0-10         Yes
        Yes       No  No     Yes    Full    $     No      No          Thai    30-60        No
        No        Yes No     No     Some    $     No      No          Burger  0-10         Yes
        Yes       No  Yes    Yes    Full    $     No      No          Thai    10-30        Yes
        Yes       No  Yes    No     Full    $$$   No      Yes         French  >60          No
        No        Yes No     Yes    Some    $$    Yes     Yes         Italian 0-10         Yes
        No        Yes No     No     None    $     Yes     No          Burger  0-10         No
        No        No  No     Yes    Some    $$    Yes     Yes         Thai    0-10         Yes
        No        Yes Yes    No     Full    $     Yes     No          Burger  >60          No
        Yes       Yes Yes    Yes    Full    $$$   No      Yes         Italian 10-30        No
        No        No  No     No     None    $     No      No          Thai    0-10         No
        Yes       Yes Yes    Yes    Full    $     No      No          Burger  30-60        Yes
    """)
    *columns, answers = zip(*rows, strict=True)
    return SmallTable(
        columns=dict(zip(names, columns, strict=False)),
        y=np.array(answers, dtype=object),
        target_name=names[-1],
        description="Will somebody wait for a table? Twelve evenings after Russell and Norvig, Artificial "
        "Intelligence: A Modern Approach. 'None' in Patrons means that nobody is there; it is no "
        "missing value.",
    )


def courses(target: Literal["liked", "rating"] = "liked") -> SmallTable:
    """Return twenty rated courses; `target` is the rating, from -2 to 2, or whether it is at least 0."""
    if target not in ("liked", "rating"):
        raise ValueError(f"target must be 'liked' or 'rating'; got {target!r}.")
    rows = _words("""
        +2 yynyn
        +2 yynyn
        +2 nynnn
        +2 nnnyn
        +2 nyyny
        +1 yynnn
        +1 yynyn
        +1 nynyn
        0 nnnny
        0 ynnyy
        0 nynyn
        0 yyyyy
        -1 yyyny
        -1 nnyyn
        -1 nnyny
        -1 ynyny
        -2 nnyyn
        -2 nyyny
        -2 ynynn
        -2 ynyny
    """)
    ratings = np.array([int(rating) for rating, _ in rows])
    answers = zip(*(letters for _, letters in rows), strict=True)
    return SmallTable(
        columns=dict(zip(("easy", "AI", "systems", "theory", "morning"), answers, strict=True)),
        y=ratings >= 0 if target == "liked" else ratings,
        target_name=target,
        description="Which courses does a student like? Twenty courses after Daumé, A Course in Machine "
        "Learning. Two rows contradict each other (nyyny, rated +2 and -2), so no tree can be right about "
        "more than 19.",
    )


def cricket() -> SmallTable:
    """Return twenty pupils, of whom ten play cricket."""
    counts = {
        ("above average", "IX"): (1, 5),
        ("above average", "X"): (7, 1),
        ("below average", "IX"): (1, 3),
        ("below average", "X"): (1, 1),
    }
    pupils = [
        (performance, grade, plays)
        for (performance, grade), (players, others) in counts.items()
        for plays in ["yes"] * players + ["no"] * others
    ]
    performances, grades, answers = zip(*pupils, strict=True)
    return SmallTable(
        columns={"Performance": performances, "Class": grades},
        y=np.array(answers, dtype=object),
        target_name="plays",
        description="Do pupils play cricket? A classroom example of which only the totals per column are "
        "handed down (8 of 14 above average play, 2 of 6 below; 2 of 10 in class IX, 8 of 10 in class X). "
        "How the two columns go together is our choice; no split at the root depends on it.",
    )


def cars() -> SmallTable:
    """Return twelve cars with good and bad mileage."""
    names, *rows = _words("""
        mpg  cylinders displacement horsepower weight acceleration modelyear maker
        good 4         97           75         2265   18.2         77        asia
        bad  6         199          90         2648   15           70        america
        bad  4         121          110        2600   12.8         77        europa
        bad  8         350          175        4100   13           73        america
        bad  6         198          95         3102   16.5         74        america
        bad  4         108          94         2379   16.5         73        asia
        bad  4         113          95         2228   14           71        asia
        bad  8         302          139        3570   12.8         78        america
        good 4         120          79         2625   18.6         82        america
        bad  8         455          225        4425   10           70        america
        good 4         107          86         2464   15.5         76        europa
        bad  5         131          103        2830   15.9         78        europa
    """)
    answers, *numbers, makers = zip(*rows, strict=True)
    columns: dict[str, Sequence[Any]] = {
        name: [float(value) for value in values] for name, values in zip(names[1:], numbers, strict=False)
    }
    return SmallTable(
        columns={**columns, names[-1]: makers},
        y=np.array(answers, dtype=object),
        target_name=names[0],
        description="Is the mileage of a car good or bad? Twelve rows of the Auto MPG data (Quinlan 1993) as "
        "used in lectures; six numeric columns and a categorical one.",
    )


def cars_in_words() -> SmallTable:
    """Return eighteen cars with good and bad mileage, all columns in words."""
    names, *rows = _words("""
        mpg  cylinders displacement horsepower weight acceleration modelyear maker
        good 4         low          low        low    high         75to78    asia
        bad  6         medium       medium     medium medium       70to74    america
        bad  4         medium       medium     medium low          75to78    europa
        bad  8         high         high       high   low          70to74    america
        bad  6         medium       medium     medium medium       70to74    america
        bad  4         low          medium     low    medium       70to74    asia
        bad  4         low          medium     low    low          70to74    asia
        bad  8         high         high       high   low          75to78    america
        bad  8         high         high       high   low          70to74    america
        good 8         high         medium     high   high         79to83    america
        bad  8         high         high       high   low          75to78    america
        good 4         low          low        low    low          79to83    america
        bad  6         medium       medium     medium high         75to78    america
        good 4         medium       low        low    low          79to83    america
        good 4         low          low        medium high         79to83    america
        bad  8         high         high       high   low          70to74    america
        good 4         low          medium     low    medium       75to78    europa
        bad  5         medium       medium     medium medium       75to78    europa
    """)
    answers, *columns = zip(*rows, strict=True)
    return SmallTable(
        columns=dict(zip(names[1:], columns, strict=True)),
        y=np.array(answers, dtype=object),
        target_name=names[0],
        description="Is the mileage of a car good or bad? The eighteen rows of Auto MPG (Quinlan 1993) that "
        "lectures show of their forty, with every column cut into words, cylinders included.",
    )


def ten_points() -> SmallTable:
    """Return ten points in the plane that three boosted stumps classify correctly."""
    positive = [(1, 2), (2, 4), (4, 9), (6, 8), (7, 7)]
    negative = [(3.5, 3), (5, 1), (6.5, 4.5), (9, 8.5), (9.5, 3.5)]
    first, second = zip(*positive, *negative, strict=True)
    return SmallTable(
        columns={"x1": [float(x) for x in first], "x2": [float(x) for x in second]},
        y=np.array([1] * len(positive) + [-1] * len(negative)),
        target_name="label",
        description="Ten points in the plane, five of each sign, arranged like the toy example of Freund and "
        "Schapire: AdaBoost with stumps makes no mistake after three rounds.",
    )


def two_tests(n_rows: Literal[6, 8] = 6) -> SmallTable:
    """Return six rows, or eight, in which one of two binary features is more informative than the other."""
    if n_rows not in (6, 8):
        raise ValueError(f"n_rows must be 6 or 8; got {n_rows!r}.")
    return SmallTable(
        columns={"X1": _bits("TTTTFFFF")[:n_rows], "X2": _bits("TFTFTFTF")[:n_rows]},
        y=np.array(_bits("TTTTTFFF")[:n_rows]),
        target_name="Y",
        description="Two binary features and a binary target from lectures on information gain: X1 tells "
        "more than X2, and with the last two of eight rows much more.",
    )


def xor() -> SmallTable:
    """Return the four rows of the exclusive or: no single test helps, two in a row are enough."""
    return SmallTable(
        columns={"A": _bits("FFTT"), "B": _bits("FTFT")},
        y=np.array(_bits("FTTF")),
        target_name="A xor B",
        description="The exclusive or of two bits: either test alone gains nothing, both together decide.",
    )


def multiplexer() -> SmallTable:
    """Return the eight rows of (A and B) or (not A and C): greedy growth starts with the wrong test."""
    rows = [(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)]
    return SmallTable(
        columns=dict(zip("ABC", zip(*rows, strict=True), strict=True)),
        y=np.array([b if a else c for a, b, c in rows]),
        target_name="B if A else C",
        description="A chooses between B and C. The smallest tree asks A first, which by itself gains "
        "nothing; a greedy tree asks B or C first and grows larger.",
    )


def animals() -> SmallTable:
    """Return a hundred labels without features, to show how often the majority baseline is right."""
    return SmallTable(
        columns={},
        y=np.array(["cat"] * 5 + ["dog"] * 80 + ["lion"] * 15, dtype=object),
        target_name="animal",
        description="5 cats, 80 dogs and 15 lions: who always says dog is right on 80 % of them.",
    )
