"""Volumes: places for whole files, such as a local folder or a bucket in S3, through fsspec.

A file is there whole or not at all, and never changes. All processes that know the URL of a volume
share it. Credentials and endpoints come from the environment, as the client of each store documents
them: for S3, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_ENDPOINT_URL`.
"""

import glob
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import fsspec
import structlog

from gossamer.errors import BadSettings, GossamerError, Unavailable

CONNECT_TIMEOUT, READ_TIMEOUT = 5.0, 30.0
"""Seconds after which a store in S3 counts as unavailable."""
OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {
            "connect_timeout": CONNECT_TIMEOUT,
            "read_timeout": READ_TIMEOUT,
            "retries": {"max_attempts": 2},
        },
        "max_concurrency": 2,  # Parts of a large file in memory: 50 MiB each.
    },
}
"""Protocol of a URL → options of its file system in fsspec."""
PARTIAL_SUFFIX = ".partial"
"""Suffix of a local file that is being written."""
OPEN_SUFFIX = ".open"
"""Suffix of a local file that still grows. Its committed bytes do not change."""

logger = structlog.get_logger()


class VolumeUnavailable(Unavailable):
    """A volume does not answer, refuses, or is full."""


class Missing(GossamerError):
    """A volume has no such file."""


class Volume:
    """Whole files below *url*, such as `file:///var/gossamer` or `s3://bucket/prefix`.

    All methods raise VolumeUnavailable if the volume does not answer or refuses. Names are relative
    paths with "/".
    """

    def __init__(self, url: str) -> None:
        """Raise BadSettings if *url* has an unknown protocol, or one whose client is not
        installed."""
        parts = urlsplit(url)
        self._protocol = parts.scheme or "file"
        self.url, path = url.rstrip("/"), url.rstrip("/")
        if self._protocol == "file":
            path = url2pathname(parts.path) if parts.scheme else url
            self.url, path = Path(path).absolute().as_uri(), f"file://{Path(path).absolute()}"
        options = {"skip_instance_cache": True, "use_listings_cache": False}
        options |= OPTIONS.get(self._protocol, {})
        try:
            self._files, self._root = fsspec.core.url_to_fs(path, **options)
        except (ImportError, ValueError) as error:
            raise BadSettings(f"{url} is not a volume that can be used: {error}") from error

    def uri(self, name: str) -> str:
        """Return the URI of a file, which other programs can read."""
        return f"{self.url}/{name}"

    @property
    def path(self) -> Path | None:
        """The local folder of the volume, or None."""
        return Path(self._root) if self._protocol == "file" else None

    def put(self, name: str, path: Path) -> None:
        """Store a copy of a local file under *name*, and verify its length."""
        length = path.stat().st_size
        self._store(name, length, lambda target: self._files.put_file(str(path), target))

    def put_bytes(self, name: str, data: bytes) -> None:
        """Store *data* under *name*, and verify its length."""
        self._store(name, len(data), lambda target: self._files.pipe_file(target, data))

    def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a file from *start* to *end*. Raise Missing if there is no such
        file."""
        with self._translate(name):
            return bytes(self._files.cat_file(self._path(name), start=start, end=end))

    def size(self, name: str) -> int | None:
        """Return the length of a file, or None if there is no such file."""
        try:
            with self._translate(name):
                return int(self._files.info(self._path(name))["size"])
        except Missing:
            return None

    def names(self, prefix: str = "") -> Sequence[str]:
        """Return the names of all files whose names begin with *prefix*, a folder, sorted."""
        with self._translate(prefix):
            found = self._files.find(self._path(prefix)) if prefix else self._files.find(self._root)
        names = [str(path).removeprefix(self._root).lstrip("/") for path in found]
        return sorted(name for name in names if not name.endswith(PARTIAL_SUFFIX))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        try:
            with self._translate(name):
                self._files.rm_file(self._path(name))
        except Missing:
            return

    def remove_all(self, names: Iterable[str]) -> None:
        """Remove these files, as far as the volume answers; a failure is logged."""
        for name in names:
            try:
                self.remove(name)
            except VolumeUnavailable as error:
                logger.warning("file not removed from its volume", reason=str(error))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _store(self, name: str, length: int, write: Callable[[str], None]) -> None:
        with self._translate(name, VolumeUnavailable):
            self._write(name, write)
            found = int(self._files.info(self._path(name))["size"])
            if found != length:
                raise VolumeUnavailable(f"{self.uri(name)} has {found} bytes in place of {length}")

    def _write(self, name: str, write: Callable[[str], None]) -> None:
        if self._protocol != "file":
            write(self._path(name))  # Object stores show an object when it is whole.
            return
        target = Path(self._path(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        # Two processes or threads may store the same file at once.
        own = f"{os.getpid()}-{threading.get_ident()}"
        partial = target.with_name(f"{target.name}.{own}{PARTIAL_SUFFIX}")
        try:
            write(str(partial))
            _sync(partial)
            os.replace(partial, target)
            _sync(target.parent)
        finally:
            # Killed processes have left such files, too.
            for left in target.parent.glob(f"{glob.escape(target.name)}.*{PARTIAL_SUFFIX}"):
                left.unlink(missing_ok=True)

    @contextmanager
    def _translate(self, name: str, missing: type[GossamerError] = Missing) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            # A write fails like this if the bucket is missing.
            what = self.uri(name) if missing is Missing else self.url
            raise missing(f"{what} is missing") from error
        except GossamerError:
            raise
        except Exception as error:  # Each client has exceptions of its own.
            raise VolumeUnavailable(f"{self.uri(name)}: {error}") from error


def check_volumes(urls: tuple[str, ...]) -> tuple[str, ...]:
    """Return *urls*. Raise ValueError if one has an unknown protocol, or one whose client is not
    installed, or is listed twice."""
    for url in urls:
        protocol = urlsplit(url).scheme
        if not protocol:
            raise ValueError(f"must be URLs such as file:///folder or s3://bucket, not {url}")
        try:
            fsspec.get_filesystem_class(protocol)
        except (ImportError, ValueError) as error:
            raise ValueError(f"{url} is not a volume that can be used: {error}") from error
    if len({url.rstrip("/") for url in urls}) < len(urls):
        raise ValueError("must be different")
    return urls


def find_file(folder: Path | None, volumes: Sequence[Volume], file: str) -> tuple[Volume, str]:
    """Return the volume that has *file* of the archive, and the file's name in it.

    The local *folder* is searched first, then *volumes* in their order. In the folder, the file may
    still be open. Raise Missing if no place has the file, and VolumeUnavailable if none of those
    that answer has it.
    """
    if folder is not None:
        for name in (file + OPEN_SUFFIX, file):  # In the order of a file's life.
            if (folder / name).is_file():
                return Volume(folder.absolute().as_uri()), name
    errors = []
    for volume in volumes:
        try:
            if volume.size(file) is not None:
                return volume, file
        except VolumeUnavailable as error:
            errors.append(error)
    if errors:
        raise errors[0]
    places = [*([str(folder)] if folder else []), *(volume.url for volume in volumes)]
    raise Missing(f"{file} is missing in {', '.join(places) or 'all volumes'}")


def read_file(
    folder: Path | None,
    volumes: Sequence[Volume],
    file: str,
    start: int = 0,
    end: int | None = None,
) -> bytes:
    """Return the bytes of *file* of the archive from *start* to *end*. See `find_file`.

    A file that moves from the folder to a volume in the meantime is found there.
    """
    volume, name = find_file(folder, volumes, file)
    try:
        return volume.read(name, start, end)
    except Missing:  # It was completed or uploaded since it was found.
        volume, name = find_file(folder, volumes, file)
        return volume.read(name, start, end)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
