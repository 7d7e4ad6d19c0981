"""How good everybody is with no settings at all, on every public table that fits: `make bench ARGS=quality`.

`tables.py` reads the tables, `learners.py` has the contestants, `race.py` fits them fold by fold and goes on
where it was stopped, `verdict.py` counts tables won and writes RESULTS.md. Decisions about defaults are made
on one half of the tables and confirmed on the other (`verdict.half_of`).
"""
