"""Growth of a fleet's URL-seen set alone: tests a CPU second, memory, disk, bytes of files read.

    .venv/bin/python -m bench.seen [--urls 50000000] [--sites 1000000] [--folder DIR]

The set is that of one instance that owns all partitions: RocksDB behind the changelog. The
changelog itself is not measured: its records are deleted at once. CPU seconds are those of all
threads of RocksDB, also of compaction. The links are those of `bench.scale`.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from math import inf
from pathlib import Path

from bench.scale import (
    EVENTS_PER_APPEND,
    KNOWN_EVENTS,
    Files,
    KnownLinks,
    LinkedPages,
    Sample,
    linked_pages,
    show_growth,
)
from gossamer.events import DEFAULT_CRAWL
from gossamer.log import Ends, Message
from gossamer.log.sqlite import SqliteLog
from gossamer.services.dedup.replicated import ReplicatedSeen
from gossamer.services.dedup.rocksdb import RocksDisk
from gossamer.services.dedup.seen import Finding, hash_finder
from gossamer.sqlite import Database
from gossamer.web.url import Site, fingerprint


class ForgetfulLog(SqliteLog):
    """A log that keeps no record, and measures its own CPU seconds."""

    cpu, _forgets = 0.0, False

    def append(self, messages: Iterable[Message]) -> Ends:
        """See `Log`."""
        began = time.process_time()
        ends = super().append(messages)
        if self._forgets:
            with self._database.transaction() as db:
                db.execute("DELETE FROM log_records")
        self.cpu += time.process_time() - began
        return ends

    def forget(self) -> None:
        """Keep no record from now on."""
        self._forgets = True


class Growth:
    """A set in *folder* that grows."""

    def __init__(self, folder: Path, disk: RocksDisk) -> None:
        self._folder, self._log = folder, ForgetfulLog(Database(":memory:"))
        self._set = ReplicatedSeen(self._log, disk, time.time)
        self._set.assign(dict.fromkeys(range(self._log.partitions), 1))
        while self._set.restore():
            pass
        self._log.forget()
        self._sample, self.cpu = Sample[LinkedPages](KNOWN_EVENTS), 0.0

    @contextmanager
    def _measure_cpu(self) -> Iterator[None]:
        before, of_log = time.process_time(), self._log.cpu
        yield
        self.cpu += time.process_time() - before - (self._log.cpu - of_log)

    def admit(self, events: Iterator[LinkedPages]) -> int:
        """Add the pages of some *events*, which are new; return their number."""
        some = [*islice(events, EVENTS_PER_APPEND)]
        for event in some:
            self._sample.add(event)
        return self._test(some, Finding.NEW)

    def _test(self, events: list[LinkedPages], expected: Finding) -> int:
        total = 0
        for number, host, pages in events:
            finder, site = hash_finder(f"{expected} {number}"), Site(f"host{host}.example")
            urls = [fingerprint(f"http://{site}/some/folder/page-{page}.html") for page in pages]
            with self._measure_cpu():
                findings = self._set.test(DEFAULT_CRAWL, site, urls, finder)
            assert {*findings} == {expected}, findings
            total += len(urls)
        with self._measure_cpu():
            self._set.settle()
        return total

    def test_known(self) -> KnownLinks:
        """Link once more to known pages."""
        before, files = self.cpu, Files.now()
        links = self._test(self._sample.values, Finding.SEEN)
        return KnownLinks(links / (self.cpu - before), (Files.now().read - files.read) / links)

    @property
    def disk(self) -> int:
        """Return the bytes of all files."""
        return sum(file.stat().st_size for file in self._folder.iterdir())


def main() -> None:
    """Measure in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=50_000_000)
    parser.add_argument("--sites", type=int, default=1_000_000)
    parser.add_argument("--folder", help="on which disk")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=options.folder) as name,
        closing(RocksDisk(Path(name))) as disk,
    ):
        events = linked_pages(options.urls, options.sites)
        show_growth(Growth(Path(name), disk), events, inf, first_row=1_000_000, factor=2.0)


if __name__ == "__main__":
    main()
