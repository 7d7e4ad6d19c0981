"""Models written for other programs: ONNX, SQL, C, Python, JSON, PMML, DOT and text.

    columns.py       which columns a model reads, and the refusal of those that cannot be written
    portable.py      one plain reading of any tree model, which all formats share
    test_rows.py     rows that distinguish a correct export from a wrong one
    check.py         the predictions of an export compared with the model's
    databases.py, programs.py, onnx_runtime.py, pmml_engine.py      where an export is run
    <format>.py      one file per format
    front.py         `hornbeam.export`

In: a fitted estimator made of our trees. Out: a file for other programs. This is one-way: to load a model
again, save it with `hornbeam.save`.
"""
