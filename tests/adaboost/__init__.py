"""Tests of AdaBoost."""
