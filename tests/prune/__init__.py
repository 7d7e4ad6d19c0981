"""Tests of pruning in the core."""
