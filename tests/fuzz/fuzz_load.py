"""Fuzzing of `hornbeam.load`: files changed at random, with their size and checksum made right again.

    python tests/fuzz/fuzz_load.py --seconds 60 --seed 0        mutations drawn here, no other package needed
    python tests/fuzz/fuzz_load.py --runs 100000 --seed 0       the same, by number
    python tests/fuzz/fuzz_load.py corpus/ -max_total_time=60   mutations by atheris, if it is installed

Every file must be refused with `ModelFormatError`, or give a model that predicts. Whatever else happens stops
the run; the file is then kept in the current folder. A process judges some thousands of files per second:
most are changed byte by byte, and most models that come out are asked through the core, where a wrong index
would do harm, and only some through pandas and the public methods.
"""

import argparse
import contextlib
import copy
import io
import json
import random
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model_files import SAMPLES, TYPE_NAMES, fit_samples, join, repaired, split, tensors_of, with_tensors

from hornbeam.errors import ModelFormatError
from hornbeam.io.native import packed, read_model

# ------------------------------------------------------------------------------------------------------------
# Is it refused, or does it work?


def judge(data: bytes) -> bool:
    """Load a file and predict with it; tell whether it was a model. Anything but a refusal is raised."""
    try:
        model = read_model(io.BytesIO(data), len(data))
    except ModelFormatError:
        return False
    rows = rows_for(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask = model.predict if hasattr(model, "predict") else model.score_samples
        try:
            answers = [ask(rows)]
        except TypeError as error:  # a function that the model needs, of which files have the name only
            if "of which the file keeps only the name" not in str(error):
                raise
            return False
        if hasattr(model, "apply") and any(ensembles_of(model)):
            leaves = model.apply(rows)
            answers += leaves.values() if isinstance(leaves, dict) else [leaves]
    assert all(len(answer) == 4 for answer in answers)
    return True


def judge_quickly(data: bytes) -> bool:
    """Load a file and ask its trees in the core, with gaps and categories that are new to every tree."""
    try:
        model = read_model(io.BytesIO(data), len(data))
    except ModelFormatError:
        return False
    for ensemble in ensembles_of(model):
        schema = ensemble.schema
        columns = [
            np.array([np.nan, -np.inf, 0.5, np.inf])
            if kind != "categorical"
            else np.array([UNSEEN_CATEGORY, MISSING_CATEGORY, 0, len(categories) - 1], dtype=np.int32)
            for kind, categories in zip(schema.kinds, schema.categories, strict=True)
        ]
        predictor, everything = ensemble._predictor, (0, len(ensemble.trees))
        found = predictor.leaves(columns, 4, *everything, 1)
        assert found.min() >= 0
        scores = np.zeros((4, predictor.n_outputs, predictor.n_values))
        predictor.add(columns, 4, *everything, scores, None, False, 1)
    return True


UNSEEN_CATEGORY, MISSING_CATEGORY = -2, -1


def ensembles_of(model: Any) -> Iterator[Any]:
    """List the ensembles of trees inside a model."""
    if hasattr(getattr(model, "_model", None), "trees"):
        yield model._model
    elif hasattr(model, "estimators_"):
        for member in model.estimators_:
            yield from ensembles_of(member)


def rows_for(model: Any) -> Any:
    """Make four rows that the model must be able to read, with gaps and new categories if it takes them."""
    design = model[0] if hasattr(model, "steps") else None  # the linear model of a comparison
    if design is None and not hasattr(model, "_model"):  # members of its own, fitted on numbers
        numbers = np.zeros((4, model.n_features_in_))
        names = getattr(model, "feature_names_in_", None)
        return numbers if names is None else pd.DataFrame(numbers, columns=names)
    measures = hasattr(model, "kneighbors")
    if design is not None:
        schema, unseen, missing_allowed = design.schema_, "missing", True
    else:
        schema, unseen = model._model.schema, getattr(model._model, "unseen", "missing")
        missing_allowed = model.metric == "gower" if measures else model._model.missing_allowed
    # Infinity is too far away for distances, and too much for a sum.
    gap, far = np.nan if missing_allowed else 0.0, np.inf if design is None and not measures else 1e3
    columns = []
    for categories in schema.categories:
        if categories is None:
            values: list[Any] = [gap, -far, 0.5, far]
        else:
            known = list(categories[-3:]) or [None]
            new: Any = "never seen" if isinstance(known[0], str) else 12345.5
            values = [*(known * 3)[:3], known[0] if unseen == "error" else new]
            if not missing_allowed:
                values = [0 if value is None else value for value in values]
        column = np.empty(4, dtype=object)
        column[:] = values
        columns.append(column)
    if not schema.names_given:
        return np.stack(columns, axis=1)
    names = pd.Index(schema.names, dtype=object)
    return pd.DataFrame(dict(enumerate(columns)), dtype=object).set_axis(names, axis=1)


# ------------------------------------------------------------------------------------------------------------
# Changes

VALUES = (0, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63,
          2**63 - 1, 2**64, -1, -2, -128, -(2**31), 0.5, 1e308, 5e-324, -0.0, True, False, None, "", "U8",
          "F64", "\0", "U5", "object", "number", [], [0], [[0, 0]], {}, {"pairs": [[0, 1]]},
          {"callable": "os.system"}, {"estimator": "DecisionTreeClassifier", "parameters": {}})  # fmt: skip
NUMBERS = (0, 1, 2, 3, 127, 255, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, -1, -2, -(2**31), -(2**63), 0.5,
           np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0)  # fmt: skip


def change_bytes(data: bytes, draw: random.Random) -> bytes:
    """Change a few bytes anywhere."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 4, 16])):
        changed[draw.randrange(len(changed))] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
    return bytes(changed)


def move_bytes(data: bytes, draw: random.Random) -> bytes:
    """Cut out, repeat or insert a stretch."""
    begin, end = sorted(draw.sample(range(len(data) + 1), 2))
    end = min(end, begin + draw.choice([1, 8, 64, 1024]))
    stretch = draw.choice([b"", data[begin:end] * 2, draw.randbytes(end - begin)])
    return data[:begin] + stretch + data[end:]


def change_header(data: bytes, draw: random.Random) -> bytes:
    """Replace, remove or add a value somewhere in the header."""
    header, body = split(data)
    for _ in range(draw.choice([1, 1, 2])):
        container, key = draw.choice(list(_places(header)))
        action = draw.randrange(4)
        if action == 0 and isinstance(container, dict):
            del container[key]
        elif action == 1 and isinstance(container, dict):
            container[draw.choice(["x", "trees.value", "url", ""])] = copy.deepcopy(draw.choice(VALUES))
        else:
            container[key] = copy.deepcopy(draw.choice(VALUES))
    with contextlib.suppress(
        TypeError, AttributeError, ValueError
    ):  # __metadata__ may no longer be an object
        return join(header, body)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def change_tensor(data: bytes, draw: random.Random) -> bytes:
    """Change entries, the length, the type or the shape of a tensor, or exchange two."""
    tensors = tensors_of(data)
    name = draw.choice(list(tensors))
    array = tensors[name]
    action = draw.randrange(6)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if action == 0:
            array = array.astype(draw.choice(list(TYPE_NAMES)))
        elif action == 1:
            array = np.resize(array, (draw.choice([0, 1, array.shape[0] + 1, 1000]), *array.shape[1:]))
        elif action == 2:
            array = array.reshape(draw.choice([(-1,), (*array.shape, 1), (1, *array.shape)]))
        elif action == 3:
            array = tensors[draw.choice(list(tensors))]
        elif array.size:
            wide = array.astype(draw.choice([array.dtype, array.dtype, np.dtype("<i8"), np.dtype("<f8")]))
            for _ in range(draw.choice([1, 1, 4, wide.size])):
                place = draw.randrange(wide.size)
                wide.reshape(-1)[place] = np.float64(draw.choice(NUMBERS)).astype(wide.dtype)
            array = wide
    return with_tensors(data, **{name.replace(".", "__"): np.ascontiguousarray(array)})


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    change_bytes,
    move_bytes,
    change_header,
    change_tensor,
)


def changed(data: bytes, draw: random.Random) -> bytes:
    """Change a file in one of the ways above and repair its checksum."""
    return repaired(draw.choice(CHANGES)(data, draw))


def sample_files() -> list[bytes]:
    """Return the files of all sample models, with and without statistics."""
    models = fit_samples()
    return [
        b"".join(bytes(piece) for piece in packed(models[name][0], predict_only=predict_only))
        for name in SAMPLES
        for predict_only in (False, True)
    ]


# ------------------------------------------------------------------------------------------------------------
# The two ways to run it


# Changes of bytes cost a tenth of the others and go everywhere, so they are drawn more often.
OFTEN = (*(change_bytes,) * 12, *(move_bytes,) * 4, *(change_header,) * 2, *(change_tensor,) * 2)
THOROUGH_EVERY = 50
SAY_EVERY = 100_000


def run_random(n_runs: int | None, seconds: float | None, seed: int) -> None:
    """Judge so many changed files, or for so long; say how far it is now and then."""
    files = sample_files()
    draw = random.Random(seed)
    n_models = run = 0
    start = time.monotonic()
    elapsed = 0.0
    while (n_runs is None or run < n_runs) and (seconds is None or elapsed < seconds):
        data = repaired(draw.choice(OFTEN)(draw.choice(files), draw))
        try:
            n_models += judge(data) if run % THOROUGH_EVERY == 0 else judge_quickly(data)
        except BaseException:
            Path(f"crash-{seed}-{run}.hornbeam").write_bytes(data)
            raise
        run += 1
        elapsed = time.monotonic() - start
        if run % SAY_EVERY == 0:
            print(f"{run} files in {elapsed:.0f} s", flush=True)
    print(f"{run} files in {elapsed:.0f} s: {run - n_models} refused, {n_models} still models")


def reading_functions() -> Iterator[FunctionType]:
    """List the functions and methods that read files, whose branches atheris shall watch."""
    for name, module in list(sys.modules.items()):
        if name.startswith("hornbeam.io."):
            for value in list(vars(module).values()):
                members = vars(value).values() if isinstance(value, type) else [value]
                yield from (member for member in members if isinstance(member, FunctionType))


def run_atheris() -> None:
    """Let atheris look for files that reach new code; give it the samples to start from."""
    import atheris

    corpus = next((Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")), None)
    if corpus is not None:
        corpus.mkdir(exist_ok=True)
        for number, data in enumerate(sample_files()):
            (corpus / f"sample-{number}").write_bytes(data)
    for function in reading_functions():
        atheris.instrument_func(function)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        draw = random.Random(seed)
        with contextlib.suppress(Exception):  # a file that can no longer be taken apart
            if draw.random() < 0.5:
                return changed(data, draw)[:max_size]
        return repaired(atheris.Mutate(data, max_size))[:max_size]

    atheris.Setup(sys.argv, judge, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Fuzz hornbeam.load.")
    parser.add_argument("--runs", type=int, help="how many files to judge")
    parser.add_argument("--seconds", type=float, help="how long to judge files; without both, atheris does")
    parser.add_argument("--seed", type=int, default=0)
    options, _ = parser.parse_known_args()
    if options.runs is None and options.seconds is None:
        run_atheris()
    else:
        run_random(options.runs, options.seconds, options.seed)


if __name__ == "__main__":
    main()
