"""Tests of forests, bagging, out-of-bag answers and error bars."""
