"""Slow, obvious twins of what the C++ core does, used as oracles by the tests.

criteria.py and splits.py hold the formulas, naive.py grows trees, walks.py reads them (predict, prune,
importances), tables.py makes adversarial data sets.
Nothing in here imports the core.
"""
