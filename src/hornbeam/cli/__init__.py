"""The command line: one file per verb.

`main.py` is the door: it knows the verbs, and turns whatever goes wrong into one line and an exit code. The
verbs `demo`, `fit`, `predict`, `evaluate`, `compare`, `tune`, `show` and `export` share these rooms:

    tables.py     CSV and Parquet in, in one piece or in batches
    targets.py    rows to learn from: a table, split into columns and target
    methods.py    the names of the methods, and their options as flags
    outputs.py    where results go: files that are written whole, or standard output
    mistakes.py   what the user can put right, as an exception
"""
