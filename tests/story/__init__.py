"""Tests of hb.report."""
