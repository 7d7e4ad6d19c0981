"""Tests of comparisons and searches."""
