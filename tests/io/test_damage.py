"""Files that are not whole, not ours or made to do harm: each is refused with `ModelFormatError`, at once.

The numbers in the names of tests are rows of the catalogue of bad inputs.
"""

import copy
import os
import pickle
import random
import socket
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import DIGEST, SAMPLES, edited, join, repaired, split, tensors_of, with_tensors

import hornbeam as hb
from hornbeam.errors import ModelFormatError

Samples = Callable[[str], tuple[Any, Any]]
Load = Callable[[bytes], Any]
FileOf = Callable[..., bytes]


def test_61_what_is_no_model_file(tmp_path: Path, load_bytes: Load) -> None:
    for data in (b"", b"\0", b"{", random.Random(0).randbytes(5000), b"PK\3\4" + bytes(5000), bytes(10**6)):
        with pytest.raises(ModelFormatError, match="not a hornbeam model file"):
            load_bytes(data)
    with pytest.raises(IsADirectoryError) as raised:
        hb.load(tmp_path)
    assert raised.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError):
        hb.load(tmp_path / "nothing")
    with pytest.raises(OSError, match="cannot be the name of a file"):
        hb.load(tmp_path / "nul\0")
    with pytest.raises(OSError, match="cannot be the name of a file"):
        hb.load("\ud800")


@pytest.mark.timeout(20)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_61_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe, socket or device"):
        hb.load(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe, socket or device"):
        hb.load("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(OSError):
            hb.load(tmp_path / "s")


TEN_SMALL_FILES = (
    "classes", "texts", "booleans", "kinds", "two_outputs", "numbers", "one_leaf", "boosting", "adaboost",
    "neighbors",
)  # fmt: skip


@pytest.mark.parametrize("name", TEN_SMALL_FILES)
def test_62_cut_at_every_byte(name: str, file_of: FileOf, tmp_path: Path) -> None:
    data = file_of(name)
    path = tmp_path / "cut.hornbeam"
    path.write_bytes(data)
    for length in reversed(range(len(data))):
        os.truncate(path, length)
        with pytest.raises(ModelFormatError) as raised:
            hb.load(path)
        expected = f"truncated at {length} of {len(data)} bytes"
        if length < DIGEST.stop:  # the size is not known yet
            expected = f"truncated at {length} of at least {DIGEST.stop} bytes"
        assert expected in str(raised.value)


@pytest.mark.parametrize("name", TEN_SMALL_FILES)
def test_63_every_flipped_bit(name: str, file_of: FileOf, tmp_path: Path) -> None:
    data = file_of(name, predict_only=name == "numbers")
    path = tmp_path / "flipped.hornbeam"
    path.write_bytes(data)
    with path.open("r+b", buffering=0) as file:
        for position, byte in enumerate(data):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([byte ^ (1 << bit)]), position)
                with pytest.raises(ModelFormatError) as raised:
                    hb.load(path)
                in_key = 8 <= position < 53
                assert ("format key" if in_key else "checksum") in str(raised.value), position
            os.pwrite(file.fileno(), data[position : position + 1], position)
    assert path.read_bytes() == data


# ------------------------------------------------------------------------------------------------------------
# Damage behind a checksum that matches


def shifted(array: np.ndarray, place: int, value: Any, dtype: Any = None) -> np.ndarray:
    changed = array.astype(dtype or array.dtype)
    changed.reshape(-1)[place] = value
    return changed


@pytest.mark.parametrize(
    ("branches", "message"),
    [
        (lambda b: shifted(b, -1, 2), "node 10: its children lie outside the tree"),
        (lambda b: shifted(b, 0, 200), "node 0: its children lie outside the tree"),
        (lambda b: shifted(b, 0, 2**31 - 1, np.int32), "node 0: its children lie outside the tree"),
        (lambda b: shifted(b, 0, -1, np.int8), "node 0: it has neither no branches nor two or more"),
        (lambda b: shifted(b, 0, 1), "node 0: it has neither no branches nor two or more"),
        (lambda b: shifted(b, 0, 3), "tree 0"),  # a threshold has two branches
        (lambda b: shifted(b, 0, 0), "tree 0|the tensor"),  # a leaf, so that the other nodes are orphans
    ],
)
def test_65_children_out_of_place(
    branches: Callable[[np.ndarray], np.ndarray], message: str, file_of: FileOf, load_bytes: Load
) -> None:
    """Cycles and shared children cannot even be written down: children follow from numbers of branches."""
    data = file_of("classes")
    with pytest.raises(ModelFormatError, match=message):
        load_bytes(with_tensors(data, trees__branches=branches(tensors_of(data)["trees.branches"])))


def test_65_numbers_of_nodes_that_do_not_add_up(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    n_nodes = int(tensors_of(data)["trees.node_counts"][0])
    wrong = ([], [0], [n_nodes - 1], [n_nodes + 1], [n_nodes, 0], [2**63 - 1, 2**63 - 1, n_nodes + 2], [-1])
    for counts in wrong:
        with pytest.raises(ModelFormatError, match="numbers of nodes"):
            load_bytes(with_tensors(data, trees__node_counts=np.array(counts, dtype=np.int64)))
    two_trees = np.array([1, n_nodes - 1])
    with pytest.raises(ModelFormatError, match="tree 0: node 0: its children lie outside the tree"):
        load_bytes(with_tensors(data, trees__node_counts=two_trees))


@pytest.mark.parametrize(
    ("name", "tensor", "value", "dtype", "message"),
    [
        ("classes", "trees.feature", 2, None, "tree 0: node 0: its feature is out of range"),
        ("classes", "trees.feature", -2, np.int32, "tree 0: node 0: its feature is out of range"),
        ("classes", "trees.missing_branch", 2, None, "tree 0: node 0: its branch for missing values"),
        ("classes", "trees.missing_branch", -1, np.int8, "tree 0: node 0: its branch for missing values"),
        ("classes", "classes.0", 9, None, "ascending"),
        ("kinds", "schema.kinds", 3, None, "unknown kind"),
        ("kinds", "schema.kinds", 2, None, "numbers of categories|shape"),
        ("kinds", "schema.category_counts", 5, None, "do not add up"),
        ("kinds", "schema.category_types", 4, None, "unknown type"),
        ("kinds", "schema.category_types", 1, None, "not what a int looks like"),
        ("kinds", "schema.names.ends", 255, None, "not in order"),
        ("kinds", "schema.categories.utf8", 255, None, "not UTF-8"),
        ("kinds", "missing_seen", 1, np.uint8, "dtype"),
    ],
)
def test_66_indices_out_of_range(
    name: str, tensor: str, value: int, dtype: Any, message: str, file_of: FileOf, load_bytes: Load
) -> None:
    data = file_of(name)
    changed = shifted(tensors_of(data)[tensor], 0, value, dtype)
    with pytest.raises(ModelFormatError, match=message):
        load_bytes(with_tensors(data, **{tensor.replace(".", "__"): changed}))


def test_66_tables_of_categories(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("kinds")
    words = tensors_of(data)["trees.category_words"]
    for wrong in (words[:-1], np.append(words, words)):
        with pytest.raises(ModelFormatError, match=r"category_words.* entries, too (few|many)"):
            load_bytes(with_tensors(data, trees__category_words=wrong))
    with pytest.raises(ModelFormatError, match="is missing"):
        load_bytes(with_tensors(data, trees__category_words=None))


def test_66_a_table_of_70_000_branches(file_of: FileOf, load_bytes: Load) -> None:
    """Entries of 32 bits must not turn negative on their way to a child."""
    n_branches = 70_000
    first = np.zeros(n_branches + 1, dtype=np.int32)
    first[0] = n_branches
    data = with_tensors(
        file_of("kinds_numbers", predict_only=True),
        trees__node_counts=np.array([n_branches + 1]),
        trees__branches=first,
        trees__feature=np.array([1], dtype=np.uint8),
        trees__missing_branch=np.array([0], dtype=np.uint8),
        trees__threshold=np.zeros(0),
        trees__value=np.zeros((n_branches + 1, 1, 1), dtype=np.uint8),
        trees__weighted_n_node_samples=np.zeros(n_branches + 1, dtype=np.uint8),
        trees__category_words=np.array([0, 1, 2, 69_999], dtype=np.uint32),
    )
    model = load_bytes(data)
    assert model.tree_.node_count == n_branches + 1
    for entry in (70_000, 2**31, 2**32 - 1):
        wrong = np.array([0, 1, 2, entry], dtype=np.uint32)
        with pytest.raises(ModelFormatError, match="tree 0: node 0: its table of categories names a branch"):
            load_bytes(with_tensors(data, trees__category_words=wrong))


def test_67_marks_of_leaves_that_disagree(file_of: FileOf, load_bytes: Load) -> None:
    """There is one mark of a leaf, no branches; a tensor made for other leaves does not fit."""
    data = file_of("classes")
    tensors = tensors_of(data)
    for tensor in ("trees.feature", "trees.threshold", "trees.missing_branch", "trees.gain"):
        longer = np.append(tensors[tensor], tensors[tensor][:1])
        for wrong in (longer, tensors[tensor][:-1]):
            with pytest.raises(ModelFormatError, match=rf"{tensor}.* entries, too (few|many)"):
                load_bytes(with_tensors(data, **{tensor.replace(".", "__"): wrong}))


HUGE = (2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -1, True, 1.0, "1", None, [1], {})


@pytest.mark.parametrize("huge", HUGE, ids=str)
def test_68_counts_that_no_file_could_hold(huge: Any, file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    for tensor in ("trees.class_counts", "trees.gain"):
        for place in ("shape", "data_offsets"):
            n_entries = len(split(data)[0][tensor][place])
            for position in range(n_entries):

                def edit(
                    header: Any, tensor: str = tensor, place: str = place, position: int = position
                ) -> None:
                    header[tensor][place][position] = huge

                with pytest.raises(ModelFormatError):
                    load_bytes(edited(data, edit))
    with pytest.raises(ModelFormatError):
        load_bytes(edited(data, lambda header: header["trees.gain"].update(shape=[huge, huge, huge, huge])))
    with pytest.raises(ModelFormatError):
        load_bytes(edited(data, lambda header: header["trees.gain"].update(shape=[0, huge])))


def bombs(n_bytes: int) -> dict[str, str]:
    """Write JSON texts of about `n_bytes` that take far more than that if they are parsed without care."""
    return {
        "deep": '{"a":' + "[" * 200_000 + "]" * 200_000 + "}",
        "deep with strings": '{"a":' + '["",' * 100_000 + "1" + "]" * 100_000 + "}",
        "many lists": '{"a":[' + ",".join(["[]"] * (n_bytes // 3)) + "]}",
        "many objects": '{"a":[' + ",".join(['{"":0}'] * (n_bytes // 7)) + "]}",
        "many keys": "{" + ",".join(f'"{i:06}":0' for i in range(n_bytes // 11)) + "}",
        "open string": '{"' + r"\"" * (n_bytes // 2),
        "long integer": '{"a":' + "9" * n_bytes + "}",
        "long fraction": '{"a":0.' + "9" * n_bytes + "}",
        "long exponent": '{"a":1e' + "9" * n_bytes + "}",
    }


WITH_LITTLE_MEMORY = pytest.mark.skipif(
    sys.platform != "linux" or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="the limit of memory is set the way of Linux, and a sanitizer takes more",
)


@WITH_LITTLE_MEMORY
def test_69_bombs(file_of: FileOf, tmp_path: Path) -> None:
    """Each takes less than a second of computing and 100 MB; measured in a process of its own."""
    data = file_of("classes")
    header, body = split(data)
    most = 2**20 - 2000  # what a header may hold
    for name, text in bombs(most).items():
        start = data[8 : DIGEST.stop] + b'","x":' + text.encode() + b"}}"
        (tmp_path / f"{name} header").write_bytes(repaired(struct.pack("<Q", len(start)) + start + body))
    for name, text in bombs(most // 3).items():  # quotes take three times their place there
        header["__metadata__"]["model"] = text
        (tmp_path / f"{name} description").write_bytes(join(header, body))
    n_bombs = 2 * len(bombs(0))
    for name, length in (("long header", 2**30), ("longest header", 2**64 - 1)):
        with (tmp_path / name).open("wb") as file:
            file.write(struct.pack("<Q", length) + data[8:])
            file.truncate(2**30)  # one gigabyte that takes no room
        n_bombs += 1
    assert len(refused_in_little_memory(tmp_path)) == n_bombs


@WITH_LITTLE_MEMORY
def test_68_any_number_of_a_description_made_huge(samples: Samples, file_of: FileOf, tmp_path: Path) -> None:
    """No matter what a number stands for: what is made because of it must not outgrow the file."""
    hb.save(samples("classes")[0], tmp_path / "whole.hornbeam")
    for name in SAMPLES:
        data = file_of(name)
        header, body = split(data)
        for place, (holder, key) in enumerate(numbers_in(header["__metadata__"]["model"])):
            number = holder[key]
            for huge in (2**31 - 1, 2**62):
                holder[key] = huge
                (tmp_path / f"{name} {place} {huge}").write_bytes(join(copy.deepcopy(header), body))
            holder[key] = number
    (tmp_path / "sample.hornbeam").unlink()
    assert len(refused_in_little_memory(tmp_path, others_may_load=True)) > 100


def numbers_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """List the places of whole numbers in a description, as containers and keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if type(value[key]) is int:
            yield value, key
        elif isinstance(value[key], dict | list):
            yield from numbers_in(value[key])


def refused_in_little_memory(folder: Path, *, others_may_load: bool = False) -> list[str]:
    """Load the files of a folder in a process that has 100 MB for them, and a second of computing for each.

    The models among them, with our suffix, are loaded before: whatever is needed once is there then.
    """
    script = """
        import pathlib, resource, sys, time, warnings
        import hornbeam as hb
        files = sorted(pathlib.Path(sys.argv[1]).iterdir())
        for path in files:
            if path.suffix == ".hornbeam":
                hb.load(path)
        used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20, resource.RLIM_INFINITY))
        warnings.simplefilter("ignore")
        for path in files:
            if path.suffix != ".hornbeam":
                start = time.process_time()
                try:
                    hb.load(path)
                except hb.errors.ModelFormatError as error:
                    assert len(str(error)) < 1000, len(str(error))
                    print(path.name)
                except BaseException as error:
                    raise AssertionError(path) from error
                else:
                    assert sys.argv[2] == "True", path
                seconds = time.process_time() - start
                assert seconds < 1, (path, seconds)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(folder), str(others_may_load)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_70_keys_twice_or_unknown_and_trailing_bytes(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    _, body = split(data)
    with pytest.raises(ModelFormatError, match="100 bytes follow its"):
        load_bytes(data + bytes(100))
    with pytest.raises(ModelFormatError, match="4 bytes at the end of the data belong to no tensor"):
        load_bytes(repaired(data + bytes(4)))
    length = struct.unpack("<Q", data[:8])[0]
    text = data[8 : 8 + length].rstrip()
    for twice in (
        text[:-1] + b',"trees.gain":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
        text[:-1] + b',"__metadata__":{}}',
        text.replace(b'"format_version"', b'"format_version":"1","format_version"'),
        text.replace(rb"\"max_depth\"", rb"\"max_depth\":3,\"max_depth\""),
        text.replace(b'"dtype":"F64"', b'"dtype":"F64","dtype":"F64"', 1),
    ):
        assert twice != text
        with pytest.raises(ModelFormatError, match="a key appears twice"):
            load_bytes(repaired(struct.pack("<Q", len(twice)) + twice + body))
    garbage = text + b"x"
    with pytest.raises(ModelFormatError, match="not JSON"):
        load_bytes(repaired(struct.pack("<Q", len(garbage)) + garbage + body))


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List the path of every object inside a JSON value."""
    found = [path] if isinstance(tree, dict) else []
    for key, value in tree.items() if isinstance(tree, dict) else ():
        found += places(value, (*path, key))
    return found


@pytest.mark.parametrize("name", ["classes", "kinds"])
def test_70_any_key_missing_or_added(name: str, file_of: FileOf, load_bytes: Load) -> None:
    """No key can be added, and only a parameter, which then has its default, can be left away."""
    data = file_of(name)
    for path in places(split(data)[0]):

        def inside(header: Any, path: tuple[Any, ...] = path) -> Any:
            for key in path:
                header = header[key]
            return header

        with pytest.raises(ModelFormatError):
            load_bytes(edited(data, lambda header: inside(header).update({"url": "https://example.org"})))
        for key in list(inside(split(data)[0])):
            without = edited(data, lambda header, key=key: inside(header).pop(key) and None)
            if path[-1:] == ("parameters",):
                assert load_bytes(without).get_params()
                continue
            with pytest.raises(ModelFormatError):
                load_bytes(without)


@pytest.mark.parametrize(
    ("name", "tensor", "value"),
    [
        ("entropy", "trees.value", np.nan),
        ("entropy", "trees.value", np.inf),
        ("entropy", "trees.weighted_n_node_samples", np.nan),
        ("classes", "trees.threshold", np.nan),
        ("classes", "trees.impurity", np.nan),
        ("classes", "trees.gain", np.nan),
        ("numbers", "trees.value", -np.inf),
    ],
)
def test_71_no_number(name: str, tensor: str, value: float, file_of: FileOf, load_bytes: Load) -> None:
    data = file_of(name)
    changed = shifted(tensors_of(data)[tensor], 0, value, np.float64)
    with pytest.raises(ModelFormatError, match=r"tree 0: node 0: .*not"):
        load_bytes(with_tensors(data, **{tensor.replace(".", "__"): changed}))


def test_71_no_class_has_any_weight(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    counts = tensors_of(data)["trees.class_counts"].copy()
    counts[3] = 0
    with pytest.raises(ModelFormatError, match="tree 0: node 3: its class counts are all 0"):
        load_bytes(with_tensors(data, trees__class_counts=counts))


def test_72_a_newer_format(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")

    def made_later(header: Any) -> None:
        header["__metadata__"].update(format_version="2", library_version="9.1.0", anything="new")

    with pytest.raises(ModelFormatError, match=r"made by hornbeam 9\.1\.0.*upgrade hornbeam to 9\.1\.0"):
        load_bytes(edited(data, made_later))
    for version in ("0", "-1", "1.0", "", "99999999999", "x"):
        with pytest.raises(ModelFormatError, match="which version of the format"):
            load_bytes(edited(data, lambda h, v=version: h["__metadata__"].update(format_version=v)))


def test_74_pickles_are_never_opened(samples: Samples, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "opened"),))

    for number, victim in enumerate((samples("classes")[0], Trap())):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            path = tmp_path / f"{number}{protocol}.hornbeam"
            path.write_bytes(pickle.dumps(victim, protocol=protocol) + bytes(200))
            with pytest.raises(ModelFormatError, match="format key is missing"):
                hb.load(path)
    assert not (tmp_path / "opened").exists()
