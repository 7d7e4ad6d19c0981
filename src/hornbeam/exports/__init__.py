"""Models written for other programs: ONNX, SQL, C, Python, JSON, PMML, DOT and text.

    columns.py       which columns a model reads, and the refusal of those that cannot be written
    portable.py      one plain reading of any tree model, which all formats share
    test_rows.py     rows that can tell a right export from a wrong one
    check.py         the answers of an export beside those of the model
    engines.py       where an export is run: databases, a compiler, a bare Python, onnxruntime, Java
    <format>.py      one file per format
    front.py         `hornbeam.export`

In comes a fitted estimator made of our trees; out goes a file for others. This is one-way: a model that is to
come back is saved with `hornbeam.save`.
"""
