"""Models into files and back.

`native.py` is the entry point: `save` and `load`. A model passes through:

    codec.py       which estimators a file may hold, and what of each is kept
    tree_writing.py, tree_reading.py    trees as arrays, and back
    schema.py, parameters.py            columns and options as plain values, and back
    record.py      arrays and plain values by name, each asked for exactly once when read
    container.py   the bytes: safetensors, with a size and a checksum
    files.py       the file: replaced whole or not at all

docs/model-format.md describes the files. Models for other programs: `hornbeam.exports`.
"""

from hornbeam.io.native import load, save

__all__ = ["load", "save"]
