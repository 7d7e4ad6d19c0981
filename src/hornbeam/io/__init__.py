"""Models into files and back.

`native.py` is the door: `save` and `load`. The way of a model into its file:

    codec.py       which estimators a file may hold, and what of each is kept
    trees.py, schema.py, parameters.py    the parts of an estimator as arrays and plain values
    record.py      arrays and plain values by name, each asked for exactly once when read
    container.py   the bytes: safetensors, with a size and a checksum
    files.py       the file: replaced whole or not at all

What a file looks like is written down in docs/model-format.md. `export.py` writes models for others to read:
text, JSON, DOT.
"""

from hornbeam.io.export import export
from hornbeam.io.native import load, save

__all__ = ["export", "load", "save"]
