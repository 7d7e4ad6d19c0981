"""Random tables and options against every estimator; for more: `python -m hostile.attack` from tests/."""

import os

import pytest

from hornbeam.params import estimators
from hostile.attack import Attack, BreachError

# The same seeds every time, so that a failure is nobody's bad luck; `make sanitize` asks for more of them.
N_ATTACKS = int(os.environ.get("HORNBEAM_ATTACKS", "8"))


@pytest.mark.timeout(60 + 30 * N_ATTACKS)
@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_everything_fits_or_is_refused_in_one_line(cls: type) -> None:
    for seed in range(N_ATTACKS):
        attack = Attack(seed, most_rows=130, kinds=[cls])
        try:
            attack.run()
        except BreachError as breach:
            pytest.fail(f"Attack({seed}, 130, [{cls.__name__}]): {breach}: {attack.describe()}")


# What was found once stays found.
@pytest.mark.parametrize(
    "seed",
    [
        11,
        32,
        67,
        96,
        140,
        348,
        352,
        100026,
        100081,
        26000119,
        26000199,
        26000225,
        26001350,
        26001379,
        26002019,
        1119017,
        1119342,
        1119451,
        1119871,
        1119996,
        1120573,
        1120657,
        1122107,
        5000024,
        5101318,
        5102238,
        5102299,
        5102469,
        5302343,
        5401201,
        5602100,
        6003164,
        6200151,
        6402760,
        6403279,
        6601561,
    ],
)
def test_attacks_that_once_succeeded(seed: int) -> None:
    Attack(seed).run()
