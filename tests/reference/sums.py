"""Sums of whole numbers, step by step in numpy: the slow twin of `hornbeam.sums.sum_in_any_order`."""

import numpy as np

BITS = 30


def sum_of_whole_numbers(values):
    """Write each number as two whole numbers of 30 bits, in units of the largest, and add these up."""
    largest = np.abs(values).max(initial=0.0)
    exponent = int(np.frexp(largest)[1])
    scaled = np.ldexp(values, BITS - exponent)
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**BITS)
    sums = [float(sum(map(int, part))) for part in (high, low)]  # Python's whole numbers do not overflow
    return float(np.ldexp(sums[0] + np.ldexp(sums[1], -BITS), exponent - BITS))
