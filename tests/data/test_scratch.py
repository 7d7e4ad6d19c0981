"""A scratch folder is gone afterwards, wherever an interrupt comes."""

import sys
from pathlib import Path

import pytest

from hornbeam.data.streams import scratch
from hornbeam.data.streams.scratch import scratch_folder


def interrupted_at(nth: int, place: Path) -> bool:
    """Use a folder; raise KeyboardInterrupt at the n-th line that runs in the module. Say if there is one."""
    reached = 0

    def trace(frame, event, _):
        nonlocal reached
        if frame.f_code.co_filename != scratch.__file__:
            return None
        if event == "line":
            reached += 1
            if reached == nth:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        with scratch_folder("some-", place) as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("content")
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_leaves_nothing(tmp_path):
    n_interrupted = 0
    while interrupted_at(n_interrupted + 1, tmp_path):
        n_interrupted += 1
        assert not any(tmp_path.iterdir()), f"interrupted at line {n_interrupted} that was reached"
    assert n_interrupted >= 6
    assert not any(tmp_path.iterdir())


def test_it_is_a_new_folder_of_the_users_own(tmp_path):
    with scratch_folder(".some-", tmp_path) as first, scratch_folder(".some-", tmp_path) as second:
        assert first.parent == tmp_path
        assert first.name.startswith(".some-")
        assert first != second
        if sys.platform != "win32":
            assert first.stat().st_mode & 0o777 == 0o700
    assert not any(tmp_path.iterdir())


def test_an_error_inside_is_the_error_that_is_seen(tmp_path):
    with pytest.raises(ZeroDivisionError), scratch_folder("some-", tmp_path):
        raise ZeroDivisionError
    assert not any(tmp_path.iterdir())
