"""Copies of the URL-seen table in the archive's volumes, one for each partition.

An instance that takes over a partition copies a file, and reads the changelog from the position of
the copy. A copy is a file of the disk (`Disk.take_copy`) with a manifest at its end. It replaces
the former copy at once, since a volume has a file whole or not at all.

A copy only saves time. One that is damaged, or does not belong to this changelog, is ignored, and
the changelog is read instead. All work is done in threads, because a file may take minutes.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import structlog

from gossamer.errors import GossamerError, Unavailable
from gossamer.events.topics import URLS_SEEN
from gossamer.log import Log

if TYPE_CHECKING:
    # Commands import this module, and most of them need no clients of volumes.
    from gossamer.volumes import Volume

FORMAT = 1
"""Version of the manifest, and of the keys and values in the file."""
COPY_INTERVAL = 3600.0
"""Minimum seconds between two copies of a partition."""
COPY_RECORDS = 10_000
"""Minimum number of records of the changelog between two copies of a partition, and minimum number
that a copy saves a reader."""
CHUNK_BYTES = 8 << 20
"""Bytes of a file in memory."""
MANIFEST_BYTES = 4096
"""Maximum number of bytes of a manifest."""
POLL_TIMEOUT = 5.0
"""Seconds that one poll of the changelog waits for a record that exists."""

logger = structlog.get_logger()

Start = Callable[[Callable[[], None]], None]
"""Starts a job. Tests run it at once."""


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """The last record of a partition's changelog that a table has."""

    offset: int
    digest: bytes
    """Digest of the record at the offset."""
    epoch: int
    """The newest epoch up to the offset."""


NO_CHECKPOINT = Checkpoint(-1, b"", 0)


class Target(NamedTuple):
    """A partition that an instance takes over."""

    epoch: int
    checkpoint: Checkpoint
    """The position of the table on its disk."""
    marker: int
    """The offset up to which the changelog has to be read."""


class Fetched(NamedTuple):
    """A table from a volume; or why the changelog is read without one."""

    number: int
    epoch: int
    """The epoch of the target."""
    checkpoint: Checkpoint = NO_CHECKPOINT
    path: Path | None = None
    """The local file; None if no copy can be used."""


class Manifest(msgspec.Struct, frozen=True):
    """The last line of a copy."""

    format: int
    fleet: str
    partition: int
    partitions: int
    """The number of partitions of the fleet."""
    checkpoint: Checkpoint
    size: int
    """Bytes of the disk's file, which precedes the manifest."""
    digest: str
    """Digest of the disk's file."""


def start_thread(job: Callable[[], None]) -> None:
    """Run *job* in a thread that does not keep the process from ending."""
    threading.Thread(target=job, name="copies", daemon=True).start()


class Copies:
    """The copies of a *fleet* in *volumes*. *folder* has local files while they are copied."""

    def __init__(
        self,
        log: Log,
        fleet: str,
        volumes: "Sequence[Volume]",
        folder: Path,
        start: Start = start_thread,
    ) -> None:
        self._log, self._fleet, self._volumes = log, fleet, volumes
        self._folder, self._start = folder, start
        self._fetched = SimpleQueue[Fetched]()
        self.is_storing = False
        """Whether a copy is being stored."""
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():  # A killed process has left them.
            left.unlink(missing_ok=True)

    def store(self, number: int, checkpoint: Checkpoint, write: Callable[[Path], None]) -> None:
        """Begin to store the table of partition *number*, which *write* writes to a file, in the
        first volume that takes it."""
        self.is_storing = True
        self._start(lambda: self._store(number, checkpoint, write))

    def _store(self, number: int, checkpoint: Checkpoint, write: Callable[[Path], None]) -> None:
        path = self._folder / f"{number}.stored"
        try:
            write(path)
            digest = _digest_of_file(path)
            size, partitions = path.stat().st_size, self._log.partitions
            manifest = Manifest(FORMAT, self._fleet, number, partitions, checkpoint, size, digest)
            with path.open("ab") as stream:
                stream.write(b"\n" + msgspec.json.encode(manifest))
            for volume in self._volumes:
                if self._put(volume, manifest, path):
                    break
        except (GossamerError, OSError) as error:
            logger.warning("URL-seen table not copied", partition=number, reason=str(error))
        finally:
            path.unlink(missing_ok=True)
            self.is_storing = False

    def _put(self, volume: "Volume", manifest: Manifest, path: Path) -> bool:
        number = manifest.partition
        try:
            volume.put(self._name(number), path)
        except (GossamerError, OSError) as error:
            logger.warning(
                "URL-seen table not copied to a volume",
                partition=number,
                volume=volume.url,
                reason=str(error),
            )
            return False
        logger.info(
            "URL-seen table copied to a volume",
            partition=number,
            volume=volume.url,
            offset=manifest.checkpoint.offset,
            bytes=manifest.size,
        )
        return True

    def fetch(self, targets: Mapping[int, Target]) -> None:
        """Begin to fetch the tables of the partitions *targets*, one after another."""
        self._start(lambda: self._fetch(targets))

    def pop(self, timeout: float) -> Fetched | None:
        """Return the next table that was fetched; None if none is within *timeout* seconds."""
        try:
            return self._fetched.get(timeout=timeout)
        except Empty:
            return None

    def _fetch(self, targets: Mapping[int, Target]) -> None:
        volumes = [*self._volumes]
        for number, target in targets.items():
            fetched = Fetched(number, target.epoch)
            try:
                fetched = self._fetch_one(number, target, volumes) or fetched
            except Exception as error:  # The partition must not wait for ever.
                logger.warning(
                    "no copy of the URL-seen table can be read: reading its whole changelog",
                    partition=number,
                    reason=str(error),
                )
            self._fetched.put(fetched)

    def _fetch_one(self, number: int, target: Target, volumes: "list[Volume]") -> Fetched | None:
        """Return the newest valid copy that is worth its transfer, or None.

        A volume that does not answer is removed from *volumes*, so that it delays one partition.
        """
        found = [*self._find(number, target, volumes)]
        found.sort(key=lambda one: one[1].checkpoint.offset, reverse=True)
        if not found or not self._continues(number, target.checkpoint):
            return None
        for volume, manifest in found:
            try:
                path = self._download(volume, manifest, target.epoch)
            except (GossamerError, OSError) as error:
                _log_ignored(number, volume, error)
            else:
                return Fetched(number, target.epoch, manifest.checkpoint, path)
        return None

    def _find(
        self, number: int, target: Target, volumes: "list[Volume]"
    ) -> "Iterator[tuple[Volume, Manifest]]":
        """Yield the valid manifests of partition *number* that save enough records."""
        for volume in [*volumes]:
            name = self._name(number)
            try:
                size = volume.size(name)
                if size is None:
                    continue
                end = volume.read(name, max(0, size - MANIFEST_BYTES), size)
                manifest = _decode_manifest(end.rpartition(b"\n")[2])
                self._check(number, manifest, target.marker)
            except (GossamerError, OSError) as error:
                _log_ignored(number, volume, error)
                if isinstance(error, Unavailable):
                    volumes.remove(volume)
                continue
            if manifest.checkpoint.offset - target.checkpoint.offset >= COPY_RECORDS:
                yield volume, manifest

    def _check(self, number: int, manifest: Manifest, marker: int) -> None:
        """Raise GossamerError unless the copy belongs to our partition *number* and its
        changelog."""
        offset = manifest.checkpoint.offset
        if manifest.fleet != self._fleet:
            raise GossamerError(f"the copy is of the fleet {manifest.fleet}")
        if (manifest.partition, manifest.partitions) != (number, self._log.partitions):
            raise GossamerError(
                f"the copy is of partition {manifest.partition} of {manifest.partitions}, "
                f"the fleet has {self._log.partitions} partitions"
            )
        if offset >= marker:
            raise GossamerError(
                f"the copy is newer than the changelog: it has offset {offset}, and the changelog "
                f"ends at {marker}"
            )
        if not self._continues(number, manifest.checkpoint):
            raise GossamerError(
                f"the changelog has another record at offset {offset} than the copy"
            )

    def _continues(self, number: int, checkpoint: Checkpoint) -> bool:
        """Return whether the changelog has the record of *checkpoint*, or there is no checkpoint.

        A table that another changelog led to is never replaced: it is the only copy of its URLs.
        """
        if checkpoint == NO_CHECKPOINT:
            return True
        with closing(self._log.tail([URLS_SEEN.name], {number: checkpoint.offset})) as tail:
            for record in tail.poll(POLL_TIMEOUT):
                found = record.offset, digest_of(record.value)
                return found == (checkpoint.offset, checkpoint.digest)
        return False

    def _download(self, volume: "Volume", manifest: Manifest, epoch: int) -> Path:
        """Return a local copy of the file. Raise GossamerError if it is damaged."""
        path = self._folder / f"{manifest.partition}-{epoch}.fetched"
        file = self._name(manifest.partition)
        with path.open("wb") as stream:
            for start in range(0, manifest.size, CHUNK_BYTES):
                end = min(start + CHUNK_BYTES, manifest.size)
                stream.write(volume.read(file, start, end))
        if path.stat().st_size != manifest.size or _digest_of_file(path) != manifest.digest:
            path.unlink()
            raise GossamerError(f"{volume.uri(file)} is damaged: its digest differs")
        return path

    def _name(self, number: int) -> str:
        return f"dedup/{self._fleet}/{number:02}.copy"


def digest_of(value: bytes) -> bytes:
    """Return the digest of a record's *value*."""
    return blake2b(value, digest_size=8).digest()


def _decode_manifest(data: bytes) -> Manifest:
    try:
        fields = msgspec.json.decode(data, type=dict[str, Any])
        if (found := fields.get("format")) == FORMAT:
            return msgspec.convert(fields, Manifest)
    except msgspec.DecodeError as error:
        raise GossamerError(f"the manifest is damaged: {error}") from error
    raise GossamerError(f"the copy has the unknown format {found}")


def _digest_of_file(path: Path) -> str:
    digest = blake2b(digest_size=32)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _log_ignored(number: int, volume: "Volume", error: Exception) -> None:
    logger.warning(
        "copy of the URL-seen table ignored",
        partition=number,
        volume=volume.url,
        reason=str(error),
    )
