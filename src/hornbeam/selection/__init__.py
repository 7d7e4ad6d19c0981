"""Choosing between models by rows they have not seen: `compare` over the whole family, `tune` over a grid.

folds.py       one table, read once; the rows of each fold, as all candidates get them
metrics.py     how answers are judged, also on bootstrap samples of the rows
trials.py      one candidate on one fold: fitted, timed, asked
grids.py       the few parameters that matter, their usual values, and which of two is simpler
family.py      the members of a comparison
contest.py     the comparison itself: defaults, nested searches, a stack of the best, within a time budget
score_errors.py  how sure a score is, and a difference of two
verdict.py     what the numbers say, in words
sheets.py      results as tables for a terminal of any width
compare.py     `hb.compare`: what goes in and what comes out
tune.py        `hb.tune`, likewise
"""
