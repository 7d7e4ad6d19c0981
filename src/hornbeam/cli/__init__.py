"""The command line: one file per verb.

`main.py` is the entry point: it knows the verbs, and turns any error into one line and an exit code. The
files that `demo`, `fit`, `predict`, `evaluate`, `compare`, `tune`, `show`, `report` and `export` share:

    reading/      tables from files and pipes: `tables.py` CSV and Parquet, in one piece or in batches,
                  `targets.py` rows to learn from, split into columns and target
    methods.py    the names of the methods, and their options as flags
    models.py     model files in, and the columns that a model needs of a table
    scores.py     how good a model is, beside a guess without one
    outputs.py    where results go: files that are written whole, or standard output
    mistakes.py   what the user can put right, as an exception
"""
