"""Removes captures from the archive: captures beyond its limits, and erased URLs.

Both go through the files of one writer in small steps, between the steps of the archive.

**Erasure.** The archive that gets `VisitsErased` erases the rows of the captures and records it
in the table `erasures`. Captures of a URL may be in the files of any writer, since partitions move.
Each writer finds the new entry, reads all of its files, replaces the records about the target by
fillers, and adds an entry of its own, `archive/WRITER`. A record whose capture has a row is newer
than the erasure, and stays. So no clocks are compared.

**Retention.** A file with captures that may have to go is read once a day at most. First the rows
of these captures are erased. After that commit the records are replaced by fillers, or the file is
removed if nothing else is in it. So no row points to a record that is gone.

Nothing is remembered about unfinished work: after a crash it begins again, and finds less to do.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from gossamer.captures import parse_time
from gossamer.erasures import ErasureRow, Erasures, targets_of
from gossamer.events import FLEET, Erasure
from gossamer.services.archive.reading import RecordHead
from gossamer.services.archive.records import date
from gossamer.services.archive.rewriting import (
    LocalFile,
    Place,
    Runs,
    find_files,
    find_in_volume,
    is_parked,
    parse_begin,
    read_records,
    remove_partial_copies,
    rewrite,
    size_on_disk,
)
from gossamer.services.archive.rows import CaptureRow, PayloadRow
from gossamer.services.archive.segments import UNCOMMITTED_SUFFIX
from gossamer.settings import ArchiveSettings
from gossamer.settings.units import DAY
from gossamer.store import Store, iterate_partition
from gossamer.telemetry import count
from gossamer.volumes import Missing, Volume, VolumeUnavailable
from gossamer.web.url import site_of

STEP_BYTES = 8 << 20
"""Bytes of a file that are read in one step: about a tenth of a second."""
BYTES_PER_SECOND = 32 << 20
"""Bytes that retention reads in a second, so that it leaves time for pages."""
STEP_SCANS = 200
"""Partitions of `captures` that are read in one step."""
POLL_INTERVAL = 10.0
"""Seconds after which another archive's erasures are looked up."""
RETENTION_INTERVAL = 3600.0
"""Seconds between two passes of retention."""
VOLUME_INTERVAL = 30 * DAY
"""Seconds after which a file in a volume is read again, which may cost money."""
MIN_SHARE = 1 / 8
"""Share of a file that must go before the file is rewritten."""
OPEN_WAIT = 1.0
"""Seconds after which an unfinished segment is looked at again."""
VOLUME_WAIT = 60.0
"""Seconds after which a volume that did not answer is tried again."""
SERVICE = "archive"


class Job(NamedTuple):
    """A part of an erasure, for the files of one writer."""

    erasure: Erasure
    part: int


def choose_kept(captures: Sequence[CaptureRow], versions: int, since: float) -> frozenset[float]:
    """Return the times of the captures of a URL that are kept.

    They have one of the *versions* newest contents (0: any), and are not from before *since*.
    Errors and redirects are counted by themselves, so that they replace no page. A body that a kept
    capture refers to is kept, too. *captures* are newest first.
    """
    contents = dict.fromkeys(map(_content_of, captures))
    ranks = Counter[bool]()
    wanted = set[tuple[bool, str]]()
    for content in contents:
        ranks[content[0]] += 1
        if not versions or ranks[content[0]] <= versions:
            wanted.add(content)
    kept = [row for row in captures if row.fetched_at >= since and _content_of(row) in wanted]
    bodies = [row.body_at for row in kept if row.body_url in ("", row.url)]
    return frozenset([row.fetched_at for row in kept] + bodies)


def _content_of(row: CaptureRow) -> tuple[bool, str]:
    """Return whether a capture is of a page, and the digest of its content."""
    return 200 <= row.status < 300 or row.status == 304, row.digest


def find_cutoff(files: Sequence[tuple[float, int]], total: int, limit: int) -> float:
    """Return the time before which captures must go, so that *total* bytes become *limit* bytes.

    *files*: the begin time and size of each complete file, oldest first. Return -inf if nothing
    must go.
    """
    cutoff = -inf
    next_begun = [begun for begun, _ in files[1:]] + [inf]
    for (_, size), begun in zip(files, next_begun, strict=False):
        if total <= limit:
            break
        total, cutoff = total - size, begun
    return cutoff


def targets_of_record(url: str) -> tuple[str, ...]:
    """Return all targets of an erasure that include a record with this WARC-Target-URI."""
    if url.startswith("dns:"):
        name = url.removeprefix("dns:")
        return f"http://{name}", f"https://{name}", site_of(f"http://{name}/")
    try:
        return targets_of(url)
    except (ValueError, IndexError):
        return (url,)


class Retention:
    """Erases captures from the files of one *writer*, in *folder*.

    *prefix* is the folder's name in rows and volumes. *unfinished* returns the names of segments
    that are not complete, or wait for a volume.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        writer: str,
        store: Store,
        settings: ArchiveSettings,
        unfinished: Callable[[], set[str]],
    ) -> None:
        self._folder, self._prefix, self._settings = folder, prefix, settings
        self._unfinished, self._must_finish = unfinished, False
        self._volumes = [Volume(url) for url in settings.volumes]
        self._captures, self._erasures = store.table(CaptureRow), store.table(ErasureRow)
        self._payloads = store.table(PayloadRow)
        self._service = f"{SERVICE}/{writer}"
        self._done = Erasures(store, self._service)
        self._now = 0.0
        self._work: Iterator[float] | None = None
        """Unfinished work. It yields the seconds until its next step. A step is committed
        before the next one begins."""
        self._jobs: list[Job] = []
        """Jobs of the unfinished work. Empty for retention."""
        self._next_step_at = self._next_poll_at = self._next_pass_at = 0.0
        self._read_at: dict[str, float] = {}
        """File → when retention read it last."""
        self._progress = ""

    def restart(self, now: float) -> None:
        """Forget unfinished work, and remove its partial copies."""
        self._work, self._jobs, self._progress = None, [], ""
        self._next_poll_at, self._next_pass_at = now, now
        remove_partial_copies(self._folder)

    def look(self) -> None:
        """Look for new erasures at the next step."""
        self._next_poll_at = 0.0

    def due(self) -> float | None:
        """Return when the next step is due, in epoch seconds, or None."""
        times = [self._next_poll_at]
        if self._work:
            times.append(self._next_step_at)
        elif self._has_limits():
            times.append(self._next_pass_at)
        found = min(times)
        return None if found == inf else found

    def note(self) -> str:
        """Return what is being done, for operators, or ""."""
        return self._progress

    def wake(self, now: float) -> bool:
        """Take the next step, if it is due. Return whether all open segments must be finished."""
        self._now, self._must_finish = now, False
        try:
            self._step(now)
        except (VolumeUnavailable, Missing) as error:
            # All work can begin again.
            self._work, self._jobs = None, []
            self._progress = f"erasing and retention wait: {error}"
            self._next_poll_at = self._next_pass_at = now + VOLUME_WAIT
        return self._must_finish

    def _step(self, now: float) -> None:
        if now >= self._next_poll_at:
            self._poll()
        if self._work is None and self._has_limits() and now >= self._next_pass_at:
            self._work, self._next_step_at = self._retain(), now
        if self._work is None or now < self._next_step_at:
            return
        wait = next(self._work, None)
        if wait is None:
            self._work, self._jobs, self._progress = None, [], ""
            self.look()
        else:
            self._next_step_at = now + wait

    def _has_limits(self) -> bool:
        limits = self._settings
        return bool(limits.keep_versions or limits.keep_age or limits.keep_size)

    def _poll(self) -> None:
        """Find jobs. They interrupt retention, but not other jobs."""
        self._next_poll_at = self._now + POLL_INTERVAL if self._prefix else inf
        if not self._jobs and (jobs := self._find_jobs()):
            self._jobs, self._work, self._next_step_at = jobs, self._erase(jobs), self._now

    def _find_jobs(self) -> list[Job]:
        """Return the parts of erasures that this writer has not applied to its files."""
        parts, done = dict[tuple[str, ...], Job](), set[tuple[str, ...]]()
        for row in iterate_partition(self._erasures, FLEET):
            at, _, part, target = row.key.split(" ", 3)
            if row.service == self._service:
                done.add((at, part, target))
            elif row.service == SERVICE:
                parts[at, part, target] = Job(row.erasure, int(part))
        return [job for key, job in parts.items() if key not in done]

    def _erase(self, jobs: Sequence[Job]) -> Iterator[float]:
        """Replace all records about the targets of *jobs*."""
        # New segments get no page from before the erasure, so they need not be read. A file that is
        # being uploaded is read in its volume.
        files, attempts, self._must_finish = self._unfinished(), 0, True
        yield 0.0
        while not files.isdisjoint(self._unfinished()):
            self._progress = "erasing: waiting for the upload of WARC files"
            yield OPEN_WAIT if attempts > 1 else 0.0
            attempts += 1
        yield 0.0
        targets = {job.erasure.target for job in jobs}
        found: dict[str, Counter[str]] = {target: Counter() for target in targets}
        places = [*find_files(self._folder, (UNCOMMITTED_SUFFIX,)), *self._places()]
        for number, place in enumerate(places):
            self._progress = f"erasing: {number} of {len(places)} WARC files read"
            yield from self._erase_from(place, targets, found)
        for job in jobs:
            # A target has one part for each crawl or more. Its records are counted once.
            counted = found.pop(job.erasure.target, Counter())
            self._done.add(job.erasure, counted, job.part)

    def _places(self) -> list[Place]:
        """Return the complete files of this writer, oldest first."""
        places: list[Place] = [
            place for volume in self._volumes for place in find_in_volume(volume, self._prefix)
        ]
        unfinished = self._unfinished()
        for local in find_files(self._folder, (None,)):
            if local.file not in unfinished:
                places.append(local)
        return sorted(places, key=lambda place: place.file.split("-")[2:4])

    def _erase_from(
        self, place: Place, targets: set[str], found: dict[str, Counter[str]]
    ) -> Iterator[float]:
        reader, runs, crawl, read = read_records(place), Runs(), "", 0
        capture, has_row = ("", ""), False
        for record in reader:
            read += record.length
            if read > STEP_BYTES:
                read = 0
                yield 0.0
            if record.kind == "warcinfo":
                crawl = record.crawl
            elif record.is_filler:
                runs.add(record)
            elif crawl and record.url:
                named = targets.intersection(targets_of_record(record.url))
                if not named:
                    continue
                if capture != (record.url, record.date):
                    capture = record.url, record.date
                    rows = self._rows(crawl, record.url)
                    has_row = any(date(row.fetched_at) == record.date for row in rows)
                if not has_row:
                    runs.add(record)
                    for target in named:
                        found[target]["warc_records"] += 1
        # Nobody can read the partial record at the end of a parked file.
        end = reader.position if reader.is_damaged and is_parked(place.file) else None
        if reader.is_damaged and end is None:
            for counted in found.values():
                counted["damaged_files"] += 1
        if runs.erased or end is not None:
            rewrite(place, runs.found(), self._folder, end)
            count("gossamer_archive_rewritten_files_total", reason="erased")
        yield 0.0

    def _retain(self) -> Iterator[float]:
        """Erase what the limits do not keep, file by file."""
        places = self._places()
        self._read_at = {one.file: self._read_at.get(one.file, -inf) for one in places}
        since = self._find_since(places)
        for number, place in enumerate(places):
            may_drop = bool(self._settings.keep_versions) or parse_begin(place.file) < since
            interval = DAY if isinstance(place, LocalFile) else VOLUME_INTERVAL
            if may_drop and self._now >= self._read_at[place.file] + interval:
                self._progress = f"retention: {number} of {len(places)} WARC files read"
                yield from self._retain_in(place, since)
                self._read_at[place.file] = self._now
        self._next_pass_at = self._now + RETENTION_INTERVAL

    def _find_since(self, places: Sequence[Place]) -> float:
        """Return the time before which captures must go."""
        limits, since = self._settings, -inf
        if limits.keep_age:
            since = self._now - limits.keep_age
        if limits.keep_size:
            files = [(parse_begin(place.file), place.size_on_disk()) for place in places]
            unfinished = sum(map(size_on_disk, self._folder.glob("*.open")))
            total = unfinished + sum(size for _, size in files)
            since = max(since, find_cutoff(files, total, limits.keep_size))
        return since

    def _retain_in(self, place: Place, since: float) -> Iterator[float]:
        reader, runs, crawl, read, scans, kept = read_records(place), Runs(), "", 0, 0, 0
        capture, is_kept = ("", ""), True
        for record in reader:
            read += record.length
            if read > STEP_BYTES or scans > STEP_SCANS:
                yield read / BYTES_PER_SECOND
                read = scans = 0
            if record.kind == "warcinfo":
                crawl = record.crawl
                continue
            if not record.is_filler and capture != (record.url, record.date):
                capture, scans = (record.url, record.date), scans + 1
                is_kept = self._decide(crawl, record, since, self._prefix + place.file)
            if is_kept and not record.is_filler:
                kept += 1
            else:
                runs.add(record)
        size = place.size_on_disk()
        is_empty = bool(reader.position) and not (kept or reader.is_damaged)
        is_worth_it = isinstance(place, LocalFile) and runs.length >= MIN_SHARE * size
        if not (runs.erased or is_empty) or not (is_empty or is_worth_it):
            return
        yield 0.0  # The rows of these captures must be gone before their records are.
        if is_empty:
            place.remove()
        else:
            rewrite(place, runs.found(), self._folder)
        reason = "dropped" if is_empty else "shortened"
        count("gossamer_archive_rewritten_files_total", reason=reason)
        count("gossamer_archive_freed_bytes_total", max(0, size - place.size_on_disk()))

    def _decide(self, crawl: str, record: RecordHead, since: float, file: str) -> bool:
        """Return whether the capture that begins with *record* is kept. If not, erase its row."""
        fetched_at = parse_time(record.date)
        if fetched_at is None or (fetched_at >= since and not self._settings.keep_versions):
            return True
        rows = [*self._rows(crawl, record.url)] if crawl and record.url else []
        row = next((row for row in rows if date(row.fetched_at) == record.date), None)
        if row is None and not rows:
            return fetched_at >= since
        if row is None:
            # The row was erased or has expired, or the capture never had one.
            row = CaptureRow(crawl, record.url, fetched_at, 200, "", 0, 0, record.digest)
            rows = sorted([*rows, row], key=lambda one: -one.fetched_at)
        if row.fetched_at in choose_kept(rows, self._settings.keep_versions, since):
            return True
        if self._is_shared(row, since):
            return True
        if row.file == file:
            self._captures.erase((crawl, record.url), row.fetched_at)
        return False

    def _is_shared(self, row: CaptureRow, since: float) -> bool:
        """Return whether a capture of another URL from after *since* refers to the body in *row*.

        If not, erase the row of the payload, so that none will.
        """
        payload = self._payloads.get((row.crawl, row.digest))
        if payload is None or (payload.url, payload.fetched_at) != (row.url, row.fetched_at):
            return False
        if payload.shared_at and payload.shared_at >= since:
            return True
        self._payloads.drop((row.crawl, row.digest))
        return False

    def _rows(self, crawl: str, url: str) -> Iterator[CaptureRow]:
        """Yield the rows of all captures of a URL, newest first."""
        return iterate_partition(self._captures, (crawl, url))
