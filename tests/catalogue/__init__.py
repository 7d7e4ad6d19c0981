"""The catalogue of bad inputs and faults, row by row: what a user meets, through the estimators' own doors.

The numbers in the names of the tests are the rows of the catalogue. How tables, targets and threads are read
in detail is tested beside the code that reads them (`tests/data`, `tests/test_threads.py`).
"""
