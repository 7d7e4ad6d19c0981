"""The command line: one file per verb.

`main.py` is the door: it knows the verbs, and turns whatever goes wrong into one line and an exit code. The
verbs `demo`, `fit`, `predict`, `evaluate`, `show` and `export` share four rooms:

    tables.py     CSV and Parquet in, in one piece or in batches
    methods.py    the names of the methods, and their options as flags
    outputs.py    where results go: files that are written whole, or standard output
    mistakes.py   what the user can put right, as an exception
"""
