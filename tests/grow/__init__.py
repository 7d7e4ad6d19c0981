"""Tests of growth: the grower, and each of its fast lanes, beside the slow and obvious way."""
