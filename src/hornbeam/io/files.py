"""Files for models: read only if they are regular files, written whole or not at all.

`open_regular` returns a file and its size; it never blocks, as opening a pipe would. `write_whole` replaces a
file in one step: a temporary file beside it is written, synced and renamed over it, then the folder is
synced. Whatever fails, and whenever the process or the machine dies, the path holds the complete old file or
the complete new one.

Temporary files are named after the process that writes them and locked while it lives; those of writers that
are dead are removed by the next save into the same folder.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase

try:
    import fcntl
except ImportError:  # on Windows, temporary files of dead writers stay
    fcntl = None  # type: ignore[assignment]

__all__ = ["open_regular", "text_of_path", "write_whole"]

Piece = bytes | memoryview

_WRITE_BYTES = 2**24  # Ctrl-C is noticed between two pieces
_TEMPORARY = re.compile(r"\.hornbeam-([1-9][0-9]{0,8})-[0-9a-f]{16}\.tmp")
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def text_of_path(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Return a path as text; OSError for one that no file system can hold."""
    text = os.fsdecode(path)
    try:
        usable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise OSError(errno.EINVAL, "The path cannot be the name of a file", text)
    return text


# ------------------------------------------------------------------------------------------------------------
# Reading


@contextmanager
def open_regular(path: str) -> Iterator[tuple[BufferedIOBase, int]]:
    """Open a regular file to read: the file and its size. A folder, pipe or device is an OSError at once."""
    descriptor = os.open(path, _READ_FLAGS)
    try:
        status = os.fstat(descriptor)
        _refuse_irregular(status, path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file, status.st_size
    finally:
        os.close(descriptor)


def _refuse_irregular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "A pipe, socket or device cannot hold a model; give a regular file", path)


# ------------------------------------------------------------------------------------------------------------
# Writing


def write_whole(path: str, pieces: Iterable[Piece]) -> None:
    """Replace the file at `path`, or make it; every failure is an OSError that names `path`.

    A symbolic link stays and its target is replaced. An existing file's permissions are kept, and its owner
    where the system allows that.
    """
    with _naming(path):
        old = _status_of(path)
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        _remove_abandoned(folder)
        temporary = os.path.join(folder, f".hornbeam-{os.getpid()}-{secrets.token_hex(8)}.tmp")
        with _opened_folder(folder) as folder_descriptor:
            try:
                _write_synced(temporary, pieces, old)
                os.replace(temporary, target)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
            _sync_folder(folder_descriptor)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Make errors name the path that the user gave, not a temporary file or a descriptor."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _status_of(path: str) -> os.stat_result | None:
    """Check what will be replaced: nothing, or a regular file. A device must not be replaced by a file."""
    if not os.path.basename(path):
        code = errno.EISDIR if path else errno.ENOENT
        raise OSError(code, os.strerror(code), path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    _refuse_irregular(status, path)
    return status


def _write_synced(temporary: str, pieces: Iterable[Piece], old: os.stat_result | None) -> None:
    descriptor = os.open(temporary, _CREATE_FLAGS, 0o666)
    try:
        _mark_as_ours(descriptor)
        if old is not None:
            _take_permissions(descriptor, old)  # before there is anything to read
        for piece in pieces:
            _write_all(descriptor, memoryview(piece))
        os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise
    os.close(descriptor)  # may fail: some file systems report a full disk only now


def _write_all(descriptor: int, piece: memoryview) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece[:_WRITE_BYTES]) :]


def _take_permissions(descriptor: int, old: os.stat_result) -> None:
    if os.name != "posix":
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(OSError):  # changing the owner needs privileges
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if stat.S_IMODE(new.st_mode) != stat.S_IMODE(old.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


@contextmanager
def _opened_folder(folder: str) -> Iterator[int | None]:
    """Open a folder to sync it later; one that cannot be opened is noticed before anything is replaced."""
    if os.name != "posix":  # on other systems a rename needs no sync, or there is none
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sync_folder(descriptor: int | None) -> None:
    if descriptor is None:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not support this
            raise


# ------------------------------------------------------------------------------------------------------------
# Temporaries that a killed process has left behind


def _mark_as_ours(descriptor: int) -> None:
    """Lock a temporary file while it is open: process numbers are not unique if containers share a folder."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # without a lock it will not be removed, see _remove_if_abandoned
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_abandoned(folder: str) -> None:
    """Tidy up; errors are ignored, so that they never fail a save."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            match = _TEMPORARY.fullmatch(name)
            if match and not _is_running(int(match[1])):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(os.path.join(folder, name))


def _is_running(process: int) -> bool:
    if os.name != "posix":  # on other systems signal 0 is a real signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _remove_if_abandoned(temporary: str) -> None:
    descriptor = os.open(temporary, _READ_FLAGS | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if the writer runs on another machine
        os.unlink(temporary)
    finally:
        os.close(descriptor)
